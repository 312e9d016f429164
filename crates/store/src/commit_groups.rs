//! Commits of one process that share one write of the engine.
//!
//! While one group of commits is being written, the next commits are decided, each on the result of the one before
//! ([`Deciding`]), and join one batch, the open group. Its first member writes it as soon as the write before has
//! ended, and all members are acknowledged together. Readers see a group only when the engine has it.
//!
//! A group that fails changes nothing, and neither does the group that was decided on it. Their members decide again,
//! alone, so that a commit fails only by its own fault. A commit that fails by its own fault, or changes nothing, observes
//! the group that it was decided on: it is decided again if that group fails.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, Error, ErrorKind, OperationRef, Snapshot};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::commit_run::{CommitRun, RunChanges};
use crate::overlay::{Changes, Overlay};

/// The maximum size of a commit that shares a write: 256 KiB.
const MEMBER_BYTES_MAX: usize = 256 << 10;

/// The maximum size of a group: 4 MiB.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// Called when a commit is made.
pub(crate) type Notify = Box<dyn FnOnce() + Send>;

/// The commits to the trees of one lock.
#[derive(Default)]
pub(crate) struct CommitGroups {
    /// Held while a commit is decided.
    deciding: Mutex<()>,
    state: Mutex<GroupsState>,
    /// A write has ended.
    ended: Condvar,
}

#[derive(Default)]
struct GroupsState {
    /// The number of groups that failed: what was decided on them is void.
    failures: u64,
    /// The group that is being written.
    in_flight: Option<InFlight>,
    open: Option<OpenGroup>,
    /// What the snapshots of the runs lack.
    runs: Vec<Arc<RunChanges>>,
}

/// A group that is being written.
struct InFlight {
    changes: Arc<Changes>,
    outcome: Arc<GroupOutcome>,
}

/// A group that commits can join.
#[derive(Default)]
struct OpenGroup {
    changes: Arc<Changes>,
    batch: Batch,
    /// The keys of the preconditions.
    tested: HashSet<Vec<u8>>,
    notify: Vec<Notify>,
    outcome: Arc<GroupOutcome>,
}

/// The outcome of a group, for its members.
#[derive(Default)]
struct GroupOutcome {
    result: Mutex<Option<Outcome>>,
    decided: Condvar,
}

/// The outcome for one member.
#[derive(Clone, Debug)]
enum Outcome {
    /// The commit is made.
    Made,
    /// Nothing was written: decide again, alone.
    Void,
    /// It is unknown whether the commit was made.
    Unknown(String),
}

impl CommitGroups {
    /// Begins the decision on a commit, on the result of all those that were decided before.
    pub fn decide(self: &Arc<Self>) -> Deciding<'_> {
        self.deciding(self.deciding.lock())
    }

    /// As [`Self::decide`]; `None` if that would wait for another thread.
    pub fn try_decide(self: &Arc<Self>) -> Option<Deciding<'_>> {
        Some(self.deciding(self.deciding.try_lock()?))
    }

    fn deciding<'a>(self: &'a Arc<Self>, guard: MutexGuard<'a, ()>) -> Deciding<'a> {
        let state = self.state.lock();
        let open = state.open.as_ref().map(|open| Arc::clone(&open.changes));
        let in_flight = state.in_flight.as_ref();
        let pending = [in_flight.map(|group| Arc::clone(&group.changes)), open];
        Deciding {
            groups: self,
            failures: state.failures,
            has_pending: pending.iter().any(Option::is_some),
            pending,
            _guard: guard,
        }
    }

    /// Begins a run of decisions on one snapshot, which `snapshot` takes.
    ///
    /// # Errors
    /// Those of `snapshot`.
    pub fn begin_run<E>(
        self: &Arc<Self>,
        snapshot: impl FnOnce() -> Result<Box<dyn Snapshot + Send>, E>,
    ) -> Result<CommitRun, E> {
        let changes = Arc::<RunChanges>::default();
        // Before the snapshot is taken, which may lack what is written from now on.
        self.state.lock().runs.push(Arc::clone(&changes));
        let ended = RunEnd {
            groups: Arc::clone(self),
            changes,
        };
        Ok(CommitRun::new(snapshot()?, ended))
    }

    /// Waits until every commit that was decided is made or has failed. None is decided until the result is dropped.
    pub fn lock(&self) -> MutexGuard<'_, ()> {
        let guard = self.deciding.lock();
        self.wait_for_writes();
        guard
    }

    fn wait_for_writes(&self) {
        let mut state = self.state.lock();
        while state.in_flight.is_some() || state.open.is_some() {
            self.ended.wait(&mut state);
        }
    }

    /// Writes the group as soon as the one before has ended.
    fn write(&self, outcome: &Arc<GroupOutcome>, driver: &dyn Driver) {
        let is_own = |open: &OpenGroup| Arc::ptr_eq(&open.outcome, outcome);
        let mut state = self.state.lock();
        while state.in_flight.is_some() && state.open.as_ref().is_some_and(is_own) {
            self.ended.wait(&mut state);
        }
        // Else it failed with the group before.
        let Some(group) = state.open.take_if(|open| is_own(open)) else {
            return;
        };
        state.in_flight = Some(InFlight {
            changes: group.changes,
            outcome: Arc::clone(&group.outcome),
        });
        drop(state);
        let mut write = Write {
            groups: self,
            outcome: &group.outcome,
            result: Outcome::Unknown("the thread that wrote the commit panicked".to_owned()),
        };
        write.result = match driver.commit(group.batch) {
            Ok(_) => Outcome::Made,
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                Outcome::Unknown(error.to_string())
            }
            Err(_) => Outcome::Void,
        };
        if matches!(write.result, Outcome::Made) {
            for notify in group.notify {
                notify();
            }
        }
    }
}

/// Ends a run when it is dropped.
pub(crate) struct RunEnd {
    groups: Arc<CommitGroups>,
    changes: Arc<RunChanges>,
}

impl Drop for RunEnd {
    fn drop(&mut self) {
        let mut state = self.groups.state.lock();
        state.runs.retain(|run| !Arc::ptr_eq(run, &self.changes));
    }
}

/// The write of a group. Dropping it ends it, also in a panic.
struct Write<'a> {
    groups: &'a CommitGroups,
    outcome: &'a GroupOutcome,
    result: Outcome,
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mut state = self.groups.state.lock();
        let written = state.in_flight.take();
        if matches!(self.result, Outcome::Made) {
            if let Some(group) = written {
                state.runs.iter().for_each(|run| run.add(&group.changes));
            }
        } else {
            state.failures += 1;
            // Another process may have been faster.
            state.runs.clear();
            if let Some(open) = state.open.take() {
                open.outcome.decide(Outcome::Void);
            }
        }
        self.groups.ended.notify_all();
        drop(state);
        self.outcome.decide(self.result.clone());
    }
}

impl GroupOutcome {
    fn decide(&self, outcome: Outcome) {
        *self.result.lock() = Some(outcome);
        self.decided.notify_all();
    }

    fn wait(&self) -> Outcome {
        let mut result = self.result.lock();
        loop {
            match &*result {
                Some(outcome) => return outcome.clone(),
                None => self.decided.wait(&mut result),
            }
        }
    }
}

/// A commit that is being decided. No other one of these trees is.
pub(crate) struct Deciding<'a> {
    groups: &'a Arc<CommitGroups>,
    failures: u64,
    has_pending: bool,
    /// The changes of the group that is being written, and of the open one, until they are read.
    pending: [Option<Arc<Changes>>; 2],
    _guard: MutexGuard<'a, ()>,
}

impl<'a> Deciding<'a> {
    /// Whether the decision depends on commits that are not made yet.
    pub fn has_pending(&self) -> bool {
        self.has_pending
    }

    /// The state after all commits that were decided before, over a snapshot that is taken after [`CommitGroups::decide`]:
    /// it may have the changes of the group that is being written already.
    pub fn over(&mut self, snapshot: Box<dyn Snapshot + Send>) -> Box<dyn Snapshot + Send> {
        let pending = mem::take(&mut self.pending).into_iter().flatten();
        pending.fold(snapshot, |below, changes| {
            Box::new(Overlay::with(below, changes))
        })
    }

    /// The snapshot of a run, with what was written since; [`Self::over`] has the rest. `None` if the run is of other trees, or
    /// a commit failed since it began, or another decision has the snapshot.
    pub fn snapshot_of(&self, run: &CommitRun) -> Option<Box<dyn Snapshot + Send>> {
        let RunEnd { groups, changes } = run.end();
        let state = self.groups.state.lock();
        let is_valid = Arc::ptr_eq(groups, self.groups)
            && state.runs.iter().any(|run| Arc::ptr_eq(run, changes));
        is_valid.then(|| run.snapshot(changes)).flatten()
    }

    /// Waits until the commits that were decided before are made. `false` if one of them failed.
    fn wait_for_pending(&self) -> bool {
        self.groups.wait_for_writes();
        self.groups.state.lock().failures == self.failures
    }

    /// The group whose success confirms what was decided on it: that it fails, or changes nothing.
    pub fn observe(self, driver: &Arc<dyn Driver>) -> Observed {
        let state = self.groups.state.lock();
        if state.failures != self.failures {
            return Observed::Void;
        }
        let open = state.open.as_ref().map(|open| &open.outcome);
        let in_flight = state.in_flight.as_ref().map(|group| &group.outcome);
        match open.or(in_flight) {
            Some(outcome) => Observed::Member(Member {
                groups: Arc::clone(self.groups),
                driver: Arc::clone(driver),
                outcome: Arc::clone(outcome),
                role: Role::Observes,
            }),
            None => Observed::Made,
        }
    }

    /// Adds a commit to the open group. Gives the batch back if it cannot share a write.
    pub fn join(self, batch: Batch, notify: Notify, driver: &Arc<dyn Driver>) -> Joined<'a> {
        let operations_max = driver.capability().operations_max.unwrap_or(usize::MAX);
        let mut state = self.groups.state.lock();
        if state.failures != self.failures {
            return Joined::Void;
        }
        let mut open = state.open.take();
        let is_first = open.is_none();
        let group = open.get_or_insert_default();
        let is_fit = is_shareable(&batch)
            && group.batch.bytes() + batch.bytes() <= GROUP_BYTES_MAX
            && (is_first
                || group.batch.operations().len() + batch.operations().len() <= operations_max);
        if !is_fit {
            state.open = open.filter(|_| !is_first);
            drop(state);
            return Joined::Alone(Alone {
                deciding: self,
                batch,
                notify,
            });
        }
        group.add(batch, notify);
        let outcome = Arc::clone(&group.outcome);
        state.open = open;
        Joined::Member(Member {
            groups: Arc::clone(self.groups),
            driver: Arc::clone(driver),
            outcome,
            role: match is_first {
                true => Role::Writes,
                false => Role::Waits,
            },
        })
    }
}

/// Whether a batch can be part of a group: it is small, and its operations are absolute.
fn is_shareable(batch: &Batch) -> bool {
    let mut operations = batch.operations();
    batch.bytes() <= MEMBER_BYTES_MAX
        && !operations.any(|operation| matches!(operation, OperationRef::Add(..)))
}

impl OpenGroup {
    fn add(&mut self, batch: Batch, notify: Notify) {
        let changes = Arc::make_mut(&mut self.changes);
        let (conditions, operations) = batch.into_parts();
        // What the group writes was tested by the decision, which saw it; it is no longer what is stored.
        let conditions = conditions.into_iter().filter(|condition| {
            !changes.has_written(&condition.key)
                && !changes.is_cleared(&condition.key)
                && self.tested.insert(condition.key.clone())
        });
        self.batch.require_all(conditions);
        for operation in operations {
            match operation.as_ref() {
                OperationRef::Put(key, value) => changes.put(key.to_vec(), value.to_vec()),
                OperationRef::Delete(key) => changes.delete(key.to_vec()),
                OperationRef::DeleteRange(range) => changes.delete_range(range),
                OperationRef::Add(..) => {}
            }
            self.batch.push(operation);
        }
        self.notify.push(notify);
    }
}

/// What became of a commit that was decided.
pub(crate) enum Joined<'a> {
    /// It is part of a group.
    Member(Member),
    /// It cannot share a write.
    Alone(Alone<'a>),
    /// A commit that it was decided on has failed.
    Void,
}

/// A decided commit that cannot share a write. No other one is decided.
pub(crate) struct Alone<'a> {
    deciding: Deciding<'a>,
    batch: Batch,
    notify: Notify,
}

impl Alone<'_> {
    /// Writes the commit after those that it was decided on. `false` if one of them failed, or others were faster.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn write(self, driver: &dyn Driver) -> Result<bool, Error> {
        if !self.deciding.wait_for_pending() {
            return Ok(false);
        }
        match driver.commit(self.batch) {
            Err(error) if error.is_conflict() => return Ok(false),
            committed => drop(committed?),
        }
        (self.notify)();
        Ok(true)
    }
}

/// What became of a group that a decision was made on.
pub(crate) enum Observed {
    /// It is not written yet.
    Member(Member),
    /// It is made.
    Made,
    /// It has failed.
    Void,
}

/// A commit in a group, or an observer of a group. The next commit can be decided.
///
/// The first member writes the group when it waits, or when it is dropped. Until then its thread must not wait for other
/// commits to the same tree.
pub(crate) struct Member {
    groups: Arc<CommitGroups>,
    driver: Arc<dyn Driver>,
    outcome: Arc<GroupOutcome>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Writes the group.
    Writes,
    Waits,
    Observes,
}

impl Member {
    /// Waits until the group is written, by this thread if the commit is its first. `false` if it failed.
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`].
    pub fn wait(mut self) -> Result<bool, Error> {
        self.write();
        match self.outcome.wait() {
            Outcome::Made => Ok(true),
            Outcome::Unknown(message) if self.role != Role::Observes => {
                Err(Error::new(ErrorKind::OutcomeUnknown, message))
            }
            Outcome::Void | Outcome::Unknown(_) => Ok(false),
        }
    }

    fn write(&mut self) {
        if self.role == Role::Writes {
            self.role = Role::Waits;
            self.groups.write(&self.outcome, &*self.driver);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.write();
    }
}
