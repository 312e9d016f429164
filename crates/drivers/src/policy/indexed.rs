//! `policy=indexed`: every key is in memory, and every value up to a size. The key space knows no
//! meaning of keys, so the size decides what is kept: an index has short values, a document long ones.
//!
//! A snapshot holds one of the engine, of the same version, for the long values. Where the view is
//! not at that version, the engine's snapshot alone serves.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Change, Cursor, Direction, Driver, Error, ErrorKind, KeyRange, Pairs, Policy, Residence,
    Result, Snapshot, Version,
};

use super::follow::{Following, Heart};
use super::keeper::{Keeper, Kept};
use super::options::Options;
use super::view::{Hold, View};
use crate::memory::State;
use crate::partial_cache;

/// States that are kept beside the newest, for readers whose snapshot of the engine is a little
/// older than the view.
const PAST_MAX: usize = 64;

/// How long a reader waits for the view to reach its snapshot of the engine, before it does
/// without the view.
const WAIT: Duration = Duration::from_millis(5);

/// Values up to so many bytes; of longer ones, nothing.
struct Short {
    bytes_max: usize,
}

impl Hold for Short {
    fn hold<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        match value.len() <= self.bytes_max {
            true => Cow::Owned([&[SHORT], value].concat()),
            false => Cow::Borrowed(&[]),
        }
    }
}

/// Before a value that is kept; of others nothing is kept.
const SHORT: u8 = 1;

/// The value that is kept, where it is.
fn short(held: &[u8]) -> Option<&[u8]> {
    held.split_first().map(|(_, value)| value)
}

struct Indexed {
    view: View<Short>,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let short = Short {
        bytes_max: options.value_bytes,
    };
    let keeper = Indexed {
        view: View::load(&*engine, short, PAST_MAX)?,
    };
    let following = Following::new(engine, keeper, Heart::Still);
    Ok(Arc::new(Kept::follow(following)?))
}

impl Keeper for Indexed {
    fn version(&self) -> Version {
        self.view.version()
    }

    fn apply(&self, version: Version, changes: &[Change]) {
        self.view.apply(version, changes);
    }

    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        self.view.reload(engine, least)
    }

    fn snapshot(following: &Arc<Following<Self>>) -> Result<Box<dyn Snapshot + Send>> {
        let engine = following.engine().snapshot()?;
        let version = engine.version();
        if following.keeper().version() < version {
            following.try_reach(version, WAIT);
        }
        Ok(match following.keeper().view.at(version) {
            Some(state) => Box::new(IndexedSnapshot { state, engine }),
            None => engine,
        })
    }

    fn residence(following: &Following<Self>) -> Residence {
        let map = following.keeper().view.newest().map;
        Residence {
            policy: Policy::Indexed,
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
            ..following.residence()
        }
    }
}

/// A state in memory, and the same state of the engine.
struct IndexedSnapshot {
    state: State,
    engine: Box<dyn Snapshot + Send>,
}

impl Snapshot for IndexedSnapshot {
    fn version(&self) -> Version {
        self.state.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.state.map.get(key).map(short) {
            None => Ok(None),
            Some(Some(value)) => Ok(Some(Cow::Borrowed(value))),
            Some(None) => long_value(&*self.engine, key).map(Some),
        }
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let known = |key: &[u8]| match self.state.map.get(key).map(short) {
            None => Some(None),
            Some(Some(value)) => Some(Some(Cow::Borrowed(value))),
            Some(None) => None,
        };
        partial_cache::get_many(keys, known, |long| {
            let values = self.engine.get_many(long)?;
            match long.iter().zip(&values).find(|(_, value)| value.is_none()) {
                Some((key, _)) => Err(lost(key)),
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

/// A value that is not in memory, of a key that is.
fn long_value<'a>(engine: &'a dyn Snapshot, key: &[u8]) -> Result<Cow<'a, [u8]>> {
    engine.get(key)?.ok_or_else(|| lost(key))
}

fn lost(key: &[u8]) -> Error {
    let message = "the engine does not have a key that it told of";
    Error::new(ErrorKind::Corrupt, message).with_key(key)
}

struct IndexedCursor<'a> {
    pairs: Pairs<'a>,
    engine: &'a dyn Snapshot,
    /// The value that was fetched last.
    fetched: Cow<'a, [u8]>,
}

impl Cursor for IndexedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some((key, value)) = Iterator::next(&mut self.pairs) else {
            return Ok(None);
        };
        if let Some(value) = short(value) {
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
