//! How batches and writes are applied: in one LMDB write transaction.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Error, Existed, Fill, KeyRange, OperationRef, Precondition, Result, Snapshot, Version,
    Writer, counter,
};
use heed::{MdbError, PutFlags, RwTxn};

use super::engine::{Engine, Keys, commit_error, engine_error, is_map_full};
use super::snapshot::{UnfinishedSnapshot, bounds};
use crate::recent::{Effect, Recorder};

/// Address space that a write has at least, as it cannot be tried again: 16 GiB.
const WRITE_HEADROOM_BYTES: usize = 16 << 30;

/// Applies a batch, together with those that other threads commit at the same time.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Version> {
    batch.check_limits()?;
    engine
        .queue
        .commit(batch, &|batches| apply(engine, batches))
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: Fill<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    engine.queue.lead(|| {
        // A map that is too small is met at the latest when the write is in the middle of it.
        let reserved = engine.reserve(WRITE_HEADROOM_BYTES);
        tracing::trace!(?reserved, "address space for a write");
        let filled = change(engine, |writer| {
            test(writer, preconditions)?;
            fill(writer).map_err(Stop::Refused)
        });
        filled.map_err(|stop| stop.into_error(engine))
    })
}

/// Applies batches in one transaction; one result for each.
fn apply(engine: &Arc<Engine>, batches: &[Batch]) -> Vec<Result<Version>> {
    let mut refused: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    loop {
        match attempt(engine, batches, &mut refused) {
            Ok(results) => return results,
            Err((at, Stop::Refused(error))) => refused[at] = Some(error),
            Err((_, stop)) if stop.is_map_full() => {
                if let Err(error) = engine.grow_map() {
                    return fail_all(batches, error);
                }
            }
            // The engine failed. It may be for the size of one of them: each for itself.
            Err(_) if batches.len() > 1 => {
                let alone = |batch| apply(engine, std::slice::from_ref(batch));
                return batches.iter().flat_map(alone).collect();
            }
            Err((_, stop)) => return fail_all(batches, stop.into_error(engine)),
        }
    }
}

fn fail_all(batches: &[Batch], error: Error) -> Vec<Result<Version>> {
    let kind = error.kind();
    let message = error.to_string();
    let mut results: Vec<_> = batches[1..]
        .iter()
        .map(|_| Err(Error::new(kind, message.clone())))
        .collect();
    results.insert(0, Err(error));
    results
}

/// Applies every batch that is not refused yet. Fails with the index of a batch that has to be
/// refused alone, or with the failure of the engine.
fn attempt(
    engine: &Arc<Engine>,
    batches: &[Batch],
    refused: &mut [Option<Error>],
) -> std::result::Result<Vec<Result<Version>>, (usize, Stop)> {
    let mut conflicts: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    let mut current = 0;
    let changed = change(engine, |writer| {
        for (at, batch) in batches.iter().enumerate() {
            current = at;
            if refused[at].is_some() {
                continue;
            }
            match test(writer, batch.preconditions()) {
                Ok(()) => apply_operations(writer, batch)?,
                Err(Stop::Refused(conflict)) => conflicts[at] = Some(conflict),
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    });
    let version = changed.map_err(|stop| (current, stop))?;
    let outcomes = refused.iter_mut().zip(conflicts);
    let result = |(refused, conflict): (&mut Option<Error>, Option<Error>)| {
        refused.take().or(conflict).map_or(Ok(version), Err)
    };
    Ok(outcomes.map(result).collect())
}

/// Why a change was not made.
enum Stop {
    /// For what it is.
    Refused(Error),
    /// Because the engine failed.
    Failed(heed::Error),
}

impl Stop {
    fn is_map_full(&self) -> bool {
        matches!(self, Self::Failed(error) if is_map_full(error))
    }

    fn into_error(self, engine: &Engine) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Failed(error) => commit_error(&engine.dir, error),
        }
    }
}

impl From<heed::Error> for Stop {
    fn from(error: heed::Error) -> Self {
        Self::Failed(error)
    }
}

/// Runs `fill` in a write transaction, commits it, and tells the watchers.
fn change(
    engine: &Arc<Engine>,
    fill: impl FnOnce(&mut EmbeddedWriter<'_>) -> std::result::Result<(), Stop>,
) -> std::result::Result<Version, Stop> {
    let (txn, _pass) = engine.begin_write().map_err(Stop::Refused)?;
    let version = Version(txn.id() as u64);
    let before = Version(version.0 - 1);
    engine.recent.push_foreign(before);
    let mut writer = EmbeddedWriter {
        txn,
        keys: engine.keys,
        dir: &engine.dir,
        recorder: Recorder::new(),
    };
    fill(&mut writer)?;
    let EmbeddedWriter { txn, recorder, .. } = writer;
    if recorder.effect() == Effect::Nothing {
        txn.abort();
        return Ok(before);
    }
    let _publishing = engine.publishing.lock();
    txn.commit()?;
    engine.recent.push(version, recorder);
    Ok(version)
}

fn test(
    writer: &EmbeddedWriter<'_>,
    preconditions: &[Precondition],
) -> std::result::Result<(), Stop> {
    for condition in preconditions {
        let held = writer.keys.get(&writer.txn, &condition.key)?;
        if held != condition.value.as_deref() {
            return Err(Stop::Refused(Error::conflict(&condition.key)));
        }
    }
    Ok(())
}

fn apply_operations(
    writer: &mut EmbeddedWriter<'_>,
    batch: &Batch,
) -> std::result::Result<(), Stop> {
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => writer.set(key, value)?,
            OperationRef::Delete(key) => writer.remove(key)?,
            OperationRef::DeleteRange(range) => writer.remove_range(range)?,
            OperationRef::Add(key, delta) => writer.sum(key, delta)?,
        }
    }
    Ok(())
}

struct EmbeddedWriter<'e> {
    txn: RwTxn<'e>,
    keys: Keys,
    dir: &'e Path,
    recorder: Recorder,
}

impl EmbeddedWriter<'_> {
    /// The error of an operation: any may write, when there are more changed pages than are kept.
    fn error(&self, error: heed::Error) -> Error {
        commit_error(self.dir, error)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> heed::Result<()> {
        self.keys.put(&mut self.txn, key, value)?;
        self.recorder.put(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> heed::Result<()> {
        if self.keys.delete(&mut self.txn, key)? {
            self.recorder.delete(key);
        }
        Ok(())
    }

    fn remove_range(&mut self, range: &KeyRange) -> heed::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let removed = if *range == KeyRange::all() {
            let all = self.keys.len(&self.txn)?;
            self.keys.clear(&mut self.txn)?;
            all as usize
        } else {
            self.keys.delete_range(&mut self.txn, &bounds(range))?
        };
        if removed > 0 {
            self.recorder.delete_range(range);
        }
        Ok(())
    }

    fn sum(&mut self, key: &[u8], delta: i64) -> std::result::Result<(), Stop> {
        let stored = self.keys.get(&self.txn, key)?;
        let sum = counter::add(key, stored, delta).map_err(Stop::Refused)?;
        Ok(self.set(key, &sum)?)
    }
}

impl Writer for EmbeddedWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value).map_err(|error| self.error(error))
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        let flags = PutFlags::NO_OVERWRITE;
        match self.keys.put_with_flags(&mut self.txn, flags, key, value) {
            Ok(()) => {
                self.recorder.put(key, value);
                Ok(Existed::No)
            }
            Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(Existed::Yes),
            Err(error) => Err(self.error(error)),
        }
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if key.is_empty() {
            return Ok(None);
        }
        let value = self.keys.get(&self.txn, key).map_err(engine_error)?;
        Ok(value.map(Cow::Borrowed))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(UnfinishedSnapshot {
            txn: &self.txn,
            keys: &self.keys,
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.remove(key).map_err(|error| self.error(error))
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.remove_range(range).map_err(|error| self.error(error))
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.sum(key, delta).map_err(|stop| match stop {
            Stop::Refused(error) => error,
            Stop::Failed(error) => self.error(error),
        })
    }
}
