//! The tables, and the mark by which Espalier knows its own.

use espalier_keyspace::{Error, ErrorKind, Result, Version};

use super::connection::Connection;
use super::error::Failure;
use super::setup::Setup;

/// The version of the tables that this code reads and writes.
const FORMAT: &str = "1";

/// How often making the tables is tried, while others make them too.
const ATTEMPTS: usize = 5;

/// Checks the mark of the tables, or makes them where there are none. Returns the newest version.
pub(super) fn check_or_create(connection: &mut Connection, setup: &Setup) -> Result<Version> {
    let told = |failure: Failure| failure.into_error(setup);
    for _ in 0..ATTEMPTS {
        let state = format!("SELECT format, version FROM \"{}\".state", schema(setup));
        match connection.read(&state) {
            Ok(rows) => return check(&rows, setup),
            Err(failure) if failure.is_missing() => {}
            Err(failure) => return Err(told(failure)),
        }
        match create(connection, setup) {
            Err(failure) if failure.is_duplicate() || failure.is_collision() => {}
            created => created.map_err(told)?,
        }
    }
    let message = format!(
        "schema {:?} holds tables that Espalier did not make; name another with schema=",
        schema(setup)
    );
    Err(Error::new(ErrorKind::WrongVersion, message))
}

fn schema(setup: &Setup) -> &str {
    &setup.config.schema
}

/// Makes the tables in one transaction.
fn create(connection: &mut Connection, setup: &Setup) -> std::result::Result<(), Failure> {
    let schema = schema(setup);
    let there = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{schema}'"
    );
    // `IF NOT EXISTS` would ask for the right to make one, even so.
    if connection.read(&there)?.is_empty() {
        connection.text(&format!("CREATE SCHEMA \"{schema}\""))?;
    }
    let tables = format!(
        "BEGIN;
         CREATE TABLE \"{schema}\".entries (key bytea PRIMARY KEY, value bytea NOT NULL);
         CREATE TABLE \"{schema}\".commits (
             version bigint PRIMARY KEY, id bytea NOT NULL, changes bytea);
         CREATE TABLE \"{schema}\".state (
             id integer PRIMARY KEY, format integer NOT NULL, version bigint NOT NULL);
         INSERT INTO \"{schema}\".state (id, format, version) VALUES (1, {FORMAT}, 1);
         COMMIT"
    );
    let made = connection.text(&tables);
    if made.is_err() {
        connection.text("ROLLBACK")?;
    }
    made
}

fn check(rows: &[Vec<String>], setup: &Setup) -> Result<Version> {
    let (kind, message) = match rows {
        [row] if row[0] == FORMAT => match row[1].parse() {
            Ok(version) => return Ok(Version(version)),
            Err(_) => (ErrorKind::Corrupt, "its version is no number".to_owned()),
        },
        [row] => (
            ErrorKind::WrongVersion,
            format!(
                "it has format {}; this version of Espalier reads format {FORMAT}: use the \
                 version that wrote it, or name another with schema=",
                row[0]
            ),
        ),
        _ => (
            ErrorKind::Corrupt,
            format!("its table \"state\" has {} rows and not one", rows.len()),
        ),
    };
    let message = format!("schema {:?} at {}: {message}", schema(setup), setup.place);
    Err(Error::new(kind, message))
}
