//! Commits: worked out on the newest state, put in their place in the chain.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, OperationRef, Result, Version, counter};
use mongodb::bson::doc;

use super::engine::{
    Commit, Edits, Engine, Inserted, Make, NewPages, Overlay, PagesOf, Sight, State, Sure,
    TURN_MAX, Trouble, VERSION_MAX, version_text,
};
use super::snapshot::View;
use crate::recent_commits::{Changes, Effect, Recorder};

/// How much longer a commit may try for each of its operations.
const OPERATION_PATIENCE: Duration = Duration::from_micros(200);

/// Bytes of changes that a commit has in its own document at most; with more, it makes a new tree.
const CHANGES_BYTES: usize = 256 << 10;

/// What a change has beside its key and value: a tag and two lengths.
const CHANGE_BYTES: usize = 9;

/// Commits after a tree at most: whoever opens the key space reads them.
const TAIL_COMMITS: u64 = 512;

/// Changes after a tree at most.
const TAIL_CHANGES: usize = 16_384;

/// Pages whose names a commit has in its own document at most.
const FREED_MAX: usize = 10_000;

/// How often the next turn is asked for before the commit is tried again without.
const ASKS_MAX: usize = 1000;

/// How often it is looked whether another process, whose turn it is, has committed.
const LOOK: Duration = Duration::from_millis(2);

/// A tree is made of a state that was the newest so short a time ago.
const JUST_NOW: Duration = Duration::from_millis(50);

/// How long others leave the next commit at least to whoever asked for that.
const TURN_MIN: Duration = Duration::from_secs(1);

/// How much longer others leave it than the attempt took that came too late.
const TURN_FACTOR: u32 = 4;

/// Applies a batch; where a version is given, only if it is still the newest. Returns the version it
/// makes and, where it makes one, the one before it.
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

/// The same. `own_turn` is the version after which it is this process's turn, whatever that asks of
/// others.
fn commit_in_turn(
    engine: &Engine,
    own_turn: &mut Option<u64>,
    batch: &Batch,
    unchanged_since: Option<Version>,
) -> Result<(Version, Option<Version>)> {
    let count = u32::try_from(batch.operations().len()).unwrap_or(u32::MAX);
    let mut deadline = Instant::now() + engine.server.timeout + OPERATION_PATIENCE * count;
    // Where another process has committed since, that is found out in the place after it.
    let (mut state, mut known_at) = engine.presumed()?;
    let mut is_asked = false;
    loop {
        let turn = state.turn.filter(|_| *own_turn != Some(state.version));
        if let Some(patience) = turn {
            let begun = Instant::now();
            wait_for_others(engine, state.version, patience)?;
            *own_turn = Some(state.version);
            deadline += begun.elapsed();
        } else {
            match work_out(engine, &state, batch, unchanged_since) {
                Err(error) if error.kind() == ErrorKind::SnapshotTooOld => {}
                Ok(draft) if draft.has_effect() => {
                    let makes_tree = draft.makes_tree(engine, &state);
                    // A tree takes time, so it is not made of what is not the newest any more.
                    let is_newest =
                        is_asked || !makes_tree || known_at.at.elapsed() < JUST_NOW || {
                            let (newest, asked) = engine.newest()?;
                            known_at = asked;
                            newest.version == state.version
                        };
                    if is_newest {
                        let begun = Instant::now();
                        if let Some(version) = attempt(engine, &state, known_at, draft, makes_tree)?
                        {
                            return Ok((version, Some(Version(state.version))));
                        }
                        if makes_tree {
                            *own_turn = ask_for_turn(engine, begun.elapsed())?;
                        }
                    }
                }
                undecided => {
                    if is_asked || engine.is_last(&state, known_at)? {
                        return undecided.map(|_| (Version(state.version), None));
                    }
                }
            }
        }
        if Instant::now() >= deadline {
            let message = "other processes keep committing first; try again";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        (state, known_at) = engine.newest()?;
        is_asked = true;
    }
}

/// What a batch makes of a state.
struct Draft<'b> {
    /// What is after the tree then; else that has what was after it and what is recorded.
    overlay: Option<Overlay>,
    recorder: Recorder,
    /// Rows that are set after that, in order of their keys.
    rows: Vec<(&'b [u8], &'b [u8])>,
}

impl Draft<'_> {
    fn has_effect(&self) -> bool {
        self.recorder.effect() == Effect::Changed
    }

    /// Whether what is after the tree would be too much with it.
    fn makes_tree(&self, engine: &Engine, state: &State) -> bool {
        let Some(changes) = self.recorder.changes() else {
            return true;
        };
        let own = changes.bytes().len();
        let (bytes, said) = match &self.overlay {
            Some(overlay) => (overlay.bytes(), overlay.said()),
            None => {
                let before = &state.overlay;
                (before.bytes() + own, before.said() + changes.iter().count())
            }
        };
        own > CHANGES_BYTES.min(engine.tail_bytes)
            || bytes > engine.tail_bytes
            || said > TAIL_CHANGES
            || state.version - state.tree_of >= TAIL_COMMITS
    }
}

/// Works a batch out on a state.
fn work_out<'b>(
    engine: &Engine,
    state: &State,
    batch: &'b Batch,
    unchanged_since: Option<Version>,
) -> Result<Draft<'b>> {
    if state.version >= VERSION_MAX - 1 {
        let message = "the key space has had as many commits as it can; copy it to a new one";
        return Err(Error::new(ErrorKind::Full, message));
    }
    if unchanged_since.is_some_and(|seen| seen.0 != state.version) {
        let message = "others have committed since";
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let is_there = test(engine, state, batch)?;
    if batch.bytes() > CHANGES_BYTES
        && let Some(rows) = rows_apart(batch)
    {
        let mut recorder = Recorder::overflowed();
        let others = batch.operations().filter(|operation| !is_put(operation));
        let overlay = apply(engine, state, others, &is_there, &mut recorder)?;
        return Ok(Draft {
            overlay: Some(overlay),
            recorder,
            rows,
        });
    }
    let bytes = batch.bytes() + CHANGE_BYTES * batch.operations().len();
    let mut recorder = Recorder::with_capacity(bytes);
    let overlay = match bytes <= CHANGES_BYTES && set_rows(batch, &mut recorder) {
        true => None,
        false => {
            let all = batch.operations();
            Some(apply(engine, state, all, &is_there, &mut recorder)?)
        }
    };
    let rows = Vec::new();
    Ok(Draft {
        overlay,
        recorder,
        rows,
    })
}

/// Records a batch that does nothing but set rows: what was there does not matter to it. Says whether it is
/// such a one.
fn set_rows(batch: &Batch, recorder: &mut Recorder) -> bool {
    let is_such = batch.operations().all(|operation| is_put(&operation));
    if is_such {
        for operation in batch.operations() {
            if let OperationRef::Put(key, value) = operation {
                recorder.put(key, value);
            }
        }
    }
    is_such
}

fn is_put(operation: &OperationRef<'_>) -> bool {
    matches!(operation, OperationRef::Put(..))
}

/// Records what operations change. Returns what is after the tree then.
fn apply<'b>(
    engine: &Engine,
    state: &State,
    operations: impl Iterator<Item = OperationRef<'b>>,
    is_there: &HashMap<&[u8], bool>,
    recorder: &mut Recorder,
) -> Result<Overlay> {
    let mut overlay = state.overlay.clone();
    for operation in operations {
        let view = View::of(engine, state, &overlay);
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
                let is_there = match (overlay.get(key), is_there.get(key)) {
                    (Some(said), _) => said.is_some(),
                    (None, Some(is_there)) => *is_there,
                    (None, None) => view.get(key)?.is_some(),
                };
                if is_there {
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

/// The rows that a batch sets, in order of their keys, where what else it does has nothing to do with
/// them, and they are many. Those that load much mostly have them in order, or nearly.
fn rows_apart(batch: &Batch) -> Option<Vec<(&[u8], &[u8])>> {
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
    // The later of two with one key is the one that stays.
    rows.sort_by_key(|(key, _)| *key);
    rows.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            *earlier = *later;
        }
        is_same
    });
    let is_apart = |operation| match operation {
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
    batch.operations().all(is_apart).then_some(rows)
}

/// Tests the preconditions. Returns which of their keys are there.
fn test<'b>(engine: &Engine, state: &State, batch: &'b Batch) -> Result<HashMap<&'b [u8], bool>> {
    let conditions = batch.preconditions();
    let is_read = |operation: &OperationRef<'_>| {
        matches!(operation, OperationRef::Delete(_) | OperationRef::Add(..))
    };
    let view = View::of(engine, state, &state.overlay);
    let is_met = batch.is_met_at(Version(state.version));
    let conditions_read = conditions.iter().filter(|_| !is_met);
    let mut keys: Vec<_> = conditions_read
        .map(|condition| condition.key.as_slice())
        .collect();
    let known = conditions.iter().map(|condition| {
        let is_there = condition.value.is_some();
        (condition.key.as_slice(), is_there)
    });
    let known: HashMap<_, _> = known.collect();
    for operation in batch.operations().filter(is_read) {
        if let OperationRef::Delete(key) | OperationRef::Add(key, _) = operation
            && !known.contains_key(key)
        {
            keys.push(key);
        }
    }
    view.expect(&keys)?;
    if !is_met {
        for condition in conditions {
            if view.get(&condition.key)?.as_deref() != condition.value.as_deref() {
                return Err(Error::conflict(&condition.key));
            }
        }
    }
    Ok(known)
}

/// Makes a commit of a draft, and puts it into the place after a state, of which it is known since a time
/// that it is the newest. `None` where that is another one's place.
fn attempt(
    engine: &Engine,
    state: &State,
    known_at: Sight,
    draft: Draft<'_>,
    makes_tree: bool,
) -> Result<Option<Version>> {
    let changes = draft.recorder.into_changes();
    if !makes_tree {
        let commit = Commit::after(state, changes);
        return take_place(engine, state, known_at, commit, draft.overlay);
    }
    let overlay = draft
        .overlay
        .unwrap_or_else(|| state.overlay.with(changes.as_ref()));
    let changes = changes.filter(|changes| changes.bytes().len() <= CHANGES_BYTES);
    let commit = Commit::after(state, changes);
    let name = commit.transaction.clone();
    let edits = Edits {
        overlay: &overlay,
        rows: &draft.rows,
    };
    let taken = make_tree(engine, state, edits, commit)
        .and_then(|commit| take_place(engine, state, known_at, commit, Some(Overlay::default())));
    match &taken {
        Ok(Some(_)) => {}
        // Its draft leads to its pages.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::OutcomeUnknown | ErrorKind::Unavailable
            ) => {}
        Ok(None) | Err(_) => engine.drop_pages(&name),
    }
    match taken {
        // It took longer to make than what it is made of is kept.
        Err(error) if error.kind() == ErrorKind::SnapshotTooOld => Ok(None),
        taken => taken,
    }
}

/// Makes the tree of a commit: that of the state before, with changes.
fn make_tree(engine: &Engine, state: &State, edits: Edits<'_>, commit: Commit) -> Result<Commit> {
    let version = state.version;
    let pages = PagesOf { engine, version };
    let draft = engine.insert_draft(&commit);
    let mut made = NewPages::of(engine, &commit.transaction, draft);
    let edited = state
        .tree
        .edit(&pages, edits, &mut made, engine.page_bytes)?;
    let (mut freed, mut freed_in) = (edited.freed, Vec::new());
    if freed.len() > FREED_MAX {
        freed_in = made.free(&freed)?;
        freed.clear();
    }
    made.store()?;
    drop(made);
    Ok(Commit {
        tree: edited.tree,
        tree_of: commit.version,
        freed,
        freed_in,
        ..commit
    })
}

/// Puts a commit into the chain; `None` where another one is in its place. `overlay` is what is after its
/// tree, where that was worked out already.
fn take_place(
    engine: &Engine,
    before: &State,
    known_at: Sight,
    commit: Commit,
    overlay: Option<Overlay>,
) -> Result<Option<Version>> {
    // Nothing has been sent yet, so it can still be found out what is the newest.
    let known_at = match engine.is_fresh(known_at) {
        true => known_at,
        false => {
            let (newest, asked) = engine.newest()?;
            if newest.transaction != before.transaction {
                return Ok(None);
            }
            asked
        }
    };
    let begun = engine.sight();
    let documents = vec![commit.document()];
    let inserting = engine
        .server
        .begin_insert("commits", documents, Sure::AsAsked);
    // While the server takes it.
    let overlay = overlay.unwrap_or_else(|| before.overlay.with(commit.changes.as_ref()));
    let state = Arc::new(State::made_by(&commit, overlay));
    let inserted = inserting.done().map_err(lost)?;
    if !has_place(engine, before, known_at, &commit, inserted)? {
        return Ok(None);
    }
    engine.chain.learn_made(&state, commit.changes, begun);
    Ok(Some(Version(state.version)))
}

/// Whether a commit that was inserted has its place.
fn has_place(
    engine: &Engine,
    before: &State,
    known_at: Sight,
    commit: &Commit,
    inserted: Inserted,
) -> Result<bool> {
    let withdraw = || {
        let own = doc! {
            "_id": version_text(commit.version),
            "transaction": &commit.transaction,
        };
        let withdrawn = engine.server.delete("commits", vec![own], 1, Sure::AsAsked);
        withdrawn.map_err(|trouble| unknown(trouble.error))
    };
    let is_fresh = engine.is_fresh(known_at);
    // The floor is raised before anything is deleted.
    let is_kept = |version: u64| Ok(engine.floor().map_err(unknown)? <= version);
    // This process was halted for so long that commits were deleted that follow this one, or that it
    // should have followed: nobody knows which.
    let halted = || {
        withdraw()?;
        let message = "this process was halted for longer than commits are kept";
        Err(unknown(Error::new(ErrorKind::Unavailable, message)))
    };
    if !is_fresh && !is_kept(commit.version)? {
        return halted();
    }
    if inserted == Inserted::SomeWereThere && !is_there(engine, commit).map_err(unknown)? {
        return Ok(false);
    }
    // A server that went down may have lost what this one follows.
    if !is_fresh && !engine.has_still(before).map_err(unknown)? {
        if is_kept(before.version)? {
            withdraw()?;
            return Err(engine.lost(before));
        }
        if !is_kept(commit.version)? {
            return halted();
        }
    }
    Ok(true)
}

/// Whether the commit that was found in the place of another one is that.
fn is_there(engine: &Engine, commit: &Commit) -> Result<bool> {
    let deadline = Instant::now() + engine.server.timeout;
    loop {
        // It may not be on a majority yet.
        match engine.commit_at(commit.version)? {
            Some(there) => return Ok(there.transaction == commit.transaction),
            None if Instant::now() < deadline => thread::sleep(LOOK),
            None => {
                let message = format!(
                    "MongoDB at {} has no majority of members, or the key space was deleted",
                    engine.server.place
                );
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
    }
}

/// What becomes of a commit whose answer did not come.
fn lost(trouble: Trouble) -> Error {
    match trouble.may_be_done {
        true => unknown(trouble.error),
        false => trouble.error,
    }
}

fn unknown(error: Error) -> Error {
    let message = format!(
        "the connection broke while a commit was under way ({error}), and the engine cannot be \
         asked whether it happened; read before trying again"
    );
    Error::new(ErrorKind::OutcomeUnknown, message)
}

/// Asks that the next commit be left to this process, which was overtaken after `took`. Returns the
/// version that says so, where others were not always first.
fn ask_for_turn(engine: &Engine, took: Duration) -> Result<Option<u64>> {
    let patience = (took * TURN_FACTOR).clamp(TURN_MIN, TURN_MAX);
    for _ in 0..ASKS_MAX {
        let (state, known_at) = engine.newest()?;
        if state.turn.is_some() {
            return Ok(None);
        }
        let asking = Commit {
            turn: Some(patience),
            ..Commit::after(&state, Some(Changes::new()))
        };
        match take_place(engine, &state, known_at, asking, None) {
            Ok(None) => {}
            Ok(Some(version)) => return Ok(Some(version.0)),
            // It is not the commit itself, which goes on without.
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Leaves the next commit to the process that asked for it.
fn wait_for_others(engine: &Engine, version: u64, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    while engine.newest()?.0.version == version && Instant::now() < deadline {
        thread::sleep(LOOK);
    }
    Ok(())
}
