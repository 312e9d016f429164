//! Applies batches and writes to the newest state. A streamed write changes a clone of the map, which
//! replaces the committed one at the end.

use std::borrow::Cow;

use espalier_keyspace::{
    Batch, ByteMap, Error, KeyRange, Precondition, Result, Snapshot, Version, WriteBody,
};

use super::engine::{Engine, VersionedMap, apply};
use super::snapshot::WriterSnapshot;
use crate::group_commit::WriteTransaction;
use crate::recent_commits::{Effect, Recorder};
use crate::streamed_write::{StreamedWrite, TransactionWriter};

/// Applies a batch.
pub(super) fn commit(engine: &Engine, batch: &Batch) -> Result<Version> {
    batch.check_limits()?;
    let _writer = engine.writer.lock();
    let test = |state: &VersionedMap| test(&state.map, batch.preconditions());
    engine.newest.read_with(test)?;
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
    fill: WriteBody<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    let _writer = engine.writer.lock();
    let state = engine.newest.get();
    test(&state.map, preconditions)?;
    let before = state.version;
    let mut writer = MapWriter::new(state, ());
    fill(&mut TransactionWriter(&mut writer))?;
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

/// Called before each change of a [`MapWriter`]. If it fails, the operation fails.
pub(crate) trait WriteHook {
    /// A key is set to a value.
    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }

    /// A present key is removed.
    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    /// A range with at least one key is removed.
    fn delete_range(&mut self, _range: &KeyRange) -> Result<()> {
        Ok(())
    }
}

/// Does nothing.
impl WriteHook for () {}

/// A write in progress, on a clone of the committed map.
pub(crate) struct MapWriter<T> {
    base_version: Version,
    /// The map including the changes so far.
    pub(crate) map: ByteMap,
    /// The changes so far.
    pub(crate) recorder: Recorder,
    /// Called before each change.
    hook: T,
}

impl<T: WriteHook> MapWriter<T> {
    /// Starts a write on a state.
    pub(crate) fn new(state: VersionedMap, hook: T) -> Self {
        Self {
            base_version: state.version,
            map: state.map,
            recorder: Recorder::new(),
            hook,
        }
    }

    /// Returns the next state, its changes, and the hook.
    pub(crate) fn finish(self) -> (VersionedMap, Recorder, T) {
        let state = VersionedMap {
            version: Version(self.base_version.0 + 1),
            map: self.map,
        };
        (state, self.recorder, self.hook)
    }
}

impl<T: WriteHook> WriteTransaction for MapWriter<T> {
    type Failure = Error;

    fn value_of(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.map.get(key).map(Cow::Borrowed))
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.hook.put(key, value)?;
        self.recorder.put(key, value);
        self.map.insert(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        if self.map.contains_key(key) {
            self.hook.delete(key)?;
            self.recorder.delete(key);
            self.map.remove(key);
        }
        Ok(())
    }

    fn remove_range(&mut self, range: &KeyRange) -> Result<()> {
        if self.map.has_any(range) {
            self.hook.delete_range(range)?;
            self.recorder.delete_range(range);
            self.map.remove_range(range);
        }
        Ok(())
    }
}

impl<T: WriteHook> StreamedWrite for MapWriter<T> {
    fn view(&self) -> Box<dyn Snapshot + '_> {
        Box::new(WriterSnapshot {
            base_version: self.base_version,
            map: &self.map,
        })
    }

    fn read_error(&self, error: Error) -> Error {
        error
    }

    fn write_error(&mut self, error: Error) -> Error {
        error
    }
}
