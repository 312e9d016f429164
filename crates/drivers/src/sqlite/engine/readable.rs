//! Fills the readable columns (`path`, `document`, `node`, `leaves`), if the file has them.

use std::sync::Arc;

use espalier_keyspace::{Lens, Result, Version};
use rusqlite::{Connection, params};

use super::error::engine_error;
use super::long_value::pairs;
use super::open::Engine;
use super::transaction::Transaction;
use crate::readable_columns::{Columns, final_columns};
use crate::sqlite::snapshot::UncommittedSnapshot;

/// The most rows of one query for rows without columns.
const ROWS_MAX: usize = 1000;

const SET_COLUMNS: &str =
    "UPDATE entries SET document = ?2, node = ?3, path = ?4, leaves = ?5 WHERE key = ?1";

const WITHOUT_COLUMNS: &str = pairs!("path IS NULL ORDER BY key LIMIT ?1");

/// Stores the readable columns of an existing row.
pub(in crate::sqlite) fn set_columns(
    transaction: &Transaction<'_>,
    key: &[u8],
    columns: &Columns,
) -> rusqlite::Result<()> {
    let Columns {
        path,
        document,
        node,
        leaves,
    } = columns;
    transaction
        .run(SET_COLUMNS, params![key, document, node, path, leaves])
        .map(drop)
}

/// Fills the columns of all rows that have none yet.
pub(in crate::sqlite) fn fill_in(
    transaction: &Transaction<'_>,
    before: Version,
    lens: &dyn Lens,
) -> rusqlite::Result<()> {
    let connection = transaction.connection();
    let state = UncommittedSnapshot { connection, before };
    loop {
        let rows = rows_without_columns(connection)?;
        for (key, value) in &rows {
            let columns = final_columns(lens, &state, key, value);
            set_columns(transaction, key, &columns)?;
        }
        if rows.len() < ROWS_MAX {
            return Ok(());
        }
    }
}

#[allow(clippy::type_complexity)]
fn rows_without_columns(connection: &Connection) -> rusqlite::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut statement = connection.prepare_cached(WITHOUT_COLUMNS)?;
    let rows = statement.query_map([ROWS_MAX as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

impl Engine {
    /// Sets the lens, if the file has readable columns, and fills the rows that have none yet.
    pub(in crate::sqlite) fn set_lens(&self, lens: Arc<dyn Lens>) -> Result<()> {
        if !self.is_readable || !self.mode.is_writable() {
            return Ok(());
        }
        *self.lens.write() = Some(Arc::clone(&lens));
        self.queue.lead(|| {
            let connection = self.writer.lock();
            let filled = || -> rusqlite::Result<()> {
                let (transaction, before) = Transaction::begin_write(&connection)?;
                fill_in(&transaction, before, &*lens)?;
                transaction.commit(before)
            };
            filled().map_err(engine_error)
        })
    }
}
