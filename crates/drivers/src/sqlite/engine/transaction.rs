//! Read and write transactions.

use espalier_keyspace::Version;
use rusqlite::{Connection, Params};

use super::format::SELECT_VERSION;

const BEGIN_READ: &str = "BEGIN";
const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
const SET_VERSION: &str = "UPDATE state SET version = ?1";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Begins a read transaction. The connection then reads the state of the returned version.
pub(super) fn begin_read(connection: &Connection) -> rusqlite::Result<Version> {
    execute(connection, BEGIN_READ, [])?;
    version(connection).inspect_err(|_| end_read(connection))
}

/// Ends the transaction that [`begin_read`] began.
pub(super) fn end_read(connection: &Connection) {
    // If this fails, the connection is broken, and its next use returns the error.
    let _ = execute(connection, ROLLBACK, []);
}

fn version(connection: &Connection) -> rusqlite::Result<Version> {
    let mut statement = connection.prepare_cached(SELECT_VERSION)?;
    statement.query_row([], |row| Ok(Version(row.get::<_, i64>(0)?.cast_unsigned())))
}

fn execute(connection: &Connection, text: &str, values: impl Params) -> rusqlite::Result<usize> {
    connection.prepare_cached(text)?.execute(values)
}

/// A write transaction. Dropping it rolls it back.
pub(in crate::sqlite) struct Transaction<'c> {
    connection: &'c Connection,
}

impl<'c> Transaction<'c> {
    /// Begins a write transaction, after waiting for writers in other processes. Also returns the version of
    /// the state before it.
    pub(in crate::sqlite) fn begin_write(
        connection: &'c Connection,
    ) -> rusqlite::Result<(Self, Version)> {
        execute(connection, BEGIN_WRITE, [])?;
        let transaction = Self { connection };
        let before = version(connection)?;
        Ok((transaction, before))
    }

    /// The connection, which reads what the transaction has written so far.
    pub(in crate::sqlite) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Runs a statement. Returns how many rows it changed.
    pub(in crate::sqlite) fn run(
        &self,
        text: &str,
        values: impl Params,
    ) -> rusqlite::Result<usize> {
        execute(self.connection, text, values)
    }

    /// Commits as `version`.
    pub(in crate::sqlite) fn commit(self, version: Version) -> rusqlite::Result<()> {
        self.run(SET_VERSION, [version.0.cast_signed()])?;
        self.run(COMMIT, []).map(drop)
    }

    /// Rolls the transaction back.
    pub(in crate::sqlite) fn rollback(self) -> rusqlite::Result<()> {
        self.run(ROLLBACK, []).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.run(ROLLBACK, [])
        {
            tracing::warn!(%error, "a write could not be rolled back");
        }
    }
}
