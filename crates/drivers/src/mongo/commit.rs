//! Commits: prepared on the newest state, then inserted into the chain under the next version.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, OperationRef, Result, Version, counter};
use mongodb::bson::doc;

use super::engine::{
    Commit, CommittedState, Edits, Engine, Inserted, Observation, Overlay, PageReader, PageSink,
    PageWriter, RequestFailure, TURN_MAX, VERSION_MAX, WriteConcern, version_text,
};
use super::snapshot::StateView;
use crate::recent_commits::{Changes, Effect, Recorder};

/// How much longer a commit may take for each of its operations.
const OPERATION_TIMEOUT: Duration = Duration::from_micros(200);

/// Maximum bytes of changes in a commit's own document; a commit with more writes a new tree.
const CHANGES_BYTES: usize = 256 << 10;

/// Bytes of a change in addition to its key and value: a tag and two lengths.
const CHANGE_BYTES: usize = 9;

/// Maximum number of commits after a tree: a process that opens the key space reads all of them.
const TAIL_COMMITS: u64 = 512;

/// Maximum number of changes after a tree.
const TAIL_CHANGES: usize = 16_384;

/// Maximum number of names of freed pages in a commit's own document.
const FREED_MAX: usize = 10_000;

/// How often the next turn is requested before the commit is retried without it.
const TURN_REQUESTS_MAX: usize = 1000;

/// How often to read whether another commit has appeared.
const POLL: Duration = Duration::from_millis(2);

/// A tree is written without another read of the newest version if the state was the newest within this time.
const RECENTLY: Duration = Duration::from_millis(50);

/// Shortest time for which other processes leave the next commit to the one that requested the turn.
const TURN_MIN: Duration = Duration::from_secs(1);

/// That time as a multiple of the duration of the attempt that lost.
const TURN_FACTOR: u32 = 4;

/// Applies a batch; if a version is given, only if it is still the newest. Returns the resulting version and,
/// if the batch had an effect, the version before it.
pub(super) fn commit(
    engine: &Engine,
    batch: &Batch,
    unchanged_since: Option<Version>,
) -> Result<(Version, Option<Version>)> {
    let committed = {
        let mut own_turn = engine.turn.lock();
        commit_in_turn(engine, &mut own_turn, batch, unchanged_since)?
    };
    engine.prune();
    Ok(committed)
}

/// Applies a batch. `own_turn` is the version after which it is this process's turn: a turn that this version
/// reserves does not delay it.
fn commit_in_turn(
    engine: &Engine,
    own_turn: &mut Option<u64>,
    batch: &Batch,
    unchanged_since: Option<Version>,
) -> Result<(Version, Option<Version>)> {
    let count = u32::try_from(batch.operations().len()).unwrap_or(u32::MAX);
    let mut deadline = Instant::now() + engine.server.timeout + OPERATION_TIMEOUT * count;
    // If another process has committed since, the insert of the next version fails.
    let (mut state, mut observed) = engine.cached_newest()?;
    let mut is_reread = false;
    loop {
        let turn = state.turn.filter(|_| *own_turn != Some(state.version));
        if let Some(timeout) = turn {
            let begun = Instant::now();
            wait_for_turn_holder(engine, state.version, timeout)?;
            *own_turn = Some(state.version);
            deadline += begun.elapsed();
        } else {
            match prepare(engine, &state, batch, unchanged_since) {
                Err(error) if error.kind() == ErrorKind::SnapshotTooOld => {}
                Ok(prepared) if prepared.has_effect() => {
                    let needs_tree = prepared.needs_tree(engine, &state);
                    // Writing a tree takes time, so it is not based on an outdated state.
                    let is_newest =
                        is_reread || !needs_tree || observed.at.elapsed() < RECENTLY || {
                            let (newest, now) = engine.newest()?;
                            observed = now;
                            newest.version == state.version
                        };
                    if is_newest {
                        let begun = Instant::now();
                        if let Some(version) =
                            attempt(engine, &state, observed, prepared, needs_tree)?
                        {
                            return Ok((version, Some(Version(state.version))));
                        }
                        if needs_tree {
                            *own_turn = request_turn(engine, begun.elapsed())?;
                        }
                    }
                }
                undecided => {
                    if is_reread || engine.is_newest(&state, observed)? {
                        return undecided.map(|_| (Version(state.version), None));
                    }
                }
            }
        }
        if Instant::now() >= deadline {
            let message = "other processes committed first on every attempt; try again";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        (state, observed) = engine.newest()?;
        is_reread = true;
    }
}

/// A batch applied to a state, not yet written.
struct PreparedCommit<'b> {
    /// The new overlay of the tree; `None` if it is the state's overlay plus the recorded changes.
    overlay: Option<Overlay>,
    recorder: Recorder,
    /// Rows that are set after the overlay, in key order.
    rows: Vec<(&'b [u8], &'b [u8])>,
}

impl PreparedCommit<'_> {
    fn has_effect(&self) -> bool {
        self.recorder.effect() == Effect::Changed
    }

    /// Whether the overlay would be too large with this commit, so that it has to write a new tree.
    fn needs_tree(&self, engine: &Engine, state: &CommittedState) -> bool {
        let Some(changes) = self.recorder.changes() else {
            return true;
        };
        let own = changes.bytes().len();
        let (bytes, count) = match &self.overlay {
            Some(overlay) => (overlay.bytes(), overlay.change_count()),
            None => {
                let before = &state.overlay;
                (
                    before.bytes() + own,
                    before.change_count() + changes.iter().count(),
                )
            }
        };
        own > CHANGES_BYTES.min(engine.tail_bytes)
            || bytes > engine.tail_bytes
            || count > TAIL_CHANGES
            || state.version - state.tree_version >= TAIL_COMMITS
    }
}

/// Applies a batch to a state, in memory.
fn prepare<'b>(
    engine: &Engine,
    state: &CommittedState,
    batch: &'b Batch,
    unchanged_since: Option<Version>,
) -> Result<PreparedCommit<'b>> {
    if state.version >= VERSION_MAX - 1 {
        let message = "the key space has reached the largest version number; copy it to a new one";
        return Err(Error::new(ErrorKind::Full, message));
    }
    if unchanged_since.is_some_and(|expected| expected.0 != state.version) {
        let message = "another process has committed since";
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let existence = check_preconditions(engine, state, batch)?;
    if batch.bytes() > CHANGES_BYTES
        && let Some(rows) = independent_rows(batch)
    {
        let mut recorder = Recorder::overflowed();
        let rest = batch.operations().filter(|operation| !is_put(operation));
        let overlay = apply(engine, state, rest, &existence, &mut recorder)?;
        return Ok(PreparedCommit {
            overlay: Some(overlay),
            recorder,
            rows,
        });
    }
    let bytes = batch.bytes() + CHANGE_BYTES * batch.operations().len();
    let mut recorder = Recorder::with_capacity(bytes);
    let overlay = match bytes <= CHANGES_BYTES && record_puts(batch, &mut recorder) {
        true => None,
        false => {
            let all = batch.operations();
            Some(apply(engine, state, all, &existence, &mut recorder)?)
        }
    };
    let rows = Vec::new();
    Ok(PreparedCommit {
        overlay,
        recorder,
        rows,
    })
}

/// Records a batch that only sets rows, which does not depend on the state. Returns `false`, and records
/// nothing, if the batch has other operations.
fn record_puts(batch: &Batch, recorder: &mut Recorder) -> bool {
    let has_only_puts = batch.operations().all(|operation| is_put(&operation));
    if has_only_puts {
        for operation in batch.operations() {
            if let OperationRef::Put(key, value) = operation {
                recorder.put(key, value);
            }
        }
    }
    has_only_puts
}

fn is_put(operation: &OperationRef<'_>) -> bool {
    matches!(operation, OperationRef::Put(..))
}

/// Records the changes of operations. Returns the new overlay of the tree.
fn apply<'b>(
    engine: &Engine,
    state: &CommittedState,
    operations: impl Iterator<Item = OperationRef<'b>>,
    existence: &HashMap<&[u8], bool>,
    recorder: &mut Recorder,
) -> Result<Overlay> {
    let mut overlay = state.overlay.clone();
    for operation in operations {
        let view = StateView::of(engine, state, &overlay);
        match operation {
            OperationRef::Put(key, value) => {
                overlay.put(key, value);
                recorder.put(key, value);
            }
            OperationRef::Add(key, delta) => {
                let sum = counter::add(key, view.get(key)?.as_deref(), delta)?;
                overlay.put(key, &sum);
                recorder.put(key, &sum);
            }
            OperationRef::Delete(key) => {
                let exists = match (overlay.get(key), existence.get(key)) {
                    (Some(value), _) => value.is_some(),
                    (None, Some(exists)) => *exists,
                    (None, None) => view.get(key)?.is_some(),
                };
                if exists {
                    overlay.delete(key);
                    recorder.delete(key);
                }
            }
            OperationRef::DeleteRange(range) => {
                if view.has_any(range)? {
                    overlay.delete_range(range);
                    recorder.delete_range(range);
                }
            }
        }
    }
    Ok(overlay)
}

/// The rows that a batch sets, in key order, if they are large in total and no other operation of the batch
/// touches them. Bulk loads mostly have their rows in order already, or nearly.
fn independent_rows(batch: &Batch) -> Option<Vec<(&[u8], &[u8])>> {
    let mut rows = Vec::<(&[u8], &[u8])>::new();
    for operation in batch.operations() {
        if let OperationRef::Put(key, value) = operation {
            rows.push((key, value));
        }
    }
    let bytes = rows.iter().map(|(key, value)| key.len() + value.len());
    if bytes.sum::<usize>() <= CHANGES_BYTES {
        return None;
    }
    // Of several rows with one key, the last one wins.
    rows.sort_by_key(|(key, _)| *key);
    rows.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            *earlier = *later;
        }
        is_same
    });
    let is_independent = |operation| match operation {
        OperationRef::Put(..) => true,
        OperationRef::Add(key, _) | OperationRef::Delete(key) => {
            rows.binary_search_by_key(&key, |(key, _)| *key).is_err()
        }
        OperationRef::DeleteRange(range) => {
            let at = rows.partition_point(|(key, _)| *key < &*range.start);
            let next = rows.get(at);
            next.is_none_or(|(key, _)| !range.is_before_end(key))
        }
    };
    batch.operations().all(is_independent).then_some(rows)
}

/// Checks the preconditions. Returns for each of their keys whether it exists.
fn check_preconditions<'b>(
    engine: &Engine,
    state: &CommittedState,
    batch: &'b Batch,
) -> Result<HashMap<&'b [u8], bool>> {
    let conditions = batch.preconditions();
    let is_read = |operation: &OperationRef<'_>| {
        matches!(operation, OperationRef::Delete(_) | OperationRef::Add(..))
    };
    let view = StateView::of(engine, state, &state.overlay);
    let is_met = batch.is_assumed_met_at(Version(state.version));
    let conditions_read = conditions.iter().filter(|_| !is_met);
    let mut keys: Vec<_> = conditions_read
        .map(|condition| condition.key.as_slice())
        .collect();
    let existence = conditions
        .iter()
        .map(|condition| (condition.key.as_slice(), condition.value.is_some()));
    let existence: HashMap<_, _> = existence.collect();
    for operation in batch.operations().filter(is_read) {
        if let OperationRef::Delete(key) | OperationRef::Add(key, _) = operation
            && !existence.contains_key(key)
        {
            keys.push(key);
        }
    }
    view.prefetch(&keys)?;
    if !is_met {
        for condition in conditions {
            if view.get(&condition.key)?.as_deref() != condition.value.as_deref() {
                return Err(Error::conflict(&condition.key));
            }
        }
    }
    Ok(existence)
}

/// Inserts a prepared commit as the version after `state`, which was the newest at `observed`. Returns `None`
/// if another commit has that version.
fn attempt(
    engine: &Engine,
    state: &CommittedState,
    observed: Observation,
    prepared: PreparedCommit<'_>,
    needs_tree: bool,
) -> Result<Option<Version>> {
    let changes = prepared.recorder.into_changes();
    if !needs_tree {
        let commit = Commit::after(state, changes);
        return insert_commit(engine, state, observed, commit, prepared.overlay);
    }
    let overlay = prepared
        .overlay
        .unwrap_or_else(|| state.overlay.with(changes.as_ref()));
    let changes = changes.filter(|changes| changes.bytes().len() <= CHANGES_BYTES);
    let commit = Commit::after(state, changes);
    let name = commit.transaction.clone();
    let edits = Edits {
        overlay: &overlay,
        rows: &prepared.rows,
    };
    let inserted = write_tree(engine, state, edits, commit).and_then(|commit| {
        insert_commit(engine, state, observed, commit, Some(Overlay::default()))
    });
    match &inserted {
        Ok(Some(_)) => {}
        // The commit may exist: if it does not, its pages are found later by its draft.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::OutcomeUnknown | ErrorKind::Unavailable
            ) => {}
        Ok(None) | Err(_) => engine.drop_pages(&name),
    }
    match inserted {
        // Writing the tree took longer than old pages are kept.
        Err(error) if error.kind() == ErrorKind::SnapshotTooOld => Ok(None),
        inserted => inserted,
    }
}

/// Writes the tree of a commit: the tree of the state, with changes.
fn write_tree(
    engine: &Engine,
    state: &CommittedState,
    edits: Edits<'_>,
    commit: Commit,
) -> Result<Commit> {
    let version = state.version;
    let pages = PageReader { engine, version };
    let draft = engine.insert_draft(&commit);
    let mut writer = PageWriter::of(engine, &commit.transaction, draft);
    let edited = state
        .tree
        .edit(&pages, edits, &mut writer, engine.page_bytes)?;
    let (mut freed, mut freed_lists) = (edited.freed, Vec::new());
    if freed.len() > FREED_MAX {
        freed_lists = writer.write_freed(&freed)?;
        freed.clear();
    }
    writer.flush()?;
    drop(writer);
    Ok(Commit {
        tree: edited.tree,
        tree_version: commit.version,
        freed,
        freed_lists,
        ..commit
    })
}

/// Inserts a commit into the chain; `None` if another commit has its version. `overlay` is the overlay of its
/// tree, if it was computed already.
fn insert_commit(
    engine: &Engine,
    before: &CommittedState,
    observed: Observation,
    commit: Commit,
    overlay: Option<Overlay>,
) -> Result<Option<Version>> {
    // Nothing has been sent yet, so the newest version can still be read.
    let observed = match engine.is_fresh(observed) {
        true => observed,
        false => {
            let (newest, now) = engine.newest()?;
            if newest.transaction != before.transaction {
                return Ok(None);
            }
            now
        }
    };
    let before_insert = engine.observation();
    let documents = vec![commit.document()];
    let pending = engine
        .server
        .begin_insert("commits", documents, WriteConcern::Configured);
    // Computed while the server processes the insert.
    let overlay = overlay.unwrap_or_else(|| before.overlay.with(commit.changes.as_ref()));
    let state = Arc::new(CommittedState::of_commit(&commit, overlay));
    let inserted = pending.wait().map_err(insert_error)?;
    if !is_in_chain(engine, before, observed, &commit, inserted)? {
        return Ok(None);
    }
    engine
        .chain
        .record_own(&state, commit.changes, before_insert);
    Ok(Some(Version(state.version)))
}

/// Whether a commit that was inserted is part of the chain.
fn is_in_chain(
    engine: &Engine,
    before: &CommittedState,
    observed: Observation,
    commit: &Commit,
    inserted: Inserted,
) -> Result<bool> {
    let withdraw = || {
        let own = doc! {
            "_id": version_text(commit.version),
            "transaction": &commit.transaction,
        };
        let withdrawn = engine
            .server
            .delete("commits", vec![own], 1, WriteConcern::Configured);
        withdrawn.map_err(outcome_unknown)
    };
    let is_fresh = engine.is_fresh(observed);
    // The floor is raised before anything is deleted.
    let is_readable = |version: u64| Ok(engine.floor().map_err(outcome_unknown)? <= version);
    // This process was suspended for so long that commits were deleted: they may have followed this one, or the
    // one before it. It is not possible to find out which.
    let suspended = || {
        withdraw()?;
        let message = "this process was suspended for longer than commits are kept";
        Err(outcome_unknown(Error::new(ErrorKind::Unavailable, message)))
    };
    if !is_fresh && !is_readable(commit.version)? {
        return suspended();
    }
    if inserted == Inserted::SomeExisted && !is_stored(engine, commit).map_err(outcome_unknown)? {
        return Ok(false);
    }
    // A server that crashed may have lost the commit before this one.
    if !is_fresh && !engine.still_has(before).map_err(outcome_unknown)? {
        if is_readable(before.version)? {
            withdraw()?;
            return Err(engine.lost_commits(before));
        }
        if !is_readable(commit.version)? {
            return suspended();
        }
    }
    Ok(true)
}

/// Whether the stored commit of this version is this commit, and not one of another process.
fn is_stored(engine: &Engine, commit: &Commit) -> Result<bool> {
    let deadline = Instant::now() + engine.server.timeout;
    loop {
        // It may not have reached a majority yet.
        match engine.commit_at(commit.version)? {
            Some(stored) => return Ok(stored.transaction == commit.transaction),
            None if Instant::now() < deadline => thread::sleep(POLL),
            None => {
                let message = format!(
                    "MongoDB at {} has no majority of members, or the key space was deleted",
                    engine.server.address
                );
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
    }
}

/// The error of a commit that was not acknowledged.
fn insert_error(failure: RequestFailure) -> Error {
    match failure.may_be_applied {
        true => outcome_unknown(failure.error),
        false => failure.error,
    }
}

fn outcome_unknown(error: Error) -> Error {
    let message = format!(
        "the connection broke during a commit ({error}); it is unknown whether the commit was \
         applied; read before trying again"
    );
    Error::new(ErrorKind::OutcomeUnknown, message)
}

/// Inserts a commit that reserves the next version for this process, which lost a race after `took`. Returns
/// the version of that commit; `None` if another process has the turn, or commits were always first.
fn request_turn(engine: &Engine, took: Duration) -> Result<Option<u64>> {
    let timeout = (took * TURN_FACTOR).clamp(TURN_MIN, TURN_MAX);
    for _ in 0..TURN_REQUESTS_MAX {
        let (state, observed) = engine.newest()?;
        if state.turn.is_some() {
            return Ok(None);
        }
        let request = Commit {
            turn: Some(timeout),
            ..Commit::after(&state, Some(Changes::new()))
        };
        match insert_commit(engine, &state, observed, request, None) {
            Ok(None) => {}
            Ok(Some(version)) => return Ok(Some(version.0)),
            // Only the request is uncertain: the commit goes on without a turn.
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Waits until the process that requested the turn has committed, or until the timeout.
fn wait_for_turn_holder(engine: &Engine, version: u64, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    while engine.newest()?.0.version == version && Instant::now() < deadline {
        thread::sleep(POLL);
    }
    Ok(())
}
