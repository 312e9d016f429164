//! Merging: the rows of a segment that has ended become one LMDB transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use espalier_keyspace::{ByteMap, ErrorKind, Result};
use heed::RwTxn;
use parking_lot::{Condvar, Mutex};

use super::rows;
use super::shared::{Journal, Turn};
use crate::embedded::engine::{Keys, is_map_full};

/// How long nobody commits before what was committed is merged.
pub(in crate::embedded) const MERGE_AFTER: Duration = Duration::from_millis(200);

/// The most bytes that stay in the journal when a directory is closed: 64 KiB. A program that makes one
/// commit and ends, as a command does, then makes one flush.
const KEPT_BYTES_MAX: u64 = 64 << 10;

/// How long to wait for another process that commits before it is left for later: that one may merge.
const MERGE_PATIENCE: Duration = Duration::from_secs(1);

/// How long to wait after a merge that failed, as on a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl Journal {
    /// Merges the segment before the newest, where nobody has yet. Its rows are in LMDB on return, and
    /// durable.
    pub(in crate::embedded) fn merge_ended(&self) -> Result<()> {
        let Some(frozen) = self.view.lock().frozen.clone() else {
            return Ok(());
        };
        let header = frozen.segment.header;
        while let Err(error) = self.try_merge(header.base, &frozen.rows)? {
            match is_map_full(&error) {
                true => self.base.grow_map()?,
                false => {
                    // Why it failed is looked for while the disk is still as it was then.
                    let error = self.base.write_error(error, None);
                    self.base.give_back();
                    return Err(error);
                }
            }
        }
        self.forget_merged(header.base + 1);
        self.remove_before(header.generation + 1);
        Ok(())
    }

    fn try_merge(&self, base: u64, rows: &ByteMap) -> Result<heed::Result<()>> {
        let (_inside, mut txn) = self.base.begin_write()?;
        if txn.id() as u64 != base + 1 {
            txn.abort();
            return Ok(Ok(()));
        }
        let merged = merge_rows(self.base.keys, &mut txn, rows);
        Ok(merged.and_then(|()| txn.commit()))
    }

    /// Ends the newest segment, where it has frames, so that it can be merged.
    pub(in crate::embedded) fn end_segment(&self, turn: &Turn<'_>) -> Result<()> {
        self.merge_ended()?;
        match self.frame_bytes() {
            0 => Ok(()),
            _ => self.begin_next(turn),
        }
    }

    /// Merges what is there at the end, unless it is little, or another process is committing: that one
    /// merges.
    pub(in crate::embedded) fn merge_at_end(&self) -> Result<()> {
        let turn = match self.turn_at_once() {
            Err(error) if error.kind() == ErrorKind::Locked => return Ok(()),
            turn => turn?,
        };
        match self.frame_bytes() > KEPT_BYTES_MAX {
            true => self.merge_in(turn),
            false => self.merge_ended(),
        }
    }

    /// Merges all that is there.
    pub(in crate::embedded) fn merge_all(&self) -> Result<()> {
        self.merge_in(self.turn_within(MERGE_PATIENCE)?)
    }

    fn merge_in(&self, turn: Turn<'_>) -> Result<()> {
        self.end_segment(&turn)?;
        drop(turn);
        self.merge_ended()
    }
}

/// Brings LMDB to what the rows say.
pub(in crate::embedded) fn merge_rows(
    keys: Keys,
    txn: &mut RwTxn<'_>,
    rows: &ByteMap,
) -> heed::Result<()> {
    for (key, entry) in rows {
        match rows::held(entry) {
            Some(value) => keys.put(txn, key, value)?,
            None => drop(keys.delete(txn, key)?),
        }
    }
    Ok(())
}

/// The thread that merges, for as long as a directory is open in this process.
pub(in crate::embedded) struct Merger {
    wish: Arc<Wish>,
    thread: Option<JoinHandle<()>>,
}

/// What is wished of the thread.
#[derive(Default)]
struct Wish {
    /// This process has committed since the thread looked last.
    committed: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// A segment has ended.
    ended: bool,
    stop: bool,
}

impl Merger {
    /// Starts the thread.
    pub(in crate::embedded) fn start(journal: &Arc<Journal>) -> Self {
        let wish = Arc::<Wish>::default();
        wish.committed
            .store(journal.frame_bytes() > 0, Ordering::Relaxed);
        let (journal, wished) = (Arc::clone(journal), Arc::clone(&wish));
        let thread = thread::Builder::new()
            .name("espalier-merge".into())
            .spawn(move || wished.serve(&journal));
        let thread = thread
            .inspect_err(|error| tracing::warn!(%error, "no thread merges the journal"))
            .ok();
        Self { wish, thread }
    }

    /// No thread, for a directory that is only read.
    pub(in crate::embedded) fn none() -> Self {
        Self {
            wish: Arc::default(),
            thread: None,
        }
    }

    /// Says that this process has committed.
    pub(in crate::embedded) fn committed(&self) {
        let committed = &self.wish.committed;
        if !committed.load(Ordering::Relaxed) {
            let _state = self.wish.state.lock();
            committed.store(true, Ordering::Relaxed);
            self.wish.changed.notify_one();
        }
    }

    /// Says that a segment has ended.
    pub(in crate::embedded) fn ended(&self) {
        self.wish.state.lock().ended = true;
        self.wish.changed.notify_one();
    }

    /// Ends the thread, and waits until it is gone.
    pub(in crate::embedded) fn stop(&mut self) {
        self.wish.state.lock().stop = true;
        self.wish.changed.notify_one();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the thread that merges the journal has panicked");
        }
    }
}

impl Wish {
    fn serve(&self, journal: &Journal) {
        while let Some(due) = self.next(journal) {
            let merged = match due {
                Due::Ended => journal.merge_ended(),
                Due::All => journal.merge_all(),
            };
            if let Err(error) = merged {
                let dir = journal.base.dir.display();
                let what = "what is in the journal is not merged; trying again";
                match error.kind() {
                    ErrorKind::Locked => tracing::debug!(%error, %dir, what),
                    _ => tracing::warn!(%error, %dir, what),
                }
                self.wait(RETRY_AFTER);
                self.committed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Waits until there is something to merge; `None` at the end.
    fn next(&self, journal: &Journal) -> Option<Due> {
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return None;
            }
            if std::mem::take(&mut state.ended) {
                return Some(Due::Ended);
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
                return Some(Due::All);
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

/// What is to be merged.
enum Due {
    /// The segment that has ended.
    Ended,
    /// Everything.
    All,
}
