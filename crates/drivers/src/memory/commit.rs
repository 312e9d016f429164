//! How batches and writes are applied in memory: to a clone of the tree, which replaces the
//! committed one at the end.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Error, Existed, Fill, KeyRange, OperationRef, Precondition, Result, Snapshot, Version,
    Writer, counter,
};

use super::engine::{Engine, State, Tree, bounds};
use super::snapshot::UnfinishedSnapshot;
use crate::recent::{Effect, Recorder};

/// Applies a batch.
pub(super) fn commit(engine: &Engine, batch: &Batch) -> Result<Version> {
    batch.check_limits()?;
    change(engine, batch.preconditions(), |writer| {
        batch
            .operations()
            .try_for_each(|operation| writer.apply(operation))
    })
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
    change(engine, preconditions, |writer| fill(writer))
}

fn change(
    engine: &Engine,
    preconditions: &[Precondition],
    fill: impl FnOnce(&mut MemoryWriter) -> Result<()>,
) -> Result<Version> {
    let _writer = engine.writer.lock();
    let state = engine.state.load_full();
    test(&state.tree, preconditions)?;
    let mut writer = MemoryWriter {
        before: state.version,
        tree: state.tree.clone(),
        recorder: Recorder::new(),
    };
    fill(&mut writer)?;
    if writer.recorder.effect() == Effect::Nothing {
        return Ok(state.version);
    }
    let version = Version(state.version.0 + 1);
    engine.state.store(Arc::new(State {
        version,
        tree: writer.tree,
    }));
    engine.recent.push(version, writer.recorder);
    Ok(version)
}

fn test(tree: &Tree, preconditions: &[Precondition]) -> Result<()> {
    let broken = preconditions.iter().find(|condition| {
        tree.get(condition.key.as_slice()).map(AsRef::as_ref) != condition.value.as_deref()
    });
    broken.map_or(Ok(()), |condition| Err(Error::conflict(&condition.key)))
}

struct MemoryWriter {
    before: Version,
    tree: Tree,
    recorder: Recorder,
}

impl MemoryWriter {
    fn apply(&mut self, operation: OperationRef<'_>) -> Result<()> {
        match operation {
            OperationRef::Put(key, value) => self.set(key, value),
            OperationRef::Delete(key) => self.remove(key),
            OperationRef::DeleteRange(range) => self.remove_range(range),
            OperationRef::Add(key, delta) => return self.sum(key, delta),
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.recorder.put(key, value);
        self.tree.insert(key.into(), value.into());
    }

    fn remove(&mut self, key: &[u8]) {
        if self.tree.remove(key).is_some() {
            self.recorder.delete(key);
        }
    }

    fn remove_range(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let keys = self
            .tree
            .range::<_, [u8]>(bounds(range))
            .map(|(key, _)| key.clone());
        let keys: Vec<_> = keys.collect();
        if keys.is_empty() {
            return;
        }
        self.recorder.delete_range(range);
        if keys.len() > self.tree.len() / 2 {
            self.tree = self.outside(range);
            return;
        }
        for key in keys {
            self.tree.remove(&key);
        }
    }

    /// A tree of what lies outside of a range: faster than removing most of a tree key by key.
    fn outside(&self, range: &KeyRange) -> Tree {
        let start = Bound::Excluded(range.start.as_slice());
        let before = self.tree.range::<_, [u8]>((Bound::Unbounded, start));
        let after = range.end.as_deref().map(|end| {
            let rest = (Bound::Included(end), Bound::Unbounded);
            self.tree.range::<_, [u8]>(rest)
        });
        let outside = before.chain(after.into_iter().flatten());
        outside
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    fn sum(&mut self, key: &[u8], delta: i64) -> Result<()> {
        let sum = counter::add(key, self.tree.get(key).map(AsRef::as_ref), delta)?;
        self.set(key, &sum);
        Ok(())
    }
}

impl Writer for MemoryWriter {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value);
        Ok(())
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        if self.tree.contains_key(key) {
            return Ok(Existed::Yes);
        }
        self.set(key, value);
        Ok(Existed::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let value = self.tree.get(key);
        Ok(value.map(|value| Cow::Borrowed(value.as_ref())))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(UnfinishedSnapshot {
            before: self.before,
            tree: &self.tree,
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.remove(key);
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.remove_range(range);
        Ok(())
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.sum(key, delta)
    }
}
