//! `policy=recent`: the values that were read last, within a number of bytes.
//!
//! A value was read at some version, and was not changed by any commit that was followed since. So
//! it serves every snapshot between the two, and no other. A snapshot is one of the engine; what is
//! not in memory, and every scan, is read from there.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Change, Cursor, Direction, Driver, Expect, KeyRange, Policy, Residence, Result, Snapshot,
    Version,
};
use parking_lot::RwLock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::follow::{Following, Heart};
use super::keeper::{Keeper, Kept};
use super::options::Options;
use crate::partial_cache;

/// What an entry takes beside its key and value, about.
const ENTRY_OVERHEAD_BYTES: u64 = 96;

/// Bytes of an entry as they are expected, to size the cache.
const ENTRY_BYTES: usize = 256;

/// A value that was read, or that there was none.
#[derive(Clone)]
struct Entry {
    /// The version it was read at.
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

struct Recent {
    entries: Cache<Arc<[u8]>, Entry, Bytes>,
    /// Every entry holds up to this version. Held for reading by who puts one in, so that no
    /// commit passes meanwhile.
    followed: RwLock<Version>,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let bytes = options.cache_bytes;
    let keeper = Recent {
        entries: Cache::with_weighter(bytes / ENTRY_BYTES, bytes as u64, Bytes),
        followed: RwLock::new(engine.snapshot()?.version()),
    };
    let following = Following::new(engine, keeper, Heart::Still);
    Ok(Arc::new(Kept::follow(following)?))
}

impl Recent {
    /// What a key holds at a version; `None` where that is not known here.
    fn get(&self, key: &[u8], at: Version) -> Option<Option<Arc<[u8]>>> {
        // Read first: an entry that is there afterwards holds at least up to here.
        let followed = *self.followed.read();
        let entry = self.entries.get(key)?;
        (entry.read_at <= at && at <= followed).then_some(entry.value)
    }

    /// Keeps what was read at a version, unless later commits have passed already.
    fn put(&self, key: &[u8], at: Version, value: Option<&[u8]>) {
        let followed = self.followed.read();
        if at >= *followed {
            let value = value.map(Arc::from);
            self.entries
                .insert(key.into(), Entry { read_at: at, value });
        }
    }
}

impl Keeper for Recent {
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

    fn snapshot(following: &Arc<Following<Self>>) -> Result<Box<dyn Snapshot + Send>> {
        Self::snapshot_expecting(following, &|_| {})
    }

    fn snapshot_expecting(
        following: &Arc<Following<Self>>,
        expect: Expect<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let engine = following.engine().snapshot_expecting(expect)?;
        if following.keeper().version() < engine.version() {
            following.try_reach(engine.version(), Duration::ZERO);
        }
        Ok(Box::new(RecentSnapshot {
            engine,
            following: Arc::clone(following),
        }))
    }

    fn residence(following: &Following<Self>) -> Residence {
        let entries = &following.keeper().entries;
        let overhead = ENTRY_OVERHEAD_BYTES * entries.len() as u64;
        Residence {
            policy: Policy::Recent,
            keys: entries.len() as u64,
            bytes: entries.weight().saturating_sub(overhead),
            ..following.residence()
        }
    }
}

struct RecentSnapshot {
    engine: Box<dyn Snapshot + Send>,
    following: Arc<Following<Recent>>,
}

impl Snapshot for RecentSnapshot {
    fn version(&self) -> Version {
        self.engine.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let (recent, at) = (self.following.keeper(), self.version());
        if let Some(known) = recent.get(key, at) {
            return Ok(known.map(|value| Cow::Owned(value.to_vec())));
        }
        let value = self.engine.get(key)?;
        recent.put(key, at, value.as_deref());
        Ok(value)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let (recent, at) = (self.following.keeper(), self.version());
        let known = |key: &[u8]| {
            let known = recent.get(key, at)?;
            Some(known.map(|value| Cow::Owned(value.to_vec())))
        };
        partial_cache::get_many(keys, known, |unknown| {
            let values = self.engine.get_many(unknown)?;
            for (key, value) in unknown.iter().zip(&values) {
                recent.put(key, at, value.as_deref());
            }
            Ok(values)
        })
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.engine.scan(range, direction)
    }
}
