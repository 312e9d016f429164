//! Snapshots and cursors: read transactions, and queries within them.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use rusqlite::{Connection, Rows};

use super::engine::{Engine, Reader, engine_error, pairs, value};
use crate::page::Page;
use crate::paged_cursor::{More, PAGE_BYTES, PagedCursor, Source};

const GET: &str = concat!("SELECT ", value!(), " FROM entries WHERE key = ?1");
const FORWARD: &str = pairs!("key >= ?1 ORDER BY key");
const FORWARD_TO: &str = pairs!("key >= ?1 AND key < ?2 ORDER BY key");
const BACKWARD: &str = pairs!("key >= ?1 ORDER BY key DESC");
const BACKWARD_FROM: &str = pairs!("key >= ?1 AND key < ?2 ORDER BY key DESC");

/// A snapshot of a committed state.
pub(super) struct SqliteSnapshot {
    reader: Reader,
}

impl SqliteSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        let reader = engine.read()?;
        Ok(Self { reader })
    }
}

impl Snapshot for SqliteSnapshot {
    fn version(&self) -> Version {
        self.reader.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        owned(get(self.reader.connection(), key))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(scan(self.reader.connection(), range, direction))
    }
}

/// A view of the state within an open write transaction.
pub(super) struct UncommittedSnapshot<'a> {
    pub(super) connection: &'a Connection,
    /// The version of the state before the transaction.
    pub(super) before: Version,
}

impl Snapshot for UncommittedSnapshot<'_> {
    fn version(&self) -> Version {
        self.before
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        owned(get(self.connection, key))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(scan(self.connection, range, direction))
    }
}

/// Reads the value of a key in the transaction of the connection.
pub(super) fn get(connection: &Connection, key: &[u8]) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = connection.prepare_cached(GET)?;
    let mut rows = statement.query([key])?;
    let row = rows.next()?;
    row.map(|row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))
        .transpose()
}

fn owned<'a>(value: rusqlite::Result<Option<Vec<u8>>>) -> Result<Option<Cow<'a, [u8]>>> {
    Ok(value.map_err(engine_error)?.map(Cow::Owned))
}

fn scan<'a>(
    connection: &'a Connection,
    range: &KeyRange,
    direction: Direction,
) -> Box<dyn Cursor + 'a> {
    Box::new(PagedCursor::new(Entries { connection }, range, direction))
}

struct Entries<'a> {
    connection: &'a Connection,
}

impl Source for Entries<'_> {
    fn read(
        &self,
        range: &KeyRange,
        direction: Direction,
        wanted: usize,
        page: &mut Page,
    ) -> Result<More> {
        self.query(range, direction, |rows| fill_page(rows, wanted, page))
            .map_err(engine_error)
    }
}

impl Entries<'_> {
    fn query(
        &self,
        range: &KeyRange,
        direction: Direction,
        fill_page: impl FnOnce(Rows<'_>) -> rusqlite::Result<More>,
    ) -> rusqlite::Result<More> {
        let text = match (direction, &range.end) {
            (Direction::Forward, None) => FORWARD,
            (Direction::Forward, Some(_)) => FORWARD_TO,
            (Direction::Backward, None) => BACKWARD,
            (Direction::Backward, Some(_)) => BACKWARD_FROM,
        };
        let mut statement = self.connection.prepare_cached(text)?;
        match &range.end {
            Some(end) => fill_page(statement.query([&range.start, end])?),
            None => fill_page(statement.query([&range.start])?),
        }
    }
}

fn fill_page(mut rows: Rows<'_>, wanted: usize, page: &mut Page) -> rusqlite::Result<More> {
    while page.len() < wanted && page.bytes() < PAGE_BYTES {
        let Some(row) = rows.next()? else {
            return Ok(More::Nothing);
        };
        page.push(row.get_ref(0)?.as_bytes()?, row.get_ref(1)?.as_bytes()?);
    }
    Ok(More::Perhaps)
}
