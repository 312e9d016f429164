//! The shared core of all collections of a key space, and the commit of transactions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use espalier_keyspace::{
    ConflictRetry, Driver, ErrorKind, OPTIMISTIC_CONFLICTS_MAX, Prefetch, Snapshot, Version,
    retry_conflicts,
};
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};

use crate::group_commit::{Group, Outcome};
use crate::layout::{Layout, Storage};
use crate::ram::RamRows;
use crate::rows::{Changes, CommitParts, Rows};
use crate::transaction::{CacheUpdates, Committed, Transaction};
use crate::{Error, Result};

/// The driver, the rows in memory, and the lock that serializes transactions.
pub(crate) struct Core {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) layout: Layout,
    pub(crate) ram: Arc<RamRows>,
    /// Held by the thread whose transaction is in progress, so that transactions of one process do not
    /// conflict.
    turn: ReentrantMutex<TurnState>,
    /// The number of threads that wait for their turn.
    waiting: AtomicUsize,
    /// Held from a commit until the caches are updated.
    pub(crate) cache_update_lock: Arc<Mutex<()>>,
}

#[derive(Default)]
struct TurnState {
    is_in_progress: Cell<bool>,
    /// Transactions that wait to be committed by the next thread.
    group: RefCell<Option<Group>>,
}

/// The body of a transaction. It may be called several times.
pub(crate) type Body<'a, R> = &'a mut dyn FnMut(&mut Transaction<'_>) -> Result<R>;

/// Whether a transaction may be committed together with those of other threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitMode {
    /// It may: all that it reads are rows that other transactions of the group show.
    Shared,
    /// It is committed alone.
    Alone,
}

/// The outcome of one attempt.
enum Attempt<R> {
    Done(Result<R>),
    /// The group failed, possibly because of another member.
    RetryAlone,
}

struct Turn<'a>(ReentrantMutexGuard<'a, TurnState>);

impl Turn<'_> {
    fn take_group(&self) -> Option<Group> {
        self.0.group.borrow_mut().take()
    }

    fn pass_on_group(&self, group: Group) {
        *self.0.group.borrow_mut() = Some(group);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.is_in_progress.set(false);
    }
}

impl Core {
    pub(crate) fn new(driver: Arc<dyn Driver>, prefix: &[u8]) -> Self {
        Self {
            driver,
            layout: Layout::new(prefix),
            ram: Arc::default(),
            turn: ReentrantMutex::default(),
            waiting: AtomicUsize::new(0),
            cache_update_lock: Arc::default(),
        }
    }

    /// A snapshot of the newest state.
    pub(crate) fn snapshot(&self, storage: Storage) -> Result<Box<dyn Snapshot>> {
        Ok(match storage {
            Storage::Engine => self.driver.snapshot()?,
            Storage::Ram => Box::new(self.ram.snapshot()),
        })
    }

    /// Like [`Self::snapshot`], with rows that are prefetched.
    pub(crate) fn snapshot_with_prefetch(
        &self,
        storage: Storage,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot>> {
        Ok(match storage {
            Storage::Engine => self.driver.snapshot_with_prefetch(expect)?,
            Storage::Ram => Box::new(self.ram.snapshot()),
        })
    }

    fn turn(&self) -> Result<Turn<'_>> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let turn = self.turn.lock();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        if turn.is_in_progress.replace(true) {
            // The outer transaction's guard resets the flag.
            return Err(Error::argument(
                "this thread has a transaction in progress; use the transaction instead of the collection",
            ));
        }
        Ok(Turn(turn))
    }

    /// Runs `body` in one commit, which may be shared with transactions of other threads. On a conflict with
    /// another process it is run again, after a random pause, within the limits of a [`ConflictRetry`].
    pub(crate) fn run<R>(&self, body: Body<'_, R>) -> Result<R> {
        self.attempts(CommitMode::Shared, None, ConflictRetry::new(), body)
    }

    /// Like [`Self::run`], with a given time limit.
    pub(crate) fn run_for<R>(&self, retry: ConflictRetry, body: Body<'_, R>) -> Result<R> {
        self.attempts(CommitMode::Shared, None, retry, body)
    }

    /// Like [`Self::run`], with rows that are prefetched.
    pub(crate) fn run_expecting<R>(
        &self,
        storage: Storage,
        expect: Prefetch<'_>,
        body: Body<'_, R>,
    ) -> Result<R> {
        match storage {
            Storage::Engine => {
                self.attempts(CommitMode::Shared, Some(expect), ConflictRetry::new(), body)
            }
            Storage::Ram => self.run(body),
        }
    }

    /// Like [`Self::run`], in a commit of its own: for changes of a collection's definition, which others
    /// then read from snapshots.
    pub(crate) fn run_alone<R>(&self, body: Body<'_, R>) -> Result<R> {
        self.attempts(CommitMode::Alone, None, ConflictRetry::new(), body)
    }

    fn attempts<R>(
        &self,
        mut mode: CommitMode,
        expect: Option<Prefetch<'_>>,
        retry: ConflictRetry,
        body: Body<'_, R>,
    ) -> Result<R> {
        retry_conflicts(retry, |conflicts| {
            if conflicts == OPTIMISTIC_CONFLICTS_MAX {
                return self.write(body);
            }
            loop {
                match self.attempt(mode, expect, body) {
                    Attempt::Done(result) => return result,
                    Attempt::RetryAlone if mode == CommitMode::Shared => mode = CommitMode::Alone,
                    Attempt::RetryAlone => return Err(conflict()),
                }
            }
        })
    }

    fn attempt<R>(
        &self,
        mode: CommitMode,
        expect: Option<Prefetch<'_>>,
        body: Body<'_, R>,
    ) -> Attempt<R> {
        let turn = match self.turn() {
            Ok(turn) => turn,
            Err(error) => return Attempt::Done(Err(error)),
        };
        let mut group = match (turn.take_group(), mode) {
            (Some(group), CommitMode::Shared) => group,
            (others, _) => {
                if let Some(others) = others {
                    others.commit(self);
                }
                match Group::new(self, expect) {
                    Ok(group) => group,
                    Err(error) => return Attempt::Done(Err(error)),
                }
            }
        };
        let (result, after) = group.join(self, body);
        if group.is_empty() {
            return Attempt::Done(match result {
                Err(error) if error.keyspace().is_none() => {
                    Err(self.rejected(error, group.read_version()))
                }
                result => result,
            });
        }
        let outcome = group.outcome();
        let others_are_waiting = self.waiting.load(Ordering::Acquire) > 0;
        if mode == CommitMode::Shared && others_are_waiting && group.has_room() {
            turn.pass_on_group(group);
        } else {
            group.commit(self);
        }
        drop(turn);
        match outcome.wait() {
            Outcome::Committed => {
                after.into_iter().for_each(|after| after());
                Attempt::Done(result)
            }
            Outcome::Conflict => Attempt::Done(Err(conflict())),
            Outcome::RetryAlone => Attempt::RetryAlone,
            Outcome::Failed(error) => Attempt::Done(Err(Error::shared(error))),
        }
    }

    /// The error of a rejected transaction: a conflict if its view of the engine was out of date.
    fn rejected(&self, error: Error, read_version: Option<Version>) -> Error {
        match read_version.map_or(Ok(true), |version| self.driver.is_current(version)) {
            Ok(true) => error,
            Ok(false) => conflict(),
            Err(failure) => failure.into(),
        }
    }

    /// Commits inside an engine write, which no other writer can overtake if the engine serializes writes.
    fn write<R>(&self, body: Body<'_, R>) -> Result<R> {
        let turn = self.turn()?;
        if let Some(others) = turn.take_group() {
            others.commit(self);
        }
        let cache_update_lock = self.cache_update_lock.lock();
        let (version, (result, output, operations)) =
            espalier_keyspace::write(&*self.driver, &[], &mut |writer| {
                let ram = self.ram.snapshot();
                let (result, mut output) = {
                    let snapshot = writer.snapshot()?;
                    let rows = Rows::new(&self.layout, &*snapshot, &ram, Changes::default());
                    let mut transaction = Transaction::new(self, rows, CacheUpdates::default());
                    let result = transaction.run(body);
                    (result?, transaction.end())
                };
                let changes = std::mem::take(&mut output.changes);
                let CommitParts { engine, ram } = changes.into_parts(&self.layout);
                engine.apply_to(writer)?;
                Ok::<_, Error>((result, output, ram))
            })?;
        let engine = Some(version);
        let ram = self.ram.apply(operations)?;
        output.cache_updates.apply(Committed { engine, ram });
        drop((cache_update_lock, turn));
        output.after.into_iter().for_each(|after| after());
        Ok(result)
    }
}

/// Another process was faster.
fn conflict() -> Error {
    let message = "another process changed what the transaction has read";
    espalier_keyspace::Error::new(ErrorKind::Conflict, message).into()
}
