//! The columns that people query, where the file has them.

use std::sync::Arc;

use espalier_keyspace::{Lens, Result, Version};
use rusqlite::{Connection, params};

use super::error::engine_error;
use super::long_value::pairs;
use super::open::Engine;
use super::transaction::Transaction;
use crate::readable_columns::{Columns, final_columns};
use crate::sqlite::snapshot::UnfinishedSnapshot;

/// Rows that are filled in at once.
const ROWS_MAX: usize = 1000;

const SHOW: &str =
    "UPDATE entries SET document = ?2, node = ?3, path = ?4, leaves = ?5 WHERE key = ?1";

const UNSHOWN: &str = pairs!("path IS NULL ORDER BY key LIMIT ?1");

/// Stores the columns of a row that is there.
pub(in crate::sqlite) fn show(
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
        .run(SHOW, params![key, document, node, path, leaves])
        .map(drop)
}

/// Fills in the rows that have no columns yet.
pub(in crate::sqlite) fn fill_in(
    transaction: &Transaction<'_>,
    before: Version,
    lens: &dyn Lens,
) -> rusqlite::Result<()> {
    let connection = transaction.connection();
    let state = UnfinishedSnapshot { connection, before };
    loop {
        let rows = unshown(connection)?;
        for (key, value) in &rows {
            let columns = final_columns(lens, &state, key, value);
            show(transaction, key, &columns)?;
        }
        if rows.len() < ROWS_MAX {
            return Ok(());
        }
    }
}

#[allow(clippy::type_complexity)]
fn unshown(connection: &Connection) -> rusqlite::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut statement = connection.prepare_cached(UNSHOWN)?;
    let rows = statement.query_map([ROWS_MAX as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

impl Engine {
    /// Keeps the lens, where the file has columns for what it shows, and fills in the rows that have
    /// none yet.
    pub(in crate::sqlite) fn show_through(&self, lens: Arc<dyn Lens>) -> Result<()> {
        if !self.is_readable || !self.mode.writes() {
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
