//! Transactions, with statements that are compiled once.

use espalier_keyspace::Version;
use rusqlite::{Connection, Params};

use super::format::VERSION_OF_STATE;

const BEGIN_READ: &str = "BEGIN";
const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
const RAISE: &str = "UPDATE state SET version = ?1";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Begins to read; what the connection reads from now on is the state of the returned version.
pub(super) fn begin_read(connection: &Connection) -> rusqlite::Result<Version> {
    execute(connection, BEGIN_READ, [])?;
    version(connection).inspect_err(|_| end_read(connection))
}

/// Ends what [`begin_read`] began.
pub(super) fn end_read(connection: &Connection) {
    // Where it cannot be ended, the connection is broken, which its next use says.
    let _ = execute(connection, ROLLBACK, []);
}

fn version(connection: &Connection) -> rusqlite::Result<Version> {
    let mut statement = connection.prepare_cached(VERSION_OF_STATE)?;
    statement.query_row([], |row| Ok(Version(row.get::<_, i64>(0)?.cast_unsigned())))
}

fn execute(connection: &Connection, text: &str, values: impl Params) -> rusqlite::Result<usize> {
    connection.prepare_cached(text)?.execute(values)
}

/// A write transaction; dropping it undoes it.
pub(in crate::sqlite) struct Transaction<'c> {
    connection: &'c Connection,
}

impl<'c> Transaction<'c> {
    /// Begins to write, when the writer of any other process is done. Returns the version of the
    /// state before, too.
    pub(in crate::sqlite) fn begin_write(
        connection: &'c Connection,
    ) -> rusqlite::Result<(Self, Version)> {
        execute(connection, BEGIN_WRITE, [])?;
        let transaction = Self { connection };
        let before = version(connection)?;
        Ok((transaction, before))
    }

    /// The connection, which sees what was written so far.
    pub(in crate::sqlite) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Runs a statement, and returns how many entries it changed.
    pub(in crate::sqlite) fn run(
        &self,
        text: &str,
        values: impl Params,
    ) -> rusqlite::Result<usize> {
        execute(self.connection, text, values)
    }

    /// Makes what was written the state of `version`.
    pub(in crate::sqlite) fn commit(self, version: Version) -> rusqlite::Result<()> {
        self.run(RAISE, [version.0.cast_signed()])?;
        self.run(COMMIT, []).map(drop)
    }

    /// Undoes what was written.
    pub(in crate::sqlite) fn rollback(self) -> rusqlite::Result<()> {
        self.run(ROLLBACK, []).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.run(ROLLBACK, [])
        {
            tracing::warn!(%error, "a write could not be undone");
        }
    }
}
