//! `policy=recent`: the most recently read values, up to a number of bytes.
//!
//! An entry is valid from the version it was read at to the version up to which the engine was followed,
//! and serves snapshots in between only. A snapshot is one of the engine; values that are not cached, and
//! all scans, are read from it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    CacheStatus, Change, Cursor, Direction, Driver, KeyRange, Policy, Prefetch, Result, Snapshot,
    Version,
};
use parking_lot::RwLock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::follower::{Follower, FreshnessCheck};
use super::options::Options;
use super::policy_driver::{PolicyCache, PolicyDriver};
use crate::partial_cache;

/// Approximate overhead of an entry.
const ENTRY_OVERHEAD_BYTES: u64 = 96;

/// Estimated bytes of an entry, to size the cache.
const ENTRY_BYTES: usize = 256;

/// A cached value, or the absence of one.
#[derive(Clone)]
struct Entry {
    /// The version at which it was read.
    read_at: Version,
    value: Option<Arc<[u8]>>,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Arc<[u8]>, Entry> for Bytes {
    fn weight(&self, key: &Arc<[u8]>, entry: &Entry) -> u64 {
        let value = entry.value.as_ref().map_or(0, |value| value.len());
        (key.len() + value) as u64 + ENTRY_OVERHEAD_BYTES
    }
}

struct RecentValues {
    entries: Cache<Arc<[u8]>, Entry, Bytes>,
    /// Every entry is valid up to this version. Read-locked while an entry is inserted, so that no commit
    /// is applied meanwhile.
    followed: RwLock<Version>,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let bytes = options.cache_bytes;
    let cache = RecentValues {
        entries: Cache::with_weighter(bytes / ENTRY_BYTES, bytes as u64, Bytes),
        followed: RwLock::new(engine.snapshot()?.version()),
    };
    let follower = Follower::new(engine, cache, FreshnessCheck::Never);
    Ok(Arc::new(PolicyDriver::start(follower)?))
}

impl RecentValues {
    /// The value of a key at a version; `None` if it is not cached.
    fn get(&self, key: &[u8], at: Version) -> Option<Option<Arc<[u8]>>> {
        // Read before the entry: the entry is then valid at least up to this version.
        let followed = *self.followed.read();
        let entry = self.entries.get(key)?;
        (entry.read_at <= at && at <= followed).then_some(entry.value)
    }

    /// Caches a value read at a version, unless later commits were applied already.
    fn put(&self, key: &[u8], at: Version, value: Option<&[u8]>) {
        let followed = self.followed.read();
        if at >= *followed {
            let value = value.map(Arc::from);
            self.entries
                .insert(key.into(), Entry { read_at: at, value });
        }
    }
}

impl PolicyCache for RecentValues {
    fn version(&self) -> Version {
        *self.followed.read()
    }

    fn apply(&self, version: Version, changes: &[Change]) {
        let mut followed = self.followed.write();
        for change in changes {
            match change {
                Change::Put { key, .. } | Change::Delete { key } => {
                    self.entries.remove(key.as_slice());
                }
                Change::DeleteRange(range) => {
                    self.entries.retain(|key, _| !range.contains(key));
                }
            }
        }
        *followed = version;
    }

    fn reload(&self, _engine: &dyn Driver, least: Version) -> Result<()> {
        let mut followed = self.followed.write();
        self.entries.clear();
        *followed = least;
        Ok(())
    }

    fn snapshot(
        follower: &Arc<Follower<Self>>,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let engine = follower.engine().snapshot_with_prefetch(expect)?;
        if follower.cache().version() < engine.version() {
            follower.try_await_version(engine.version(), Duration::ZERO);
        }
        Ok(Box::new(RecentSnapshot {
            engine,
            follower: Arc::clone(follower),
        }))
    }

    fn cache_status(follower: &Follower<Self>) -> CacheStatus {
        let entries = &follower.cache().entries;
        let overhead = ENTRY_OVERHEAD_BYTES * entries.len() as u64;
        CacheStatus {
            policy: Policy::Recent,
            keys: entries.len() as u64,
            bytes: entries.weight().saturating_sub(overhead),
            ..follower.cache_status()
        }
    }
}

struct RecentSnapshot {
    engine: Box<dyn Snapshot + Send>,
    follower: Arc<Follower<RecentValues>>,
}

impl Snapshot for RecentSnapshot {
    fn version(&self) -> Version {
        self.engine.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let (recent, at) = (self.follower.cache(), self.version());
        if let Some(cached) = recent.get(key, at) {
            return Ok(cached.map(|value| Cow::Owned(value.to_vec())));
        }
        let value = self.engine.get(key)?;
        recent.put(key, at, value.as_deref());
        Ok(value)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let (recent, at) = (self.follower.cache(), self.version());
        let cached = |key: &[u8]| {
            let value = recent.get(key, at)?;
            Some(value.map(|value| Cow::Owned(value.to_vec())))
        };
        partial_cache::get_many(keys, cached, |missing| {
            let values = self.engine.get_many(missing)?;
            for (key, value) in missing.iter().zip(&values) {
                recent.put(key, at, value.as_deref());
            }
            Ok(values)
        })
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.engine.scan(range, direction)
    }
}
