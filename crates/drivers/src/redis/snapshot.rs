//! Snapshots and cursors: reads of the newest state, with later changes reverted. What the caller expects to read
//! is prefetched.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, KeyRange, Prefetch, PrefetchList, Result, Snapshot, Version, is_key,
};

use super::engine::{
    Engine, NewestRows, PageReply, Reply, RunLookup, StoredValues, bytes, split_stamp,
    unexpected_reply, without_stamp,
};
use crate::page::Page;
use crate::paged_cursor::{More, PAGE_BYTES, PagedCursor, Source, after};
use crate::partial_cache;
use crate::prefetched::Prefetched;

/// The most rows of one request.
const ROWS_MAX: usize = 4096;

/// The most keys of one request.
const KEYS_MAX: usize = 1024;

/// A snapshot: reads at a version.
pub(super) struct RedisSnapshot {
    engine: Arc<Engine>,
    version: Version,
    /// The version as an argument of scripts.
    version_text: String,
    prefetched: Prefetched,
}

impl RedisSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        let version = engine.newest()?;
        Ok(Self::at(engine, version, Prefetched::default()))
    }

    /// Takes a snapshot, and prefetches what is expected to be read in the same round trip.
    pub(super) fn expecting(engine: &Arc<Engine>, expect: Prefetch<'_>) -> Result<Self> {
        let mut expected = PrefetchList::new();
        expect(&mut expected);
        if expected.is_empty() {
            return Self::new(engine);
        }
        let names = &engine.names;
        let keys: [&str; 5] = [
            &names.meta,
            &names.keys,
            &names.runs,
            &names.values,
            &names.rows,
        ];
        let requested: Vec<&[u8]> = expected
            .keys()
            .iter()
            .map(Vec::as_slice)
            .filter(|key| is_key(key))
            .collect();
        let mut arguments = vec![requested.len().to_string().into_bytes()];
        arguments.extend(requested.iter().map(|key| key.to_vec()));
        for (range, keys) in expected.ranges() {
            let (least, greatest) = bounds(range);
            arguments.extend([least, greatest, keys.to_string().into_bytes()]);
        }
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let reply = engine
            .request(|connection| connection.script(&engine.scripts.snapshot, &keys, &arguments))?;
        let mut reply = engine.checked(reply)?;
        let version = Version(reply.number()?);
        let mut prefetched = Prefetched::default();
        let mut requested = requested.into_iter().enumerate();
        let values = StoredValues::of(reply.list()?)?;
        let run_lookup = RunLookup::of(reply.list()?)?;
        values.each(|stored| {
            let (index, key) = requested.next().ok_or_else(unexpected_reply)?;
            let value = match stored {
                Some(stored) => Some(split_stamp(stored)?.1),
                None => run_lookup.find(index, key)?,
            };
            prefetched.insert_value(key, value.map(<[u8]>::to_vec));
            Ok(())
        })?;
        for (range, _) in expected.ranges() {
            let mut range_reply = reply.nested()?;
            let more = match range_reply.number()? {
                1 => More::Perhaps,
                _ => More::Nothing,
            };
            let mut head = Page::default();
            NewestRows::take(&mut range_reply)?.each(Direction::Forward, |key, _, value| {
                if range.contains(key) {
                    head.push(key, value);
                }
                Ok(())
            })?;
            prefetched.insert_head(range, head, more);
        }
        Ok(Self::at(engine, version, prefetched))
    }

    fn at(engine: &Arc<Engine>, version: Version, prefetched: Prefetched) -> Self {
        Self {
            engine: Arc::clone(engine),
            version,
            version_text: version.0.to_string(),
            prefetched,
        }
    }

    /// Reads the values of the first keys: of at least one, and of as many as fit into a page.
    fn read_values(&self, requested: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let engine = &self.engine;
        let names = &engine.names;
        let keys: [&str; 8] = [
            &names.meta,
            &names.runs,
            &names.values,
            &names.rows,
            &names.undo,
            &names.before,
            &names.packed,
            &names.pending,
        ];
        let bytes_max = PAGE_BYTES.to_string();
        let mut arguments: Vec<&[u8]> = vec![self.version_text.as_bytes(), bytes_max.as_bytes()];
        arguments.extend(requested);
        let reply = engine
            .request(|connection| connection.script(&engine.scripts.get, &keys, &arguments))?;
        let mut reply = engine.checked(reply)?;
        let run_lookup = RunLookup::of(reply.list()?)?;
        let values = reply.fields;
        if values.len() == 0 || values.len() > requested.len() {
            return Err(unexpected_reply());
        }
        let indexes = requested.iter().enumerate();
        values
            .zip(indexes)
            .map(|(value, (index, key))| match bytes(value)? {
                Some(stored) => without_stamp(stored).map(Some),
                None => Ok(run_lookup.find(index, key)?.map(<[u8]>::to_vec)),
            })
            .collect()
    }

    fn read_page(&self, range: &KeyRange, direction: Direction, rows: usize) -> Result<Reply> {
        let engine = &self.engine;
        let names = &engine.names;
        let keys: [&str; 9] = [
            &names.meta,
            &names.keys,
            &names.runs,
            &names.values,
            &names.rows,
            &names.undo,
            &names.before,
            &names.packed,
            &names.pending,
        ];
        let direction_flag: &[u8] = match direction {
            Direction::Forward => b"f",
            Direction::Backward => b"b",
        };
        let (least, greatest) = bounds(range);
        let (rows, bytes) = (rows.to_string(), PAGE_BYTES.to_string());
        let arguments: [&[u8]; 6] = [
            self.version_text.as_bytes(),
            direction_flag,
            &least,
            &greatest,
            rows.as_bytes(),
            bytes.as_bytes(),
        ];
        let reply = engine
            .request(|connection| connection.script(&engine.scripts.page, &keys, &arguments))?;
        engine.checked(reply)
    }
}

/// The bounds of a range, in the syntax of `ZRANGEBYLEX`.
fn bounds(range: &KeyRange) -> (Vec<u8>, Vec<u8>) {
    let least = match range.start.as_slice() {
        b"" => b"-".to_vec(),
        start => [b"[", start].concat(),
    };
    let greatest = match &range.end {
        None => b"+".to_vec(),
        Some(end) => [b"(", end.as_slice()].concat(),
    };
    (least, greatest)
}

impl Snapshot for RedisSnapshot {
    fn version(&self) -> Version {
        self.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        if let Some(value) = self.prefetched.get(key) {
            return Ok(value.map(Cow::Borrowed));
        }
        Ok(self.read_values(&[key])?.pop().flatten().map(Cow::Owned))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        partial_cache::get_many(
            keys,
            |key| Some(self.prefetched.get(key)?.map(Cow::Borrowed)),
            |unknown| {
                let mut found = Vec::with_capacity(unknown.len());
                while found.len() < unknown.len() {
                    let rest = &unknown[found.len()..];
                    let some = self.read_values(&rest[..rest.len().min(KEYS_MAX)])?;
                    found.extend(some.into_iter().map(|value| value.map(Cow::Owned)));
                }
                Ok(found)
            },
        )
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(PagedCursor::new(self, range, direction)))
    }
}

impl Source for &RedisSnapshot {
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
        let (mut rest, mut rows) = (range.clone(), limit);
        loop {
            let reply = self.read_page(&rest, direction, rows)?;
            let reached = PageReply::of(reply, &rest, self.version, direction)?.merge_into(page)?;
            let Some(reached) = reached else {
                return Ok(More::Nothing);
            };
            if !page.is_empty() {
                return Ok(More::Perhaps);
            }
            // All rows of the page are newer than the version.
            rest = after(rest, &reached, direction);
            rows = (rows * 2).min(ROWS_MAX);
        }
    }
}
