//! The commit pipeline: the only path from a proposed state to durable data.
//!
//! The steps:
//!
//! 1. *propose*: the caller applies its edits to an overlay; subscribers may add edits;
//! 2. *authorise*: the caller's guard is checked before the proposal, the locks and the access rules after it;
//! 3. *validate* the constraints;
//! 4. *log* the changes in the batch;
//! 5. *announce* the commit to subscribers, which may refuse it;
//! 6. *commit* the batch;
//! 7. *notify* subscribers.
//!
//! `prepare` makes the batch (steps 2 to 5). A conflict with another process repeats all steps on a new snapshot.

use std::borrow::Cow;

use espalier_keyspace::{
    Batch, ConflictRetry, Direction, KeyRange, KeyspaceCause, Precondition, Prefetch, PrefetchList,
    Propose, Snapshot,
};

use espalier_yang::Errors;

use super::change::{each_change, logged_ranges};
use super::commit_options::{Commit, CommitOptions};
use super::confirm::{ConfirmEffect, is_overdue};
use super::datastore::Datastore;
use super::edit::{TouchExtent, TouchedResources};
use super::locate::TreeState;
use super::log::CommitLog;
use super::operational::record_origins;
use super::proposal::Proposal;
use super::stamp::{self, Stamp, StampRecord, stamp_key};
use super::subscribe::{AnnouncedCommit, CommitNote};
use super::too_big::is_too_big;
use super::tree::Tree;
use super::validate::{are_indexes_current, definition_key, rebuild, validate};
use super::view::View;
use crate::clock::Timestamp;
use crate::commit_groups::{Alone, Deciding, Joined, Member, Observed};
use crate::commit_run::CommitRun;
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::subspace::Subspace;

/// The rows that a small commit adds to the log: itself, and some changes.
const LOG_ROWS: usize = 4;

/// The version and the preconditions that a commit is based on.
pub(super) struct Basis {
    /// The newest commit.
    pub last: Stamp,
    /// The stamp of this commit.
    pub next: Stamp,
    /// The datastore, its anchor and its modules are unchanged.
    pub conditions: [Precondition; 3],
}

impl Tree {
    /// Commits the state that `propose` derives from the newest one. Retries if another process changed the
    /// datastore meanwhile.
    pub(super) fn propose_and_commit(
        &self,
        options: CommitOptions<'_>,
        propose: &mut dyn FnMut(View) -> Result<Proposal>,
    ) -> Result<Commit> {
        self.propose_and_commit_with(options, ConfirmEffect::Edit, &|_| {}, propose)
    }

    /// As [`Self::propose_and_commit`], with the commit's effect on a pending confirmed commit, and the reads to
    /// prefetch.
    ///
    /// Operational state is validated against the running configuration of this snapshot. Running may
    /// change before the commit; operational state may then violate its constraints (RFC 8342, section
    /// 5.3).
    pub(super) fn propose_and_commit_with(
        &self,
        options: CommitOptions<'_>,
        effect: ConfirmEffect<'_>,
        expect: Prefetch<'_>,
        propose: &mut dyn FnMut(View) -> Result<Proposal>,
    ) -> Result<Commit> {
        self.check_not_in_subscriber_call()?;
        loop {
            let result = self.commit_locked(options, effect, expect, propose);
            if !result.as_ref().is_err_and(is_overdue) {
                return self.or_replaced_modules(result);
            }
            self.expire()?;
        }
    }

    /// If the modules were replaced, any error may follow from that: reports the replacement instead.
    pub(super) fn or_replaced_modules<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.check_modules(&*self.store().driver().snapshot()?)?;
        }
        result
    }

    fn commit_locked(
        &self,
        options: CommitOptions<'_>,
        effect: ConfirmEffect<'_>,
        expect: Prefetch<'_>,
        propose: &mut dyn FnMut(View) -> Result<Proposal>,
    ) -> Result<Commit> {
        let mut decide = |snapshot| self.decide(snapshot, options, effect, propose);
        if self.may_share_writes(effect)
            && let Some(commit) = self.commit_in_group(expect, &mut decide)?
        {
            return Ok(commit);
        }
        let _one_at_a_time = self.store().lock(self.id());
        let snapshot = || self.snapshot_with_indexes(expect);
        let prepared = self.transact(ConflictRetry::new(), &snapshot, &mut decide)?;
        Ok(prepared.notify())
    }

    /// The steps before the commit itself, on a snapshot.
    fn decide(
        &self,
        snapshot: Box<dyn Snapshot + Send>,
        options: CommitOptions<'_>,
        effect: ConfirmEffect<'_>,
        propose: &mut dyn FnMut(View) -> Result<Proposal>,
    ) -> Result<(Batch, PreparedCommit)> {
        let view = self.stored_view_of(snapshot)?.for_change();
        let view = view.with_access(options.access.cloned());
        // Authorise: the caller's guard.
        if let Some(guard) = options.guard {
            guard(&view)?;
        }
        // Propose.
        let proposal = propose(view)?;
        self.prepare(proposal, options, effect)
    }

    /// Whether commits can be decided on others that are not made yet. A subscriber that is part of commits learns the
    /// outcome of each before the next one.
    fn may_share_writes(&self, effect: ConfirmEffect<'_>) -> bool {
        matches!(effect, ConfirmEffect::Edit) && !self.has_subscribers()
    }

    /// Decides a commit without waiting for its write, if that is possible at once.
    pub(super) fn propose_and_begin(
        &self,
        options: CommitOptions<'_>,
        expect: Prefetch<'_>,
        run: Option<&CommitRun>,
        propose: &mut dyn FnMut(View) -> Result<Proposal>,
    ) -> Option<BegunCommit> {
        let effect = ConfirmEffect::Edit;
        if !self.may_share_writes(effect) {
            return None;
        }
        let deciding = self.store().commits(self.id()).try_decide()?;
        let mut decide = |snapshot| self.decide(snapshot, options, effect, propose);
        let snapshot = run.and_then(|run| deciding.snapshot_of(run));
        let snapshot = snapshot.map_or_else(|| self.snapshot_with_indexes(expect), Ok);
        match self.decide_in_group(deciding, snapshot.ok()?, &mut decide) {
            Ok(InGroup::Pending(pending)) => Some(pending),
            Ok(InGroup::Alone(..) | InGroup::Void) | Err(_) => None,
        }
    }

    /// Begins a run of a number of commits that were asked for before, with what they are expected to read. `None` if the
    /// engine takes snapshots without waiting for others, or cannot take one now: each then takes its own.
    pub fn begin_run(&self, commits: usize, expect: Prefetch<'_>) -> Option<CommitRun> {
        let driver = self.store().driver();
        if !driver.capability().remote {
            return None;
        }
        let expect = |expected: &mut PrefetchList| {
            expect(expected);
            // Each may delete the oldest version.
            expected.range(self.kept_log(), commits * LOG_ROWS);
            expected.remove_repeated();
        };
        let groups = self.store().commits(self.id());
        groups
            .begin_run(|| self.snapshot_with_indexes(&expect))
            .ok()
    }

    /// Commits in a group. `None` if it has to be decided again, alone: it failed, or what it was decided on did.
    fn commit_in_group(
        &self,
        expect: Prefetch<'_>,
        decide: Propose<'_, PreparedCommit, Error>,
    ) -> Result<Option<Commit>> {
        let deciding = self.store().commits(self.id()).decide();
        let snapshot = self.snapshot_with_indexes(expect)?;
        match self.decide_in_group(deciding, snapshot, decide)? {
            InGroup::Pending(pending) => pending.settle(),
            InGroup::Alone(commit, alone) => {
                let is_made = alone.write(&**self.store().driver())?;
                Ok(is_made.then_some(commit))
            }
            InGroup::Void => Ok(None),
        }
    }

    /// Decides a commit on those that were decided before.
    fn decide_in_group<'a>(
        &self,
        mut deciding: Deciding<'a>,
        snapshot: Box<dyn Snapshot + Send>,
        decide: Propose<'_, PreparedCommit, Error>,
    ) -> Result<InGroup<'a>> {
        let driver = self.store().driver();
        let has_pending = deciding.has_pending();
        let version = snapshot.version();
        let (batch, prepared) = match decide(deciding.over(snapshot)) {
            Ok((batch, prepared)) if prepared.commit.is_changed => (batch, prepared),
            Err(error) if error.is_conflict() || is_overdue(&error) => return Ok(InGroup::Void),
            // No precondition protects an error, or the decision to change nothing: the group does, or the version.
            decided => {
                let member = match has_pending {
                    true => match deciding.observe(driver) {
                        Observed::Member(member) => Some(member),
                        Observed::Made => None,
                        Observed::Void => return Ok(InGroup::Void),
                    },
                    false if driver.is_current(version)? => None,
                    false => return Ok(InGroup::Void),
                };
                let decided = decided.map(|(_, prepared)| prepared.commit);
                return Ok(InGroup::Pending(BegunCommit { decided, member }));
            }
        };
        let commit = prepared.commit;
        let notify = Box::new(|| {
            prepared.notify();
        });
        Ok(match deciding.join(batch, notify, driver) {
            Joined::Member(member) => InGroup::Pending(BegunCommit {
                decided: Ok(commit),
                member: Some(member),
            }),
            Joined::Alone(alone) => InGroup::Alone(commit, alone),
            Joined::Void => InGroup::Void,
        })
    }

    pub(super) fn commit_proposal(
        &self,
        proposal: Proposal,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        let (batch, prepared) = self.prepare(proposal, options, ConfirmEffect::Edit)?;
        if prepared.commit.is_changed {
            self.store().driver().commit(batch)?;
        }
        Ok(prepared.notify())
    }

    /// All steps before the commit itself. The batch is empty if the proposal changes nothing.
    fn prepare(
        &self,
        mut proposal: Proposal,
        options: CommitOptions<'_>,
        effect: ConfirmEffect<'_>,
    ) -> Result<(Batch, PreparedCommit)> {
        // Authorise: the locks, the access rules.
        let Proposal { overlay, extra, .. } = &mut proposal;
        let pinned = self.authorise(overlay, options.session, effect, extra)?;
        self.authorise_changes(
            options.access.map(|access| &**access),
            self.proposed_changes(&proposal.overlay),
        )?;
        self.propose_subscriber_edits(&mut proposal.overlay, &mut proposal.touched)?;
        // Validate.
        if self.is_validated() {
            let effort = validate(self.compiled(), self.id(), &mut proposal)?;
            self.store().count_effort(effort);
        }
        // Log.
        let Proposal {
            mut overlay,
            mut touched,
            extra,
        } = proposal;
        let Basis {
            last,
            next: stamp,
            conditions,
        } = self.basis(overlay.base())?;
        let mut log = CommitLog::new(
            self.id(),
            stamp.version,
            stamp.time,
            options.author,
            options.comment,
        );
        let mut batch = extra;
        batch.hint_sequential_reads();
        self.log_changes(&overlay, &mut log, &mut batch)?;
        if !log.has_records() {
            return Ok((Batch::new(), PreparedCommit::unchanged(last)));
        }
        // Announce.
        let announced = self.announce(&overlay)?;
        // The rest of the batch: the data, the stamps, what retention removes, the preconditions.
        if self.datastore() == Datastore::Operational {
            record_origins(&mut overlay, self.compiled(), self.id(), options.origin)?;
            // Its parts have no validators: the data of providers changes without a commit.
            let whole = self.tree_key();
            touched.retain(|key| key == whole);
        }
        let stamps = stamps(&overlay, touched, stamp)?;
        let base = put_changes(overlay, &mut batch)?;
        for (key, value) in stamps {
            batch.put(key, value);
        }
        log.finish(&mut batch)?;
        self.prune(base.base(), stamp, pinned, &mut batch)?;
        batch.require_all(conditions);
        drop(base);
        let prepared = PreparedCommit::changed(stamp, announced, options);
        Ok((batch, prepared))
    }

    /// Writes the changes to the log. A key or value that exceeds the limits of the key space is an error.
    fn log_changes(&self, overlay: &Overlay, log: &mut CommitLog, batch: &mut Batch) -> Result<()> {
        let mut too_big = Vec::new();
        each_change(overlay, &logged_ranges(self.id()), &mut |change| {
            if let Some(new) = change.new.filter(|new| is_too_big(change.key, new)) {
                too_big.push((change.key.to_vec(), new.to_vec()));
            }
            log.record(change.key, change.old, change.new, batch)
        })?;
        let state = TreeState::new(overlay, self.compiled(), self.id());
        let mut errors = Errors::new();
        for (key, value) in too_big {
            errors.push(state.too_big(&key, &value)?);
        }
        Ok(errors.into_result()?)
    }

    /// The stored state, with the indexes that the constraints need.
    fn snapshot_with_indexes(&self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot + Send>> {
        let driver = self.store().driver();
        let snapshot = driver.snapshot_for_update(&|expected| {
            self.expect_commit_reads(expected);
            expect(expected);
        })?;
        if !self.is_validated() || are_indexes_current(self.compiled(), self.id(), &*snapshot)? {
            return Ok(snapshot);
        }
        drop(snapshot);
        self.ensure_indexes()?;
        Ok(driver.snapshot()?)
    }

    /// Prefetches what every commit reads.
    fn expect_commit_reads(&self, expected: &mut PrefetchList) {
        expected.key(stamp_key(&self.tree_key()));
        expected.key(self.lock_key());
        if self.is_validated() && !self.compiled().index_definition().is_empty() {
            expected.key(definition_key(self.id()));
        }
        // The retention of the log, and its oldest version.
        expected.key(self.id().prefix(Subspace::Log));
        expected.range(self.kept_log(), 1);
        if self.datastore() == Datastore::Operational {
            let origins = self.id().prefix(Subspace::Origin);
            expected.range(KeyRange::prefix(&origins), 1);
        }
    }

    /// Rebuilds the indexes if a changed model needs others than those stored.
    pub(super) fn ensure_indexes(&self) -> Result<()> {
        if !self.is_validated() {
            return Ok(());
        }
        let snapshot = self.store().driver().snapshot()?;
        if are_indexes_current(self.compiled(), self.id(), &*snapshot)? {
            return Ok(());
        }
        let Basis { conditions, .. } = self.basis(&*snapshot)?;
        drop(snapshot);
        let driver = self.store().driver();
        let written = espalier_keyspace::write(&**driver, &conditions, &mut |writer| {
            rebuild(self.compiled(), self.id(), writer)
        });
        match self.checked_conflict(written) {
            Err(error) if error.is_conflict() => self.ensure_indexes(),
            written => written.map(drop),
        }
    }

    /// The version and preconditions of a commit on a snapshot. A version's time is before its
    /// predecessor's only if a clock was wrong.
    pub(super) fn basis(&self, snapshot: &dyn Snapshot) -> Result<Basis> {
        let root = stamp_key(&self.tree_key());
        let stored = snapshot.get(&root)?.map(Cow::into_owned);
        let record = stored
            .as_deref()
            .map_or(Ok(StampRecord::default()), StampRecord::decode)?;
        let last = record.any;
        Ok(Basis {
            last,
            next: Stamp {
                version: last.version + 1,
                time: self.time_after(last),
            },
            conditions: [
                Precondition {
                    key: root,
                    value: stored,
                },
                self.anchor_precondition(),
                self.compiled().modules_precondition.clone(),
            ],
        })
    }
}

impl Tree {
    /// The time of the commit that follows `last`.
    fn time_after(&self, last: Stamp) -> Timestamp {
        let now = self.store().now();
        if last.time.is_ahead_of(now) {
            let ahead = last.time.since(now).as_secs();
            tracing::warn!(
                version = last.version,
                seconds = ahead,
                "the time of this version is in the future: the clock of the machine that committed it was ahead, \
                 or the local clock is behind"
            );
        }
        now.after(last.time)
    }
}

/// A decision on a commit that may share a write.
enum InGroup<'a> {
    Pending(BegunCommit),
    /// It cannot share a write.
    Alone(Commit, Alone<'a>),
    /// What it was decided on has failed.
    Void,
}

/// A commit that is decided, and may not be written yet.
///
/// The thread that has one must not wait for another commit to the same tree before it has settled this one: it may be the
/// one that writes both.
#[must_use = "dropping this writes the commit too, but nobody learns the outcome"]
pub struct BegunCommit {
    decided: Result<Commit>,
    /// The group that it is part of, or was decided on.
    member: Option<Member>,
}

impl BegunCommit {
    /// Waits until the commit is written. `None` if it has to be decided again, because it failed by the fault of others.
    ///
    /// # Errors
    /// Those of [`Tree::commit`].
    pub(super) fn settle(self) -> Result<Option<Commit>> {
        let is_made = self.member.map_or(Ok(true), Member::wait)?;
        match is_made {
            true => self.decided.map(Some),
            false => Ok(None),
        }
    }
}

/// A commit whose batch is complete.
struct PreparedCommit {
    commit: Commit,
    /// The recipients of the notification, if anything changes.
    announced: Option<(Stamp, AnnouncedCommit, CommitNote)>,
}

impl PreparedCommit {
    fn unchanged(last: Stamp) -> Self {
        Self {
            commit: Commit {
                version: last.version,
                time: last.time,
                is_changed: false,
            },
            announced: None,
        }
    }

    fn changed(stamp: Stamp, announced: AnnouncedCommit, options: CommitOptions<'_>) -> Self {
        let note = match announced.has_recipients() {
            true => CommitNote {
                author: options.author.to_owned(),
                comment: options.comment.to_owned(),
            },
            false => CommitNote::default(),
        };
        Self {
            commit: Commit {
                version: stamp.version,
                time: stamp.time,
                is_changed: true,
            },
            announced: Some((stamp, announced, note)),
        }
    }

    /// Notifies subscribers after the commit.
    fn notify(self) -> Commit {
        if let Some((stamp, announced, note)) = self.announced {
            announced.notify(stamp, &note);
        }
        self.commit
    }
}

/// Puts the changes of an overlay into a batch and returns the overlay's base. A cleared range is deleted
/// as a range if nothing is written in it.
pub(super) fn put_changes(overlay: Overlay, batch: &mut Batch) -> Result<Overlay> {
    for cleared in overlay.cleared() {
        if !overlay.writes_in(&cleared) {
            batch.delete_range(cleared);
            continue;
        }
        let mut cursor = overlay.base().scan(&cleared, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            if !overlay.has_written(key) {
                batch.delete(key);
            }
        }
    }
    let (base, changes) = overlay.split();
    batch.reserve(changes.written_len());
    for (key, new) in changes.into_written() {
        let old = base.get_from_base(&key)?;
        match new {
            new if new.as_deref() == old.as_deref() => {}
            Some(new) => batch.put(key, new),
            None => batch.delete(key),
        }
    }
    Ok(base)
}

/// Writes the stamps of the touched resources into the overlay.
pub(super) fn write_stamps(
    overlay: &mut Overlay,
    touched: TouchedResources,
    stamp: Stamp,
) -> Result<()> {
    for (key, value) in stamps(overlay, touched, stamp)? {
        overlay.put(key, value);
    }
    Ok(())
}

/// The keys and values of the stamps of the touched resources. Enclosing resources are touched too and come
/// first. A new resource inside a new one is stamped as well: candidates compare the stamps of running one
/// by one.
fn stamps(
    overlay: &Overlay,
    touched: TouchedResources,
    stamp: Stamp,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut stamps = Vec::with_capacity(touched.len());
    let mut ancestors: Vec<(Vec<u8>, Stamp)> = Vec::new();
    for (key, touch) in touched.into_entries() {
        while ancestors
            .last()
            .is_some_and(|(outer, _)| !key.starts_with(outer))
        {
            ancestors.pop();
        }
        let inherited = ancestors
            .last()
            .map(|(_, whole)| *whole)
            .unwrap_or_default();
        let whole = match touch {
            TouchExtent::Whole => stamp,
            TouchExtent::Within => {
                stamp::record(overlay, &key)?.map_or(inherited, |record| record.whole)
            }
        };
        let record = StampRecord { any: stamp, whole };
        stamps.push((stamp_key(&key), record.encode()));
        ancestors.push((key, whole));
    }
    Ok(stamps)
}
