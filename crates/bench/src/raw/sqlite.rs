//! SQLite without Espalier: one table, prepared statements, a write-ahead log.

use std::path::Path;

use espalier_keyspace::{Direction, KeyRange, Operation, counter};
use rusqlite::{Connection, OptionalExtension, params};

use super::client::RawEngine;
use super::contents::Contents;
use super::range_end::range_end;
use crate::engine::Durability;
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

const GET: &str = "SELECT value FROM entries WHERE key = ?1";
const PUT: &str = "INSERT INTO entries VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";

/// A connection.
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Creates an empty database file.
    pub fn create(file: &Path, durability: Durability) -> Result<Self> {
        let connection = Connection::open(file).map_err(failed)?;
        let synchronous = match durability {
            Durability::Durable => "FULL",
            _ => "OFF",
        };
        let set_up = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
             CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
        );
        connection.execute_batch(&set_up).map_err(failed)?;
        Ok(Self { connection })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        let mut put = self.connection.prepare_cached(PUT)?;
        put.execute(params![key, value]).map(drop)
    }

    fn get(&self, key: &[u8]) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut get = self.connection.prepare_cached(GET)?;
        get.query_row([key], |row| row.get(0)).optional()
    }

    fn scan(&self, range: &KeyRange, order: &str, count: usize) -> rusqlite::Result<usize> {
        let text = format!(
            "SELECT key, value FROM entries WHERE key >= ?1 AND key < ?2 ORDER BY key {order} LIMIT ?3"
        );
        let mut scan = self.connection.prepare_cached(&text)?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = scan.query(params![range.start, range_end(range), count])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let (key, value) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            bytes += key.len() + value.len();
        }
        Ok(bytes)
    }

    fn apply(&self, operation: &Operation) -> rusqlite::Result<()> {
        let run = |text: &str, values: &[&[u8]]| {
            let mut statement = self.connection.prepare_cached(text)?;
            statement
                .execute(rusqlite::params_from_iter(values))
                .map(drop)
        };
        match operation {
            Operation::Put { key, value } => self.put(key, value),
            Operation::Delete { key } => run("DELETE FROM entries WHERE key = ?1", &[key]),
            Operation::DeleteRange(range) => run(
                "DELETE FROM entries WHERE key >= ?1 AND key < ?2",
                &[&range.start, range_end(range)],
            ),
            Operation::Add { key, delta } => {
                let held = self.get(key)?;
                match counter::add(key, held.as_deref(), *delta) {
                    Ok(sum) => self.put(key, &sum),
                    Err(_) => Ok(()),
                }
            }
        }
    }

    /// Runs a function in one transaction.
    fn within(&self, work: impl FnOnce() -> rusqlite::Result<()>) -> Result<()> {
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        work().map_err(failed)?;
        transaction.commit().map_err(failed)
    }
}

impl RawEngine for Sqlite {
    fn load(&self, contents: &Contents) -> Result<()> {
        self.within(|| {
            let mut pairs = contents.iter();
            pairs.try_for_each(|(key, value)| self.put(key, value))
        })
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let mut bytes = 0;
        for step in &trace.reads {
            bytes += match step {
                ReadStep::Get(key) => self
                    .get(key)
                    .map(|value| value.map_or(0, |value| value.len())),
                ReadStep::GetMany(keys) => keys.iter().try_fold(0, |bytes, key| {
                    let value = self.get(key)?;
                    Ok(bytes + value.map_or(0, |value| value.len()))
                }),
                ReadStep::Scan(range, Direction::Forward, count) => self.scan(range, "ASC", *count),
                ReadStep::Scan(range, Direction::Backward, count) => {
                    self.scan(range, "DESC", *count)
                }
            }
            .map_err(failed)?;
        }
        for operations in &trace.commits {
            self.within(|| {
                operations
                    .iter()
                    .try_for_each(|operation| self.apply(operation))
            })?;
        }
        Ok(bytes)
    }
}

fn failed(error: rusqlite::Error) -> Failure {
    Failure::data(format!("raw SQLite: {error}"))
}
