//! `policy=indexed`: every key in memory, and every value up to a size. The size decides, as the key space
//! does not know the meaning of keys: an index has short values, a document long ones.
//!
//! A snapshot includes one of the engine, of the same version, for long values. If the view does not have
//! that version, the engine's snapshot is used alone.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    ByteMapCursor, CacheStatus, Change, Cursor, Direction, Driver, Error, ErrorKind, KeyRange,
    Policy, Prefetch, Result, Snapshot, Version,
};

use super::follower::{Follower, FreshnessCheck};
use super::memory_map::{ValueRetention, View};
use super::options::Options;
use super::policy_driver::{PolicyCache, PolicyDriver};
use crate::memory::VersionedMap;
use crate::partial_cache;

/// Older states that are kept for readers whose engine snapshot is a little older than the view.
const PAST_STATES_MAX: usize = 64;

/// How long a reader waits for the view to reach its engine snapshot, before it reads without the view.
const VIEW_WAIT: Duration = Duration::from_millis(5);

/// Keeps values up to a size, and nothing of longer ones.
struct ShortValues {
    bytes_max: usize,
}

impl ValueRetention for ShortValues {
    fn retained<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        match value.len() <= self.bytes_max {
            true => Cow::Owned([&[SHORT], value].concat()),
            false => Cow::Borrowed(&[]),
        }
    }
}

/// Prefix of a value that is kept; a longer value is stored as empty bytes.
const SHORT: u8 = 1;

/// The value, if it is kept.
fn short_value(stored: &[u8]) -> Option<&[u8]> {
    stored.split_first().map(|(_, value)| value)
}

struct Indexed {
    view: View<ShortValues>,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let short = ShortValues {
        bytes_max: options.value_bytes,
    };
    let cache = Indexed {
        view: View::load(&*engine, short, PAST_STATES_MAX)?,
    };
    let follower = Follower::new(engine, cache, FreshnessCheck::Never);
    Ok(Arc::new(PolicyDriver::start(follower)?))
}

impl PolicyCache for Indexed {
    fn version(&self) -> Version {
        self.view.version()
    }

    fn apply(&self, version: Version, changes: &[Change]) {
        self.view.apply(version, changes);
    }

    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        self.view.reload(engine, least)
    }

    fn snapshot(
        follower: &Arc<Follower<Self>>,
        _expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let engine = follower.engine().snapshot()?;
        let version = engine.version();
        if follower.cache().version() < version {
            follower.try_await_version(version, VIEW_WAIT);
        }
        Ok(match follower.cache().view.at(version) {
            Some(state) => Box::new(IndexedSnapshot { state, engine }),
            None => engine,
        })
    }

    fn cache_status(follower: &Follower<Self>) -> CacheStatus {
        let map = follower.cache().view.newest().map;
        CacheStatus {
            policy: Policy::Indexed,
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
            ..follower.cache_status()
        }
    }
}

/// A state in memory, and the same state of the engine.
struct IndexedSnapshot {
    state: VersionedMap,
    engine: Box<dyn Snapshot + Send>,
}

impl Snapshot for IndexedSnapshot {
    fn version(&self) -> Version {
        self.state.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.state.map.get(key).map(short_value) {
            None => Ok(None),
            Some(Some(value)) => Ok(Some(Cow::Borrowed(value))),
            Some(None) => long_value(&*self.engine, key).map(Some),
        }
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let cached = |key: &[u8]| match self.state.map.get(key).map(short_value) {
            None => Some(None),
            Some(Some(value)) => Some(Some(Cow::Borrowed(value))),
            Some(None) => None,
        };
        partial_cache::get_many(keys, cached, |long| {
            let values = self.engine.get_many(long)?;
            match long.iter().zip(&values).find(|(_, value)| value.is_none()) {
                Some((key, _)) => Err(missing_error(key)),
                None => Ok(values),
            }
        })
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(IndexedCursor {
            pairs: self.state.map.scan(range, direction),
            engine: &*self.engine,
            fetched: Cow::Borrowed(&[]),
        }))
    }
}

/// Reads a value that is not in memory from the engine.
fn long_value<'a>(engine: &'a dyn Snapshot, key: &[u8]) -> Result<Cow<'a, [u8]>> {
    engine.get(key)?.ok_or_else(|| missing_error(key))
}

fn missing_error(key: &[u8]) -> Error {
    let message = "the engine has no value for a key that it reported";
    Error::new(ErrorKind::Corrupt, message).with_key(key)
}

struct IndexedCursor<'a> {
    pairs: ByteMapCursor<'a>,
    engine: &'a dyn Snapshot,
    /// The value that was read last.
    fetched: Cow<'a, [u8]>,
}

impl Cursor for IndexedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some((key, value)) = Iterator::next(&mut self.pairs) else {
            return Ok(None);
        };
        if let Some(value) = short_value(value) {
            return Ok(Some((key, value)));
        }
        self.fetched = long_value(self.engine, key)?;
        Ok(Some((key, &self.fetched)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.pairs.seek(key);
        Ok(())
    }
}
