//! Values that lie beside the entries, as they are too long for them.

use rusqlite::params;

use super::format::ENTRY_BYTES_MAX;
use super::transaction::Transaction;

/// The value of an entry, wherever it lies.
macro_rules! value {
    () => {
        "iif(long_value IS NULL, entries.value, \
         (SELECT long_values.value FROM long_values WHERE id = long_value))"
    };
}

/// A query for keys and values.
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

const KEEP: &str = "INSERT INTO long_values (value) VALUES (?1)";
const DELETE: &str = "DELETE FROM entries WHERE key = ?1";
const HAS: &str = "SELECT 1 FROM entries WHERE key = ?1";
const PUT: &str = "INSERT OR REPLACE INTO entries (key, value, long_value) VALUES (?1, ?2, ?3)";
const PUT_NEW: &str = "INSERT OR IGNORE INTO entries (key, value) VALUES (?1, ?2)";

impl Transaction<'_> {
    /// Sets a key.
    pub(in crate::sqlite) fn put(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        if !is_long(key, value) {
            return self.run(PUT, params![key, value, None::<i64>]).map(drop);
        }
        // The pages of what was there are those that are taken next.
        self.delete(key)?;
        self.run(KEEP, [value])?;
        let id = self.connection().last_insert_rowid();
        self.run(PUT, params![key, [0_u8; 0], id]).map(drop)
    }

    /// Deletes a key; whether it was there.
    pub(in crate::sqlite) fn delete(&self, key: &[u8]) -> rusqlite::Result<bool> {
        Ok(self.run(DELETE, [key])? > 0)
    }

    /// Sets a key that is absent; false where it is there.
    pub(in crate::sqlite) fn put_new(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<bool> {
        if !is_long(key, value) {
            return Ok(self.run(PUT_NEW, [key, value])? > 0);
        }
        let is_there = self.connection().prepare_cached(HAS)?.exists([key])?;
        if !is_there {
            self.put(key, value)?;
        }
        Ok(!is_there)
    }
}

/// Whether a value lies beside its entry.
fn is_long(key: &[u8], value: &[u8]) -> bool {
    key.len() + value.len() > ENTRY_BYTES_MAX
}
