//! Snapshots and cursors: a read transaction on a connection of its own, and queries within it. What the caller
//! expects to read is prefetched.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, KeyRange, Prefetch, PrefetchList, Result, Snapshot, Version, is_key,
};

use super::engine::{Connection, Engine, Lease, Setup};
use crate::page::Page;
use crate::paged_cursor::{More, PagedCursor, Source};
use crate::partial_cache::{self, Values};
use crate::prefetched::Prefetched;

/// A snapshot of a committed state.
pub(super) struct PostgresSnapshot {
    lease: RefCell<Lease>,
    engine: Arc<Engine>,
    version: Version,
    prefetched: Prefetched,
}

impl PostgresSnapshot {
    /// Takes a snapshot, and prefetches what is expected to be read in the same round trip.
    pub(super) fn new(engine: &Arc<Engine>, expect: Prefetch<'_>) -> Result<Self> {
        let mut expected = PrefetchList::new();
        expect(&mut expected);
        let (lease, (version, prefetched)) = engine.read(&expected)?;
        Ok(Self {
            lease: RefCell::new(lease),
            engine: Arc::clone(engine),
            version,
            prefetched,
        })
    }
}

impl Snapshot for PostgresSnapshot {
    fn version(&self) -> Version {
        self.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(value) = self.prefetched.get(key) {
            return Ok(value.map(Cow::Borrowed));
        }
        let mut lease = self.lease.borrow_mut();
        get(lease.connection()?, &self.engine.setup, key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let prefetched = |key: &[u8]| Some(self.prefetched.get(key)?.map(Cow::Borrowed));
        partial_cache::get_many(keys, prefetched, |unknown| {
            let mut lease = self.lease.borrow_mut();
            get_many(lease.connection()?, &self.engine.setup, unknown)
        })
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(PagedCursor::new(self, range, direction)))
    }
}

impl Source for &PostgresSnapshot {
    fn read(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
        page: &mut Page,
    ) -> Result<More> {
        if let Some(more) = self.prefetched.fill_page(range, direction, page) {
            return Ok(more);
        }
        let mut lease = self.lease.borrow_mut();
        let connection = lease.connection()?;
        read(
            connection,
            &self.engine.setup,
            (range, direction, limit),
            page,
        )
    }
}

/// A view of the state within an open write transaction. All its writes must have been sent.
pub(super) struct UncommittedSnapshot<'a> {
    pub(super) connection: RefCell<&'a mut Connection>,
    pub(super) setup: &'a Setup,
    /// The version of the state before the transaction.
    pub(super) before: Version,
}

impl Snapshot for UncommittedSnapshot<'_> {
    fn version(&self) -> Version {
        self.before
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        get(&mut self.connection.borrow_mut(), self.setup, key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let read = |keys: &[&[u8]]| get_many(&mut self.connection.borrow_mut(), self.setup, keys);
        partial_cache::get_many(keys, |_| None, read)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(PagedCursor::new(self, range, direction)))
    }
}

impl Source for &UncommittedSnapshot<'_> {
    fn read(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
        page: &mut Page,
    ) -> Result<More> {
        let mut connection = self.connection.borrow_mut();
        read(&mut connection, self.setup, (range, direction, limit), page)
    }
}

fn get<'a>(
    connection: &mut Connection,
    setup: &Setup,
    key: &[u8],
) -> Result<Option<Cow<'a, [u8]>>> {
    if !is_key(key) {
        return Ok(None);
    }
    let value = connection.get(key);
    Ok(value
        .map_err(|failure| failure.into_error(setup))?
        .map(Cow::Owned))
}

fn get_many<'a>(connection: &mut Connection, setup: &Setup, keys: &[&[u8]]) -> Result<Values<'a>> {
    let values = connection.get_many(keys);
    let values = values.map_err(|failure| failure.into_error(setup))?;
    Ok(values
        .into_iter()
        .map(|value| value.map(Cow::Owned))
        .collect())
}

fn read(
    connection: &mut Connection,
    setup: &Setup,
    (range, direction, limit): (&KeyRange, Direction, usize),
    page: &mut Page,
) -> Result<More> {
    let read = connection.read_page(range, direction, limit, page);
    read.map_err(|failure| failure.into_error(setup))
}
