//! Reads and writes of entries. Long values are stored in a table of their own.

use rusqlite::params;

use super::format::ENTRY_BYTES_MAX;
use super::transaction::Transaction;

/// The SQL expression for the value of an entry, from either table.
macro_rules! value {
    () => {
        "iif(long_value IS NULL, entries.value, \
         (SELECT long_values.value FROM long_values WHERE id = long_value))"
    };
}

/// A query for keys and values, with a condition.
macro_rules! pairs {
    ($condition:literal) => {
        concat!(
            "SELECT key, ",
            $crate::sqlite::engine::value!(),
            " FROM entries WHERE ",
            $condition
        )
    };
}

pub(in crate::sqlite) use {pairs, value};

// Searches read the whole of each long row that they pass: docs/decisions/0031.
const INSERT_LONG_VALUE: &str = "INSERT INTO long_values (value) VALUES (?1)";
const DELETE: &str = "DELETE FROM entries WHERE key = ?1";
const EXISTS: &str = "SELECT 1 FROM entries WHERE key = ?1";
const PUT: &str = "INSERT OR REPLACE INTO entries (key, value, long_value) VALUES (?1, ?2, ?3)";
const PUT_NEW: &str = "INSERT OR IGNORE INTO entries (key, value) VALUES (?1, ?2)";

impl Transaction<'_> {
    /// Sets a key.
    pub(in crate::sqlite) fn put(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        if !is_long(key, value) {
            return self.run(PUT, params![key, value, None::<i64>]).map(drop);
        }
        // Deleting first frees the pages of the old value, which the new one then reuses.
        self.delete(key)?;
        self.run(INSERT_LONG_VALUE, [value])?;
        let id = self.connection().last_insert_rowid();
        self.run(PUT, params![key, [0_u8; 0], id]).map(drop)
    }

    /// Deletes a key. Returns whether it existed.
    pub(in crate::sqlite) fn delete(&self, key: &[u8]) -> rusqlite::Result<bool> {
        Ok(self.run(DELETE, [key])? > 0)
    }

    /// Sets a key if it is absent. Returns whether it was.
    pub(in crate::sqlite) fn put_new(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<bool> {
        if !is_long(key, value) {
            return Ok(self.run(PUT_NEW, [key, value])? > 0);
        }
        let exists = self.connection().prepare_cached(EXISTS)?.exists([key])?;
        if !exists {
            self.put(key, value)?;
        }
        Ok(!exists)
    }
}

/// Returns whether a value is stored in `long_values`.
fn is_long(key: &[u8], value: &[u8]) -> bool {
    key.len() + value.len() > ENTRY_BYTES_MAX
}
