//! Applies batches and writes: small changes go to the journal, large ones to LMDB.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Committed, Direction, Error, ErrorKind, KeyExisted, KeyRange, Precondition, Result,
    Snapshot, Version, WriteBody,
};
use heed::{MdbError, PutFlags, RwTxn};

use super::HEADROOM_BYTES;
use super::engine::{
    ChangedRows, CommitLock, Engine, FRAME_BYTES_MAX, Fault, Lmdb, Reading, Shortage, is_map_full,
    merge_rows, remove_range,
};
use super::snapshot::{ReadSource, TransactionSnapshot};
use crate::group_commit::{self, Abort, GroupCommit, Recovery, TransactionBody, WriteTransaction};
use crate::recent_commits::{Effect, Recorder};
use crate::streamed_write::{self, StreamedWrite};

/// Maximum number of keys in a range that is removed in the journal. More are removed from LMDB at once, which fails if
/// the disk is full.
const RANGE_KEYS_MAX: usize = 1024;

/// Applies a batch, grouped with concurrent commits of other threads.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    group_commit::commit(engine, &engine.queue, batch)
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    engine.queue.lead(|| {
        let filled = engine.journal.commit_lock().and_then(|commit_lock| {
            // Merge first, as the map may have to grow for it.
            engine.journal.merge_ended()?;
            // If the map cannot be grown now, the write may fail later, in the middle.
            Ok((commit_lock, engine.base.reserve(HEADROOM_BYTES)))
        });
        let filled = filled
            .map_err(Abort::NotBegun)
            .and_then(|(commit_lock, shortage)| {
                commit_to_lmdb(engine, &commit_lock, shortage, |writer| {
                    streamed_write::run(writer, preconditions, fill)
                })
            });
        filled.map_err(|abort| group_commit::error_of(engine, abort))
    })
}

/// Why a change failed.
pub(super) enum Failure {
    Lmdb(heed::Error),
    /// An error to return as it is.
    Error(Error),
    /// The change is too large for the journal.
    TooLarge,
}

impl From<heed::Error> for Failure {
    fn from(error: heed::Error) -> Self {
        Self::Lmdb(error)
    }
}

impl Failure {
    fn into_error(self, base: &Lmdb, shortage: Option<Shortage>) -> Error {
        match self {
            Self::Lmdb(error) => base.write_error(error, shortage),
            Self::Error(error) => error,
            Self::TooLarge => Error::new(
                ErrorKind::Engine,
                "a commit that is too large for the journal was not moved to LMDB",
            ),
        }
    }
}

type CommitResult<T> = std::result::Result<T, Abort<Failure>>;

impl GroupCommit for Arc<Engine> {
    type Failure = Failure;

    fn run_transaction(&self, fill: TransactionBody<'_, Failure>) -> CommitResult<Version> {
        let commit_lock = self.journal.commit_lock().map_err(Abort::NotBegun)?;
        match append(self, &commit_lock, &mut *fill) {
            Err(Abort::Failed(Failure::TooLarge)) => {
                commit_to_lmdb(self, &commit_lock, None, |writer| fill(writer))
            }
            changed => changed,
        }
    }

    fn recovery(&self, failure: Failure, batches: usize) -> Recovery {
        if matches!(&failure, Failure::Lmdb(error) if is_map_full(error)) {
            return match self.base.grow_map() {
                Ok(()) => Recovery::Retry,
                Err(error) => Recovery::GiveUp(error),
            };
        }
        match batches {
            0 | 1 => Recovery::GiveUp(self.failed(failure)),
            _ => Recovery::RetryOneByOne,
        }
    }

    fn failed(&self, failure: Failure) -> Error {
        failure.into_error(&self.base, None)
    }

    fn unknown(&self, failure: Failure) -> Error {
        let error = self.failed(failure);
        let message = "the journal could not be flushed; the commit may be present after a crash";
        Error::new(ErrorKind::OutcomeUnknown, message).with_source(error)
    }
}

/// Runs `fill` on the newest state, appends the changes to the journal, and notifies the watchers.
fn append(
    engine: &Arc<Engine>,
    commit_lock: &CommitLock<'_>,
    fill: TransactionBody<'_, Failure>,
) -> CommitResult<Version> {
    let journal = &engine.journal;
    if journal.is_full() {
        journal.end_segment(commit_lock).map_err(Abort::NotBegun)?;
        engine.merger.ended();
    }
    let reading = match engine.begin_read() {
        // The reader table is full; LMDB's writers need no slot in it.
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            return Err(Abort::Failed(Failure::TooLarge));
        }
        reading => reading.map_err(Abort::NotBegun)?,
    };
    let before = reading.version;
    let mut writer = JournalWriter {
        reading,
        changed: ChangedRows::new(),
        recorder: Recorder::new(),
    };
    fill(&mut writer)?;
    let JournalWriter {
        reading,
        changed,
        recorder,
    } = writer;
    // So that publishing does not copy rows that only this reader shares.
    drop(reading);
    if recorder.effect() == Effect::Nothing {
        return Ok(before);
    }
    let appended = journal.append(commit_lock, &changed, engine.config.durability);
    let end = appended.map_err(|fault| match fault {
        Fault::NotAppended(error) => Abort::Failed(Failure::Error(error)),
        Fault::Unknown(error) => Abort::Unknown(Failure::Error(error)),
    })?;
    let _publishing = engine.publishing.lock();
    engine.report_foreign_commits();
    engine.recent.push_foreign(before);
    let version = journal.publish(commit_lock, &changed, end);
    engine.recent.push(version, recorder);
    engine.merger.committed();
    Ok(version)
}

/// Runs `fill` in an LMDB transaction that first merges the journal, commits it, and notifies the watchers.
/// If it fails, its disk space is released. `shortage` is why the map could not be grown before.
fn commit_to_lmdb(
    engine: &Arc<Engine>,
    commit_lock: &CommitLock<'_>,
    shortage: Option<Shortage>,
    fill: impl FnOnce(&mut EmbeddedWriter<'_>) -> CommitResult<()>,
) -> CommitResult<Version> {
    let changed = try_commit_to_lmdb(engine, commit_lock, shortage, fill);
    changed.map_err(|abort| {
        // The cause is determined before the disk space is released.
        let abort = match abort {
            Abort::Failed(Failure::Lmdb(error)) if !is_map_full(&error) => {
                Abort::Failed(Failure::Error(engine.base.write_error(error, shortage)))
            }
            abort => abort,
        };
        engine.base.release_unused_space();
        abort
    })
}

fn try_commit_to_lmdb(
    engine: &Arc<Engine>,
    commit_lock: &CommitLock<'_>,
    shortage: Option<Shortage>,
    fill: impl FnOnce(&mut EmbeddedWriter<'_>) -> CommitResult<()>,
) -> CommitResult<Version> {
    let base = &engine.base;
    engine.journal.merge_ended().map_err(Abort::NotBegun)?;
    let (_gate_guard, mut txn) = base.begin_write().map_err(Abort::NotBegun)?;
    let (before, rows) = engine.journal.newest_rows();
    merge_rows(base.keys, &mut txn, &rows).map_err(Failure::Lmdb)?;
    let mut writer = EmbeddedWriter {
        txn,
        base,
        base_version: before,
        shortage,
        recorder: Recorder::new(),
    };
    fill(&mut writer)?;
    let EmbeddedWriter { txn, recorder, .. } = writer;
    if recorder.effect() == Effect::Nothing {
        txn.abort();
        return Ok(before);
    }
    let transaction = txn.id() as u64;
    let version = Version(before.0 + 1);
    // `fill` may have taken a long time.
    engine
        .journal
        .check_not_replaced()
        .map_err(Abort::NotBegun)?;
    let _publishing = engine.publishing.lock();
    engine.report_foreign_commits();
    engine.recent.push_foreign(before);
    txn.commit().map_err(Failure::Lmdb)?;
    // The commit succeeded. If the journal cannot be restarted now, the next commit does so.
    let begun = engine
        .journal
        .begin_after_merge(commit_lock, transaction, version);
    if let Err(error) = begun {
        tracing::warn!(%error, "the journal cannot be restarted");
    }
    engine.recent.push(version, recorder);
    Ok(version)
}

/// A change that goes to the journal.
struct JournalWriter {
    /// The newest state.
    reading: Reading,
    /// The changes so far.
    changed: ChangedRows,
    recorder: Recorder,
}

impl JournalWriter {
    fn source(&self) -> ReadSource<'_> {
        let [newest, frozen] = self.reading.layers.rows();
        let changed = (!self.changed.is_empty()).then_some(&self.changed);
        ReadSource {
            txn: &self.reading.txn,
            base: self.reading.gate_guard.base(),
            layers: [changed, newest, frozen],
        }
    }

    /// Whether a range has no keys; fails if it has too many.
    fn is_empty(&self, range: &KeyRange) -> std::result::Result<bool, Failure> {
        let run = self.source().cursor(range, Direction::Forward);
        let mut cursor = run.map_err(Failure::Error)?;
        let mut count = 0;
        while cursor.next().map_err(Failure::Error)?.is_some() {
            if count == RANGE_KEYS_MAX {
                return Err(Failure::TooLarge);
            }
            count += 1;
        }
        Ok(count == 0)
    }

    fn check_size(&self) -> std::result::Result<(), Failure> {
        match self.changed.bytes() > FRAME_BYTES_MAX {
            true => Err(Failure::TooLarge),
            false => Ok(()),
        }
    }
}

impl WriteTransaction for JournalWriter {
    type Failure = Failure;

    fn base_version(&self) -> Option<Version> {
        Some(self.reading.version)
    }

    fn value_of(&self, key: &[u8]) -> std::result::Result<Option<Cow<'_, [u8]>>, Failure> {
        Ok(self.source().lookup(key)?)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), Failure> {
        self.changed.put(key, value);
        self.recorder.put(key, value);
        self.check_size()
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<(), Failure> {
        if self.value_of(key)?.is_some() {
            self.changed.delete(key);
            self.recorder.delete(key);
        }
        self.check_size()
    }

    fn remove_range(&mut self, range: &KeyRange) -> std::result::Result<(), Failure> {
        if !self.is_empty(range)? {
            self.changed.remove_range(range);
            self.recorder.delete_range(range);
        }
        self.check_size()
    }
}

struct EmbeddedWriter<'e> {
    txn: RwTxn<'e>,
    base: &'e Lmdb,
    /// The version before the write.
    base_version: Version,
    /// Why the map could not be grown before.
    shortage: Option<Shortage>,
    recorder: Recorder,
}

impl WriteTransaction for EmbeddedWriter<'_> {
    type Failure = Failure;

    fn base_version(&self) -> Option<Version> {
        Some(self.base_version)
    }

    fn value_of(&self, key: &[u8]) -> std::result::Result<Option<Cow<'_, [u8]>>, Failure> {
        Ok(self.base.keys.get(&self.txn, key)?.map(Cow::Borrowed))
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), Failure> {
        self.base.keys.put(&mut self.txn, key, value)?;
        self.recorder.put(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<(), Failure> {
        if self.base.keys.delete(&mut self.txn, key)? {
            self.recorder.delete(key);
        }
        Ok(())
    }

    fn remove_range(&mut self, range: &KeyRange) -> std::result::Result<(), Failure> {
        if remove_range(self.base.keys, &mut self.txn, range)? > 0 {
            self.recorder.delete_range(range);
        }
        Ok(())
    }
}

impl StreamedWrite for EmbeddedWriter<'_> {
    fn set_new(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<KeyExisted, Failure> {
        let (keys, flags) = (self.base.keys, PutFlags::NO_OVERWRITE);
        match keys.put_with_flags(&mut self.txn, flags, key, value) {
            Ok(()) => {
                self.recorder.put(key, value);
                Ok(KeyExisted::No)
            }
            Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(KeyExisted::Yes),
            Err(error) => Err(error.into()),
        }
    }

    fn view(&self) -> Box<dyn Snapshot + '_> {
        Box::new(TransactionSnapshot {
            txn: &self.txn,
            base: self.base,
            version: self.base_version,
        })
    }

    fn read_error(&self, failure: Failure) -> Error {
        match failure {
            Failure::Lmdb(error) => self.base.error(error),
            failure => failure.into_error(self.base, self.shortage),
        }
    }

    /// Any operation may write pages, if there are too many changed pages in memory.
    fn write_error(&mut self, failure: Failure) -> Error {
        failure.into_error(self.base, self.shortage)
    }
}
