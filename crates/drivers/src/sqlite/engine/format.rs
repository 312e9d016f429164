//! What is in the file: the tables, and the marks by which Espalier knows its own.

use std::path::Path;

use espalier_keyspace::{Error, ErrorKind, Result};
use rusqlite::{Connection, TransactionBehavior};

use super::error::open_error;

/// The application id of Espalier's files: `ESPA`.
const APPLICATION: i32 = i32::from_be_bytes(*b"ESPA");

/// The version that this code reads and writes, kept as SQLite's user version.
const VERSION: i32 = 3;

/// The same of a file whose rows have columns for people who query them.
const VERSION_READABLE: i32 = 4;

/// The versions before these two, whose long values lie in the entries. They are taken over.
const VERSIONS_BEFORE: [i32; 2] = [VERSION - 2, VERSION_READABLE - 2];

/// Keys and values that are longer together have the value elsewhere. SQLite keeps at most 1,002 bytes
/// of a row on its page of 4,096, of which the row's own description takes a few; and it reads all of
/// a longer row whenever a search passes by, which may be any search for any key.
pub(in crate::sqlite) const ENTRY_BYTES_MAX: usize = 980;

/// The number of the newest commit.
pub(super) const VERSION_OF_STATE: &str = "SELECT version FROM state";

const TABLES: &str = "
    CREATE TABLE entries (
        key BLOB PRIMARY KEY NOT NULL,
        value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state (id, version) VALUES (1, 1);
";

/// Where long values lie. An entry that goes takes its own along; so does one that is replaced, as
/// the writing connection has recursive triggers.
const LONG_VALUES: &str = "
    CREATE TABLE long_values (id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
    ALTER TABLE entries ADD COLUMN long_value INTEGER;
    CREATE TRIGGER entries_long_value AFTER DELETE ON entries WHEN old.long_value IS NOT NULL BEGIN
        DELETE FROM long_values WHERE id = old.long_value;
    END;
";

/// What a readable file has more. The index has the rows that are to be filled in: mostly none.
const READABLE: &str = "
    ALTER TABLE entries ADD COLUMN document TEXT;
    ALTER TABLE entries ADD COLUMN node TEXT;
    ALTER TABLE entries ADD COLUMN path TEXT;
    ALTER TABLE entries ADD COLUMN leaves TEXT;
    CREATE INDEX entries_unshown ON entries (key) WHERE path IS NULL;
    CREATE VIEW data AS SELECT document, node, path, leaves FROM entries WHERE path <> '';
    PRAGMA user_version = 4;
";

const PLAIN: &str = "
    DROP VIEW data;
    DROP INDEX entries_unshown;
    ALTER TABLE entries DROP COLUMN leaves;
    ALTER TABLE entries DROP COLUMN path;
    ALTER TABLE entries DROP COLUMN node;
    ALTER TABLE entries DROP COLUMN document;
    PRAGMA user_version = 3;
";

/// Whether the file held a key space before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Made,
    Existing,
}

/// Checks the marks of a file, or makes the tables in one that is empty.
pub(super) fn check_or_create(connection: &mut Connection, file: &Path) -> Result<Found> {
    let failed = |error| open_error(file, error);
    if !is_empty(connection).map_err(failed)? {
        check(connection, file)?;
        take_over(connection).map_err(failed)?;
        return Ok(Found::Existing);
    }
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        let message = format!(
            "{} lies where SQLite cannot keep a write-ahead log; use a local file system",
            file.display()
        );
        return Err(Error::new(ErrorKind::Engine, message));
    }
    if create(connection).map_err(failed)? == Found::Existing {
        check(connection, file)?;
        return Ok(Found::Existing);
    }
    Ok(Found::Made)
}

/// Makes the tables and the marks in one transaction, unless another process has done so.
fn create(connection: &mut Connection) -> rusqlite::Result<Found> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_empty(&transaction)? {
        return Ok(Found::Existing);
    }
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(LONG_VALUES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(Found::Made)
}

/// Makes a file of the versions before one of these. Long values that are there stay where they are until
/// they are written again.
fn take_over(connection: &mut Connection) -> rusqlite::Result<()> {
    if !VERSIONS_BEFORE.contains(&marks(connection)?.1) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (_, version) = marks(&transaction)?;
    // Another process may have done so since.
    if VERSIONS_BEFORE.contains(&version) {
        transaction.execute_batch(LONG_VALUES)?;
        transaction.pragma_update(None, "user_version", version + 2)?;
    }
    transaction.commit()
}

/// Whether nobody has put anything into the file.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let (application, version) = marks(connection)?;
    let things: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(application == 0 && version == 0 && things == 0)
}

fn marks(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let mark = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((mark("application_id")?, mark("user_version")?))
}

fn check(connection: &Connection, file: &Path) -> Result<()> {
    let marks = marks(connection).map_err(|error| open_error(file, error))?;
    let message = match marks {
        (APPLICATION, 1..=VERSION_READABLE) => return Ok(()),
        (APPLICATION, other) => format!(
            "{} has format {other}; this version of Espalier reads formats up to \
             {VERSION_READABLE}: \
             use the version that wrote it, or another file",
            file.display()
        ),
        _ => format!(
            "{} is a database that Espalier did not write; name another file",
            file.display()
        ),
    };
    Err(Error::new(ErrorKind::WrongVersion, message))
}

/// Checks the marks of a file that can only be read. Returns whether its rows have columns for people.
pub(super) fn check_readable(connection: &Connection, file: &Path) -> Result<bool> {
    let failed = |error| open_error(file, error);
    check(connection, file)?;
    let (_, version) = marks(connection).map_err(failed)?;
    if VERSIONS_BEFORE.contains(&version) {
        let message = format!(
            "{} is of an earlier version, and taking it over needs to write: copy it to where it can be written, \
             and open the copy",
            file.display()
        );
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    Ok(version == VERSION_READABLE)
}

/// Gives the rows columns for people, or takes them away, as is wanted. Returns whether they have
/// them.
pub(super) fn make_readable(
    connection: &mut Connection,
    file: &Path,
    wanted: Option<bool>,
) -> Result<bool> {
    let mut made = || -> rusqlite::Result<bool> {
        let is_so = marks(connection)?.1 == VERSION_READABLE;
        if wanted.is_none_or(|wanted| wanted == is_so) {
            return Ok(is_so);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done so since.
        let is_so = marks(&transaction)?.1 == VERSION_READABLE;
        match (is_so, wanted) {
            (false, Some(true)) => transaction.execute_batch(READABLE)?,
            (true, Some(false)) => transaction.execute_batch(PLAIN)?,
            _ => {}
        }
        transaction.commit()?;
        Ok(wanted.unwrap_or(is_so))
    };
    made().map_err(|error| open_error(file, error))
}
