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
    fill: impl FnOnce(&mut TreeWriter<()>) -> Result<()>,
) -> Result<Version> {
    let _writer = engine.writer.lock();
    let state = engine.state.load_full();
    test(&state.tree, preconditions)?;
    let mut writer = TreeWriter::new(&state, ());
    fill(&mut writer)?;
    if writer.recorder.effect() == Effect::Nothing {
        return Ok(state.version);
    }
    let version = Version(state.version.0 + 1);
    engine.publish(version, writer.tree, writer.recorder);
    Ok(version)
}

fn test(tree: &Tree, preconditions: &[Precondition]) -> Result<()> {
    let broken = preconditions.iter().find(|condition| {
        tree.get(condition.key.as_slice()).map(AsRef::as_ref) != condition.value.as_deref()
    });
    broken.map_or(Ok(()), |condition| Err(Error::conflict(&condition.key)))
}

/// Is told of everything that a [`TreeWriter`] changes, before it does. What it fails with, the
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

/// A change while it is made, on a clone of the committed tree.
pub(crate) struct TreeWriter<T> {
    before: Version,
    /// What it has left so far.
    pub(crate) tree: Tree,
    /// What it has changed so far.
    pub(crate) recorder: Recorder,
    /// Who is told.
    pub(crate) trace: T,
}

impl<T: Trace> TreeWriter<T> {
    /// A change of a state.
    pub(crate) fn new(state: &State, trace: T) -> Self {
        Self {
            before: state.version,
            tree: state.tree.clone(),
            recorder: Recorder::new(),
            trace,
        }
    }

    fn apply(&mut self, operation: OperationRef<'_>) -> Result<()> {
        match operation {
            OperationRef::Put(key, value) => self.set(key, value),
            OperationRef::Delete(key) => self.remove(key),
            OperationRef::DeleteRange(range) => self.remove_range(range),
            OperationRef::Add(key, delta) => {
                let sum = self.sum_of(key, delta)?;
                self.set(key, &sum)
            }
        }
    }

    /// Sets `key` to `value`.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.trace.put(key, value)?;
        self.recorder.put(key, value);
        self.tree.insert(key.into(), value.into());
        Ok(())
    }

    /// Removes `key`.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<()> {
        if self.tree.contains_key(key) {
            self.trace.delete(key)?;
            self.recorder.delete(key);
            self.tree.remove(key);
        }
        Ok(())
    }

    /// Removes every key of `range`.
    pub(crate) fn remove_range(&mut self, range: &KeyRange) -> Result<()> {
        if !has_any(&self.tree, range) {
            return Ok(());
        }
        self.trace.delete_range(range)?;
        self.recorder.delete_range(range);
        remove_all(&mut self.tree, range);
        Ok(())
    }

    /// What the counter at `key` holds with `delta` added.
    pub(crate) fn sum_of(&self, key: &[u8], delta: i64) -> Result<[u8; 8]> {
        counter::add(key, self.tree.get(key).map(AsRef::as_ref), delta)
    }
}

fn has_any(tree: &Tree, range: &KeyRange) -> bool {
    !range.is_empty() && tree.range::<_, [u8]>(bounds(range)).next().is_some()
}

/// Removes every key of a range.
pub(crate) fn remove_all(tree: &mut Tree, range: &KeyRange) {
    if range.is_empty() {
        return;
    }
    let keys = tree.range::<_, [u8]>(bounds(range));
    let keys: Vec<_> = keys.map(|(key, _)| Arc::clone(key)).collect();
    if keys.len() > tree.len() / 2 {
        *tree = outside(tree, range);
        return;
    }
    for key in keys {
        tree.remove(&key);
    }
}

/// A tree of what lies outside of a range: faster than removing most of a tree key by key.
fn outside(tree: &Tree, range: &KeyRange) -> Tree {
    let start = Bound::Excluded(range.start.as_slice());
    let before = tree.range::<_, [u8]>((Bound::Unbounded, start));
    let after = range.end.as_deref().map(|end| {
        let rest = (Bound::Included(end), Bound::Unbounded);
        tree.range::<_, [u8]>(rest)
    });
    let outside = before.chain(after.into_iter().flatten());
    outside
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

impl<T: Trace> Writer for TreeWriter<T> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        if self.tree.contains_key(key) {
            return Ok(Existed::Yes);
        }
        self.set(key, value)?;
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
