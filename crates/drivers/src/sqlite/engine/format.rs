//! The format of the file: its tables, and the ids in its header that identify Espalier's files.

use std::path::Path;

use espalier_keyspace::{Error, ErrorKind, Result};
use rusqlite::{Connection, TransactionBehavior};

use super::error::open_error;

/// The application id of Espalier's files: `ESPA`.
const APPLICATION: i32 = i32::from_be_bytes(*b"ESPA");

/// The format version that this code reads and writes, stored as SQLite's user version.
const VERSION: i32 = 3;

/// The format version of a file with readable columns.
const VERSION_READABLE: i32 = 4;

/// The versions before these two, which store long values in the entries. Such files are upgraded.
const VERSIONS_UPGRADED: [i32; 2] = [VERSION - 2, VERSION_READABLE - 2];

/// The most bytes of a key and its value in `entries`; a longer value is stored in `long_values`. SQLite
/// stores at most 1,002 bytes of a row on its page of 4,096, a few of which are the row's header. It reads
/// a longer row, with all its overflow pages, in every search that compares with it, whichever key is searched.
pub(in crate::sqlite) const ENTRY_BYTES_MAX: usize = 980;

/// Reads the version of the newest commit.
pub(super) const SELECT_VERSION: &str = "SELECT version FROM state";

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

/// Adds the table of long values. Deleting an entry deletes its long value; so does replacing one, as the
/// writing connection has recursive triggers.
const ADD_LONG_VALUES: &str = "
    CREATE TABLE long_values (id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
    ALTER TABLE entries ADD COLUMN long_value INTEGER;
    CREATE TRIGGER entries_long_value AFTER DELETE ON entries WHEN old.long_value IS NOT NULL BEGIN
        DELETE FROM long_values WHERE id = old.long_value;
    END;
";

/// Adds the readable columns. The index holds the rows whose columns are still empty, usually none.
const ADD_READABLE: &str = "
    ALTER TABLE entries ADD COLUMN document TEXT;
    ALTER TABLE entries ADD COLUMN node TEXT;
    ALTER TABLE entries ADD COLUMN path TEXT;
    ALTER TABLE entries ADD COLUMN leaves TEXT;
    CREATE INDEX entries_unshown ON entries (key) WHERE path IS NULL;
    CREATE VIEW data AS SELECT document, node, path, leaves FROM entries WHERE path <> '';
    PRAGMA user_version = 4;
";

/// Drops the readable columns.
const DROP_READABLE: &str = "
    DROP VIEW data;
    DROP INDEX entries_unshown;
    ALTER TABLE entries DROP COLUMN leaves;
    ALTER TABLE entries DROP COLUMN path;
    ALTER TABLE entries DROP COLUMN node;
    ALTER TABLE entries DROP COLUMN document;
    PRAGMA user_version = 3;
";

/// Whether the key space existed before it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileOrigin {
    Created,
    Existing,
}

/// Checks the ids of a file, or creates the tables if it is empty.
pub(super) fn check_or_create(connection: &mut Connection, file: &Path) -> Result<FileOrigin> {
    let failed = |error| open_error(file, error);
    if !is_empty(connection).map_err(failed)? {
        check(connection, file)?;
        upgrade(connection).map_err(failed)?;
        return Ok(FileOrigin::Existing);
    }
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        let message = format!(
            "{} is on a file system where SQLite cannot use a write-ahead log; use a local file system",
            file.display()
        );
        return Err(Error::new(ErrorKind::Engine, message));
    }
    if create(connection).map_err(failed)? == FileOrigin::Existing {
        check(connection, file)?;
        return Ok(FileOrigin::Existing);
    }
    Ok(FileOrigin::Created)
}

/// Creates the tables and sets the ids in one transaction, unless another process has done so.
fn create(connection: &mut Connection) -> rusqlite::Result<FileOrigin> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_empty(&transaction)? {
        return Ok(FileOrigin::Existing);
    }
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(ADD_LONG_VALUES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(FileOrigin::Created)
}

/// Upgrades a file of an earlier version. Existing long values stay in `entries` until they are written again.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    if !VERSIONS_UPGRADED.contains(&header_ids(connection)?.1) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (_, version) = header_ids(&transaction)?;
    // Another process may have done so since.
    if VERSIONS_UPGRADED.contains(&version) {
        transaction.execute_batch(ADD_LONG_VALUES)?;
        transaction.pragma_update(None, "user_version", version + 2)?;
    }
    transaction.commit()
}

/// Returns whether the file has no ids and no tables.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let (application, version) = header_ids(connection)?;
    let things: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(application == 0 && version == 0 && things == 0)
}

/// The application id and the format version in the header of the file.
fn header_ids(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let header_id = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((header_id("application_id")?, header_id("user_version")?))
}

fn check(connection: &Connection, file: &Path) -> Result<()> {
    let header_ids = header_ids(connection).map_err(|error| open_error(file, error))?;
    let message = match header_ids {
        (APPLICATION, 1..=VERSION_READABLE) => return Ok(()),
        (APPLICATION, other) => format!(
            "{} has format {other}; this version of Espalier reads formats up to \
             {VERSION_READABLE}: \
             use the version that wrote it, or another file",
            file.display()
        ),
        _ => format!(
            "{} is a database that Espalier did not write; use another file",
            file.display()
        ),
    };
    Err(Error::new(ErrorKind::WrongVersion, message))
}

/// Checks the ids of a file that can only be read. Returns whether it has readable columns.
pub(super) fn check_read_only(connection: &Connection, file: &Path) -> Result<bool> {
    let failed = |error| open_error(file, error);
    check(connection, file)?;
    let (_, version) = header_ids(connection).map_err(failed)?;
    if VERSIONS_UPGRADED.contains(&version) {
        let message = format!(
            "{} has an earlier format and must be upgraded, but is read-only: copy it to a writable file system \
             and open the copy",
            file.display()
        );
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    Ok(version == VERSION_READABLE)
}

/// Adds or drops the readable columns, as requested. Returns whether the file has them.
pub(super) fn set_readable(
    connection: &mut Connection,
    file: &Path,
    requested: Option<bool>,
) -> Result<bool> {
    let mut made = || -> rusqlite::Result<bool> {
        let is_readable = header_ids(connection)?.1 == VERSION_READABLE;
        if requested.is_none_or(|requested| requested == is_readable) {
            return Ok(is_readable);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done so since.
        let is_readable = header_ids(&transaction)?.1 == VERSION_READABLE;
        match (is_readable, requested) {
            (false, Some(true)) => transaction.execute_batch(ADD_READABLE)?,
            (true, Some(false)) => transaction.execute_batch(DROP_READABLE)?,
            _ => {}
        }
        transaction.commit()?;
        Ok(requested.unwrap_or(is_readable))
    };
    made().map_err(|error| open_error(file, error))
}
