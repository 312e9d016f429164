//! Fills the readable columns (`path`, `document`, `node`, `leaves`), if the schema has them: at the end of each
//! transaction, for all rows that it has set.

use std::cell::RefCell;
use std::sync::Arc;

use espalier_keyspace::Lens;

use super::connection::Connection;
use super::error::Failure;
use super::open::Engine;
use super::read_set::ReadSet;
use super::setup::Setup;
use super::statements::Query;
use super::transaction::{COMMIT_IDLE_MAX, Transaction};
use crate::postgres::snapshot::UncommittedSnapshot;
use crate::readable_columns::{CachingSnapshot, final_columns};

/// The most rows that one statement fills.
const ROWS_MAX: usize = 1000;

/// Fills the columns of all rows that have none yet.
pub(in crate::postgres) fn fill_in(
    transaction: &mut Transaction<'_>,
    setup: &Setup,
    lens: &dyn Lens,
) -> Result<(), Failure> {
    loop {
        let limit = ROWS_MAX as i64;
        let found = transaction
            .connection()
            .query(Query::WithoutColumns, &[&limit])?;
        if found.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(found.len());
        for row in &found {
            let key: &[u8] = row.try_get(0).map_err(Failure::Database)?;
            let value: &[u8] = row.try_get(1).map_err(Failure::Database)?;
            rows.push((key, value));
        }
        show(transaction, setup, lens, &rows)?;
        if rows.len() < ROWS_MAX {
            return Ok(());
        }
    }
}

fn show(
    transaction: &mut Transaction<'_>,
    setup: &Setup,
    lens: &dyn Lens,
    rows: &[(&[u8], &[u8])],
) -> Result<(), Failure> {
    let before = transaction.before();
    let state = UncommittedSnapshot {
        connection: RefCell::new(transaction.connection()),
        setup,
        before,
    };
    let state = CachingSnapshot::new(&state, rows);
    let (mut keys, mut paths) = (Vec::new(), Vec::new());
    let (mut documents, mut nodes, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in rows {
        let columns = final_columns(lens, &state, key, value);
        keys.push(*key);
        paths.push(columns.path);
        documents.push(columns.document);
        nodes.push(columns.node);
        leaves.push(columns.leaves);
    }
    let connection: &mut Connection = transaction.connection();
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&keys, &documents, &nodes, &paths, &leaves];
    connection.query(Query::SetColumns, &values).map(drop)
}

impl Engine {
    /// Sets the lens, if the schema has readable columns, and fills the rows that have none yet.
    pub(in crate::postgres) fn set_lens(
        &self,
        lens: Arc<dyn Lens>,
    ) -> espalier_keyspace::Result<()> {
        if !self.setup.is_readable {
            return Ok(());
        }
        *self.lens.write() = Some(Arc::clone(&lens));
        self.queue.lead(|| {
            self.with_writer(|connection| {
                let mut filled = || -> Result<(), Failure> {
                    let read_set = ReadSet::default();
                    let (mut transaction, _) =
                        Transaction::begin(connection, &read_set, COMMIT_IDLE_MAX)?;
                    fill_in(&mut transaction, &self.setup, &*lens)?;
                    transaction.end()
                };
                filled().map_err(|failure| failure.into_error(&self.setup))
            })
        })
    }
}
