//! How batches and writes are applied: in one LMDB write transaction.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Committed, Error, Existed, Fill, KeyRange, OperationRef, Precondition, Result, Snapshot,
    Version, Writer, counter,
};
use heed::{MdbError, PutFlags, RwTxn};

use super::engine::{Engine, Keys, commit_error, engine_error, is_map_full};
use super::snapshot::{UnfinishedSnapshot, bounds};
use crate::group::{self, Changing, Filling, Grouped, Recovery, Stop};
use crate::recent::{Effect, Recorder};

/// Address space that a write has at least, as it cannot be tried again: 16 GiB.
const WRITE_HEADROOM_BYTES: usize = 16 << 30;

/// Applies a batch, together with those that other threads commit at the same time.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    group::commit(engine, &engine.queue, batch)
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
            group::test(writer, preconditions)?;
            fill(writer).map_err(Stop::Refused)
        });
        filled.map_err(|stop| group::error_of(engine, stop))
    })
}

impl Grouped for Arc<Engine> {
    type Failure = heed::Error;

    fn change(
        &self,
        fill: Filling<'_, heed::Error>,
    ) -> std::result::Result<Version, Stop<heed::Error>> {
        change(self, |writer| fill(writer))
    }

    fn recovery(&self, failure: heed::Error, batches: usize) -> Recovery {
        if is_map_full(&failure) {
            return match self.grow_map() {
                Ok(()) => Recovery::Again,
                Err(error) => Recovery::GiveUp(error),
            };
        }
        match batches {
            0 | 1 => Recovery::GiveUp(self.failed(failure)),
            _ => Recovery::Alone,
        }
    }

    fn failed(&self, failure: heed::Error) -> Error {
        commit_error(&self.dir, failure)
    }

    fn unknown(&self, failure: heed::Error) -> Error {
        self.failed(failure)
    }
}

/// Runs `fill` in a write transaction, commits it, and tells the watchers.
fn change(
    engine: &Arc<Engine>,
    fill: impl FnOnce(&mut EmbeddedWriter<'_>) -> std::result::Result<(), Stop<heed::Error>>,
) -> std::result::Result<Version, Stop<heed::Error>> {
    let (txn, _pass) = engine.begin_write().map_err(Stop::NotBegun)?;
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
}

impl Changing for EmbeddedWriter<'_> {
    type Failure = heed::Error;

    fn held(&self, key: &[u8]) -> heed::Result<Option<Cow<'_, [u8]>>> {
        Ok(self.keys.get(&self.txn, key)?.map(Cow::Borrowed))
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

    fn sum(&mut self, key: &[u8], delta: i64) -> std::result::Result<(), Stop<heed::Error>> {
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
            Stop::Refused(error) | Stop::NotBegun(error) => error,
            Stop::Failed(error) | Stop::Unknown(error) => self.error(error),
        })
    }
}
