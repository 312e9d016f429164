//! How batches and writes become the newest state. What is written piece by piece goes to a clone of the
//! map, which replaces the committed one at the end.

use std::borrow::Cow;

use espalier_keyspace::{
    Batch, ByteMap, Error, Existed, Fill, KeyRange, OperationRef, Precondition, Result, Snapshot,
    Version, Writer, counter,
};

use super::engine::{Engine, State, apply};
use super::snapshot::UnfinishedSnapshot;
use crate::recent_commits::{Effect, Recorder};

/// Applies a batch.
pub(super) fn commit(engine: &Engine, batch: &Batch) -> Result<Version> {
    batch.check_limits()?;
    let _writer = engine.writer.lock();
    let test = |state: &State| test(&state.map, batch.preconditions());
    engine.newest.look(test)?;
    let mut recorder = Recorder::new();
    let version = apply(&engine.newest, batch, &mut recorder, None)?;
    if recorder.effect() == Effect::Changed {
        engine.recent.push(version, recorder);
    }
    Ok(version)
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &Engine,
    preconditions: &[Precondition],
    fill: Fill<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    let _writer = engine.writer.lock();
    let state = engine.newest.get();
    test(&state.map, preconditions)?;
    let before = state.version;
    let mut writer = MapWriter::new(state, ());
    fill(&mut writer)?;
    if writer.recorder.effect() == Effect::Nothing {
        return Ok(before);
    }
    let (state, recorder, ()) = writer.finish();
    let version = state.version;
    engine.publish(state, recorder);
    Ok(version)
}

fn test(map: &ByteMap, preconditions: &[Precondition]) -> Result<()> {
    let broken = preconditions
        .iter()
        .find(|condition| map.get(&condition.key) != condition.value.as_deref());
    broken.map_or(Ok(()), |condition| Err(Error::conflict(&condition.key)))
}

/// Is told of everything that a [`MapWriter`] changes, before it does. What it fails with, the
/// operation fails with.
pub(crate) trait Trace {
    /// A key holds a value.
    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }

    /// A key that was there is absent.
    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Every key of a range is absent, and some were there.
    fn delete_range(&mut self, _range: &KeyRange) -> Result<()> {
        Ok(())
    }
}

/// Nobody is told.
impl Trace for () {}

/// A change while it is made, on a clone of the committed map.
pub(crate) struct MapWriter<T> {
    before: Version,
    /// What it has left so far.
    pub(crate) map: ByteMap,
    /// What it has changed so far.
    pub(crate) recorder: Recorder,
    /// Who is told.
    trace: T,
}

impl<T: Trace> MapWriter<T> {
    /// A change of a state.
    pub(crate) fn new(state: State, trace: T) -> Self {
        Self {
            before: state.version,
            map: state.map,
            recorder: Recorder::new(),
            trace,
        }
    }

    /// The next state, what led to it, and who was told.
    pub(crate) fn finish(self) -> (State, Recorder, T) {
        let state = State {
            version: Version(self.before.0 + 1),
            map: self.map,
        };
        (state, self.recorder, self.trace)
    }

    /// Sets `key` to `value`.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.trace.put(key, value)?;
        self.recorder.put(key, value);
        self.map.insert(key, value);
        Ok(())
    }

    /// Removes `key`.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<()> {
        if self.map.contains_key(key) {
            self.trace.delete(key)?;
            self.recorder.delete(key);
            self.map.remove(key);
        }
        Ok(())
    }

    /// Removes every key of `range`.
    pub(crate) fn remove_range(&mut self, range: &KeyRange) -> Result<()> {
        if self.map.has_any(range) {
            self.trace.delete_range(range)?;
            self.recorder.delete_range(range);
            self.map.remove_range(range);
        }
        Ok(())
    }

    /// What the counter at `key` holds with `delta` added.
    pub(crate) fn sum_of(&self, key: &[u8], delta: i64) -> Result<[u8; 8]> {
        counter::add(key, self.map.get(key), delta)
    }
}

impl<T: Trace> Writer for MapWriter<T> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        if self.map.contains_key(key) {
            return Ok(Existed::Yes);
        }
        self.set(key, value)?;
        Ok(Existed::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.map.get(key).map(Cow::Borrowed))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(UnfinishedSnapshot {
            before: self.before,
            map: &self.map,
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.remove(key)
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.remove_range(range)
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        let sum = self.sum_of(key, delta)?;
        self.set(key, &sum)
    }
}
