//! The tables of a schema, and their format version.

use espalier_keyspace::{Error, ErrorKind, Result, Version};

use super::connection::Connection;
use super::error::Failure;
use super::setup::Setup;

/// The format version that this code reads and writes.
const FORMAT: &str = "1";

/// The format version of tables with readable columns.
const FORMAT_READABLE: &str = "2";

/// The most attempts to create or alter the tables, while other processes do the same.
const ATTEMPTS: usize = 5;

/// Returns whether there is a format version, of any value.
pub(super) fn exists(
    connection: &mut Connection,
    setup: &Setup,
) -> std::result::Result<bool, Failure> {
    match connection.read(&select_state(setup)) {
        Ok(_) => Ok(true),
        Err(failure) if failure.is_missing() => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn select_state(setup: &Setup) -> String {
    format!("SELECT format, version FROM \"{}\".state", schema(setup))
}

/// Checks the format version, or creates the tables if there are none. Returns the version of the newest commit.
pub(super) fn check_or_create(connection: &mut Connection, setup: &Setup) -> Result<Version> {
    let failed = |failure: Failure| failure.into_error(setup);
    for _ in 0..ATTEMPTS {
        match connection.read(&select_state(setup)) {
            Ok(rows) => return check(&rows, setup),
            Err(failure) if failure.is_missing() => {}
            Err(failure) => return Err(failed(failure)),
        }
        match create(connection, setup) {
            Err(failure) if failure.is_duplicate() || failure.is_conflict() => {}
            created => created.map_err(failed)?,
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

/// Creates the tables in one transaction.
fn create(connection: &mut Connection, setup: &Setup) -> std::result::Result<(), Failure> {
    let schema = schema(setup);
    let there = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{schema}'"
    );
    // `IF NOT EXISTS` would require the right to create a schema even if it exists.
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
        [row] if [FORMAT, FORMAT_READABLE].contains(&row[0].as_str()) => match row[1].parse() {
            Ok(version) => return Ok(Version(version)),
            Err(_) => (ErrorKind::Corrupt, "its version is not a number".to_owned()),
        },
        [row] => (
            ErrorKind::WrongVersion,
            format!(
                "it has format {}; this version of Espalier reads formats {FORMAT} and \
                 {FORMAT_READABLE}: use the version that wrote it, or name another with schema=",
                row[0]
            ),
        ),
        _ => (
            ErrorKind::Corrupt,
            format!("its table \"state\" has {} rows instead of one", rows.len()),
        ),
    };
    let message = format!("schema {:?} at {}: {message}", schema(setup), setup.address);
    Err(Error::new(kind, message))
}

/// Adds or drops the readable columns, as requested. Returns whether the tables have them.
pub(super) fn set_readable(connection: &mut Connection, setup: &Setup) -> Result<bool> {
    let failed = |failure: Failure| failure.into_error(setup);
    let schema = schema(setup);
    let format = format!("SELECT format FROM \"{schema}\".state WHERE id = 1");
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let rows = connection.read(&format).map_err(failed)?;
        let is_readable = rows.iter().any(|row| row[0] == FORMAT_READABLE);
        let requested = setup.config.readable.unwrap_or(is_readable);
        if requested == is_readable {
            return Ok(is_readable);
        }
        let change = match requested {
            true => add_readable(schema),
            false => drop_readable(schema),
        };
        match connection.text(&change) {
            Ok(()) => return Ok(requested),
            Err(failure) => {
                connection.text("ROLLBACK").map_err(failed)?;
                // Another process may have done the same.
                last = Some(failure);
            }
        }
    }
    last.map_or(Ok(false), |failure| Err(failed(failure)))
}

fn add_readable(schema: &str) -> String {
    format!(
        "BEGIN;
         SELECT version FROM \"{schema}\".state WHERE id = 1 FOR UPDATE;
         ALTER TABLE \"{schema}\".entries ADD COLUMN document text, ADD COLUMN node text,
             ADD COLUMN path text, ADD COLUMN leaves jsonb;
         CREATE INDEX entries_unshown ON \"{schema}\".entries (key) WHERE path IS NULL;
         CREATE VIEW \"{schema}\".data AS
             SELECT document, node, path, leaves FROM \"{schema}\".entries WHERE path <> '';
         UPDATE \"{schema}\".state SET format = {FORMAT_READABLE} WHERE id = 1;
         COMMIT"
    )
}

fn drop_readable(schema: &str) -> String {
    format!(
        "BEGIN;
         SELECT version FROM \"{schema}\".state WHERE id = 1 FOR UPDATE;
         DROP VIEW \"{schema}\".data;
         DROP INDEX \"{schema}\".entries_unshown;
         ALTER TABLE \"{schema}\".entries DROP COLUMN document, DROP COLUMN node,
             DROP COLUMN path, DROP COLUMN leaves;
         UPDATE \"{schema}\".state SET format = {FORMAT} WHERE id = 1;
         COMMIT"
    )
}
