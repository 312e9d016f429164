//! Merging: the rows of a completed segment become one LMDB transaction.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use espalier_keyspace::{ErrorKind, KeyRange, Result};
use heed::RwTxn;
use parking_lot::{Condvar, Mutex};

use super::changed_rows::{ChangedRows, RowChange};
use super::shared_journal::{CommitLock, Journal};
use crate::embedded::engine::{Keys, is_map_full};
use crate::recent_commits::Effect;

/// Idle time after which the journal is merged.
pub(in crate::embedded) const MERGE_AFTER: Duration = Duration::from_millis(200);

/// Maximum bytes left in the journal when a directory is closed: 64 KiB. A program that makes one commit
/// and ends, such as a command, then needs one flush only.
const KEPT_BYTES_MAX: u64 = 64 << 10;

/// How long a merge waits for a commit of another process, which may merge itself.
const MERGE_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Wait after a failed merge, as on a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl Journal {
    /// Merges the segment before the newest, unless it is merged already. On return its rows are in LMDB,
    /// durably.
    pub(in crate::embedded) fn merge_ended(&self) -> Result<()> {
        let Some(frozen) = self.view.lock().frozen.clone() else {
            return Ok(());
        };
        let header = frozen.segment.header;
        while let Err(error) = self.try_merge(header.base, &frozen.rows)? {
            match is_map_full(&error) {
                true => self.base.grow_map()?,
                false => {
                    // The cause is determined before the disk space is released.
                    let error = self.base.write_error(error, None);
                    self.base.release_unused_space();
                    return Err(error);
                }
            }
        }
        self.drop_merged(header.base + 1);
        self.remove_before(header.generation + 1);
        Ok(())
    }

    fn try_merge(&self, base: u64, rows: &ChangedRows) -> Result<heed::Result<()>> {
        let (_gate_guard, mut txn) = self.base.begin_write()?;
        if txn.id() as u64 != base + 1 {
            txn.abort();
            return Ok(Ok(()));
        }
        let keys = self.base.keys;
        let merged = merge_rows(keys, &mut txn, rows).and_then(|effect| match effect {
            Effect::Changed => Ok(()),
            Effect::Nothing => write_page(keys, &mut txn),
        });
        Ok(merged.and_then(|()| txn.commit()))
    }

    /// Completes the newest segment, if it has frames, so that it can be merged.
    pub(in crate::embedded) fn end_segment(&self, commit_lock: &CommitLock<'_>) -> Result<()> {
        self.merge_ended()?;
        match self.frame_bytes() {
            0 => Ok(()),
            _ => self.begin_next(commit_lock),
        }
    }

    /// Merges at close, unless there is little to merge, or another process is committing: that one merges.
    pub(in crate::embedded) fn merge_at_end(&self) -> Result<()> {
        let commit_lock = match self.try_commit_lock() {
            Err(error) if error.kind() == ErrorKind::Locked => return Ok(()),
            commit_lock => commit_lock?,
        };
        match self.frame_bytes() > KEPT_BYTES_MAX {
            true => self.merge_in(commit_lock),
            false => self.merge_ended(),
        }
    }

    /// Merges everything.
    pub(in crate::embedded) fn merge_all(&self) -> Result<()> {
        self.merge_in(self.commit_lock_within(MERGE_LOCK_TIMEOUT)?)
    }

    fn merge_in(&self, commit_lock: CommitLock<'_>) -> Result<()> {
        self.end_segment(&commit_lock)?;
        drop(commit_lock);
        self.merge_ended()
    }
}

/// Writes rows to LMDB. They have no effect if all of them remove keys that are not there.
pub(in crate::embedded) fn merge_rows(
    keys: Keys,
    txn: &mut RwTxn<'_>,
    rows: &ChangedRows,
) -> heed::Result<Effect> {
    let mut effect = Effect::Nothing;
    for change in rows.changes() {
        let is_change = match change {
            RowChange::Removed(range) => remove_range(keys, txn, &range)? > 0,
            RowChange::Put(key, value) => {
                keys.put(txn, key, value)?;
                true
            }
            RowChange::Deleted(key) => keys.delete(txn, key)?,
        };
        if is_change {
            effect = Effect::Changed;
        }
    }
    Ok(effect)
}

/// Writes a page without changing a row. LMDB does not number a transaction that writes nothing, and its number is what
/// marks a segment as merged.
fn write_page(keys: Keys, txn: &mut RwTxn<'_>) -> heed::Result<()> {
    const KEY: &[u8] = &[0];
    if let Some(value) = keys.get(txn, KEY)?.map(<[u8]>::to_vec) {
        return keys.put(txn, KEY, &value);
    }
    keys.put(txn, KEY, &[])?;
    keys.delete(txn, KEY).map(drop)
}

/// Removes a range of rows from LMDB; returns their number.
pub(in crate::embedded) fn remove_range(
    keys: Keys,
    txn: &mut RwTxn<'_>,
    range: &KeyRange,
) -> heed::Result<usize> {
    if range.is_empty() {
        return Ok(0);
    }
    if *range == KeyRange::all() {
        let all = keys.len(txn)?;
        keys.clear(txn)?;
        return Ok(all as usize);
    }
    keys.delete_range(txn, &bounds(range))
}

/// The bounds of a range for LMDB, which has no empty key.
pub(in crate::embedded) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let start = match range.start.as_slice() {
        [] => Bound::Unbounded,
        start => Bound::Included(start),
    };
    let end = range.end.as_deref();
    (start, end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// The merge thread, while a directory is open in this process.
pub(in crate::embedded) struct Merger {
    requests: Arc<MergeRequests>,
    thread: Option<JoinHandle<()>>,
}

/// Requests to the thread.
#[derive(Default)]
struct MergeRequests {
    /// This process has committed since the thread last checked.
    committed: AtomicBool,
    state: Mutex<RequestState>,
    changed: Condvar,
}

#[derive(Default)]
struct RequestState {
    /// A segment is complete.
    ended: bool,
    stop: bool,
}

impl Merger {
    /// Starts the thread.
    pub(in crate::embedded) fn start(journal: &Arc<Journal>) -> Self {
        let requests = Arc::<MergeRequests>::default();
        requests
            .committed
            .store(journal.frame_bytes() > 0, Ordering::Relaxed);
        let (journal, thread_requests) = (Arc::clone(journal), Arc::clone(&requests));
        let thread = thread::Builder::new()
            .name("espalier-merge".into())
            .spawn(move || thread_requests.run(&journal));
        let thread = thread
            .inspect_err(
                |error| tracing::warn!(%error, "cannot start a thread to merge the journal"),
            )
            .ok();
        Self { requests, thread }
    }

    /// No thread, for a read-only directory.
    pub(in crate::embedded) fn none() -> Self {
        Self {
            requests: Arc::default(),
            thread: None,
        }
    }

    /// Notifies the thread of a commit.
    pub(in crate::embedded) fn committed(&self) {
        let committed = &self.requests.committed;
        if !committed.load(Ordering::Relaxed) {
            let _state = self.requests.state.lock();
            committed.store(true, Ordering::Relaxed);
            self.requests.changed.notify_one();
        }
    }

    /// Notifies the thread of a completed segment.
    pub(in crate::embedded) fn ended(&self) {
        self.requests.state.lock().ended = true;
        self.requests.changed.notify_one();
    }

    /// Stops the thread, and waits for its end.
    pub(in crate::embedded) fn stop(&mut self) {
        self.requests.state.lock().stop = true;
        self.requests.changed.notify_one();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the merge thread panicked");
        }
    }
}

impl MergeRequests {
    fn run(&self, journal: &Journal) {
        while let Some(due) = self.next(journal) {
            let merged = match due {
                MergeTask::Ended => journal.merge_ended(),
                MergeTask::All => journal.merge_all(),
            };
            if let Err(error) = merged {
                let dir = journal.base.dir.display();
                let what = "the journal cannot be merged; retrying";
                match error.kind() {
                    ErrorKind::Locked => tracing::debug!(%error, %dir, what),
                    _ => tracing::warn!(%error, %dir, what),
                }
                self.wait(RETRY_AFTER);
                self.committed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Waits for a merge to do; `None` at the end.
    fn next(&self, journal: &Journal) -> Option<MergeTask> {
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return None;
            }
            if std::mem::take(&mut state.ended) {
                return Some(MergeTask::Ended);
            }
            if !self.committed.load(Ordering::Relaxed) {
                self.changed.wait(&mut state);
                continue;
            }
            let before = journal.position();
            self.changed.wait_for(&mut state, MERGE_AFTER);
            let is_quiet = !state.stop && !state.ended && journal.position() == before;
            if is_quiet {
                self.committed.store(false, Ordering::Relaxed);
                return Some(MergeTask::All);
            }
        }
    }

    fn wait(&self, time: Duration) {
        let mut state = self.state.lock();
        if !state.stop {
            self.changed.wait_for(&mut state, time);
        }
    }
}

/// What to merge.
enum MergeTask {
    /// The completed segment.
    Ended,
    /// Everything.
    All,
}
