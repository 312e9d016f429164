//! The shared core of all collections of a key space, and the commit of transactions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use espalier_keyspace::{
    Batch, ConflictRetry, Driver, ErrorKind as KeyspaceErrorKind, OperationRef, Prefetch, Snapshot,
    Version, Writer,
};
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};

use crate::group::{Group, Outcome};
use crate::layout::{Layout, Storage};
use crate::limits::CONFLICTS_MAX;
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
    /// Another process was faster.
    Conflict,
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
    pub(crate) fn run_for<R>(&self, contention: ConflictRetry, body: Body<'_, R>) -> Result<R> {
        self.attempts(CommitMode::Shared, None, contention, body)
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
        mut contention: ConflictRetry,
        body: Body<'_, R>,
    ) -> Result<R> {
        loop {
            let attempt = match contention.tries() {
                CONFLICTS_MAX => self.attempt_in_write(body),
                _ => self.attempt(mode, expect, body),
            };
            match attempt {
                Attempt::Done(result) => return result,
                Attempt::RetryAlone if mode == CommitMode::Shared => mode = CommitMode::Alone,
                Attempt::Conflict | Attempt::RetryAlone => contention.wait_after_conflict()?,
            }
        }
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
            return match result {
                Err(error) if error.is_overtaken() => Attempt::Conflict,
                Err(error) => self.rejected(error, group.read_version()),
                result => Attempt::Done(result),
            };
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
                match result {
                    Err(error) if error.is_overtaken() => Attempt::Conflict,
                    result => Attempt::Done(result),
                }
            }
            Outcome::Conflict => Attempt::Conflict,
            Outcome::RetryAlone => Attempt::RetryAlone,
            Outcome::Failed(error) => Attempt::Done(Err(Error::shared(error))),
        }
    }

    /// Handles a rejected transaction: if its view of the engine was out of date, it is retried.
    fn rejected<R>(&self, error: Error, read_version: Option<Version>) -> Attempt<R> {
        let is_current = read_version.map_or(Ok(true), |read_version| {
            self.driver.is_current(read_version)
        });
        match is_current {
            Ok(true) => Attempt::Done(Err(error)),
            Ok(false) => Attempt::Conflict,
            Err(failure) => Attempt::Done(Err(failure.into())),
        }
    }

    /// Commits inside an engine write, which no other writer can overtake if the engine serializes writes.
    fn attempt_in_write<R>(&self, body: Body<'_, R>) -> Attempt<R> {
        match self.write(body) {
            Err(error) if error.is_overtaken() => Attempt::Conflict,
            result => Attempt::Done(result),
        }
    }

    fn write<R>(&self, body: Body<'_, R>) -> Result<R> {
        let turn = self.turn()?;
        if let Some(others) = turn.take_group() {
            others.commit(self);
        }
        let mut finished = None;
        let cache_update_lock = self.cache_update_lock.lock();
        let written = self.driver.write(&[], &mut |writer| {
            let ram = self.ram.snapshot();
            let prepared = {
                let snapshot = writer.snapshot()?;
                let rows = Rows::new(&self.layout, &*snapshot, &ram, Changes::default());
                let mut transaction = Transaction::new(self, rows, CacheUpdates::default());
                let result = transaction.run(body);
                result.map(|result| (result, transaction.end()))
            };
            match prepared {
                Ok((result, output)) => {
                    let CommitParts { engine, ram } = output.changes.into_parts(&self.layout);
                    finished = Some(Ok((result, output.cache_updates, output.after, ram)));
                    apply(writer, &engine)
                }
                Err(error) => {
                    finished = Some(Err(error));
                    let message = "the transaction was rejected";
                    Err(espalier_keyspace::Error::new(
                        KeyspaceErrorKind::Aborted,
                        message,
                    ))
                }
            }
        });
        let (engine, (result, cache_updates, after, operations)) = match (written, finished) {
            (_, Some(Err(error))) => return Err(error),
            (Err(error), _) => return Err(error.into()),
            (Ok(_), None) => {
                return Err(Error::corrupt(
                    "the engine reported a commit without running the write",
                ));
            }
            (Ok(version), Some(Ok(prepared))) => (Some(version), prepared),
        };
        let ram = self.ram.apply(operations)?;
        cache_updates.apply(Committed { engine, ram });
        drop((cache_update_lock, turn));
        after.into_iter().for_each(|after| after());
        Ok(result)
    }
}

fn apply(writer: &mut dyn Writer, batch: &Batch) -> espalier_keyspace::Result<()> {
    batch
        .operations()
        .try_for_each(|operation| match operation {
            OperationRef::Put(key, value) => writer.put(key, value),
            OperationRef::Delete(key) => writer.delete(key),
            OperationRef::DeleteRange(range) => writer.delete_range(range),
            OperationRef::Add(key, delta) => writer.add(key, delta),
        })
}
