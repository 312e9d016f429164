//! Transactions: worked out on the newest state, put in their place in the chain, applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Document, doc};
use rand::RngCore;

use super::engine::{
    Commit, Engine, Inserted, Kind, REVISION_MAX, Row, State, Sure, Trouble, Values, binary,
    revision_text, signed, transaction_name,
};
use super::snapshot::{is_empty, lookup_live};
use crate::staged::engine::{Failure, Guard, Write};

/// How long a commit that another process has put into the chain is left to that process.
const OTHERS_TURN: Duration = Duration::from_millis(50);

/// How often it is looked whether it is done meanwhile.
const LOOK: Duration = Duration::from_millis(2);

/// Versions that are named one by one; more are found by their transaction.
const NAMED_MAX: usize = 64;

/// `_id`s in one update.
const IDS_MAX: usize = 500;

/// Documents that a range is allowed the time for.
const RANGE: usize = 10_000;

/// A transaction on its way.
struct Draft {
    commit: Commit,
    versions: BTreeMap<Kind, Vec<Document>>,
}

/// What became of it.
enum Place {
    Taken,
    ByAnother,
}

/// Writes if all guards hold.
pub(super) fn transact(
    engine: &Engine,
    guards: &[Guard],
    writes: &[Write],
) -> std::result::Result<Option<u64>, Failure> {
    let _turn = engine.turn.lock();
    let deadline = Instant::now() + engine.server.timeout;
    // Where another process has committed since, that is found out in the place after it.
    let (mut base, mut known_at) = engine.presumed().map_err(Failure::Refused)?;
    loop {
        let draft = draft(engine, &base, guards, writes).map_err(Failure::Refused)?;
        let Some(draft) = draft else {
            if engine.is_last(&base, known_at).map_err(Failure::Refused)? {
                return Ok(None);
            }
            // Another is on its way, and has perhaps ended what was looked for.
            let next = engine
                .commit_at(base.revision + 1)
                .map_err(Failure::Refused)?;
            if let Some(next) = next {
                help(engine, &next, known_at).map_err(Failure::Refused)?;
            }
            (base, known_at) = engine.newest().map_err(Failure::Refused)?;
            continue;
        };
        match take_place(engine, &base, known_at, draft)? {
            (Place::Taken, commit) => {
                let state = Arc::new(commit.state);
                engine.chain.learn(&state, known_at);
                engine.prune();
                return Ok(Some(state.revision));
            }
            (Place::ByAnother, _) if Instant::now() < deadline => {}
            (Place::ByAnother, _) => {
                let message = "other processes keep committing first; try again";
                let error = Error::new(ErrorKind::Unavailable, message);
                return Err(Failure::Refused(error));
            }
        }
        (base, known_at) = engine.newest().map_err(Failure::Refused)?;
    }
}

/// Finishes what a process that may be dead has put into the chain, so that it does not happen after
/// the key space was read.
pub(super) fn settle(engine: &Engine) -> Result<()> {
    let (newest, known_at) = engine.newest()?;
    match engine.commit_at(newest.revision + 1)? {
        Some(commit) => help(engine, &commit, known_at),
        None => Ok(()),
    }
}

/// Works a transaction out on a state; `None` where a guard does not hold there.
fn draft(
    engine: &Engine,
    base: &State,
    guards: &[Guard],
    writes: &[Write],
) -> Result<Option<Draft>> {
    if base.revision >= REVISION_MAX {
        let message = "the key space has had as many commits as it can; copy it to a new one";
        return Err(Error::new(ErrorKind::Full, message));
    }
    let rows = rows_asked_for(engine, base, guards, writes)?;
    if !holds(engine, base, &rows, guards)? {
        return Ok(None);
    }
    let mut state = base.clone();
    state.revision += 1;
    let transaction = transaction_name(state.revision, rand::rng().next_u64());
    let mut draft = Draft {
        commit: Commit {
            transaction,
            state,
            told: None,
            made: Vec::new(),
            ended: Vec::new(),
            ranges: Vec::new(),
        },
        versions: BTreeMap::new(),
    };
    let mut ended: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for write in writes {
        match write {
            Write::Put(cell, value) => match Kind::of(cell) {
                Some(kind) => {
                    let old = rows.get(cell);
                    let version = draft.version(kind, cell, value, old);
                    draft.versions.entry(kind).or_default().push(version);
                    ended
                        .entry(kind)
                        .or_default()
                        .extend(old.map(|old| old.id.clone()));
                }
                None => {
                    let told = draft.commit.state.put(cell, value);
                    draft.commit.told = told.or(draft.commit.told.take());
                }
            },
            Write::Delete(cell) => match Kind::of(cell) {
                Some(kind) => {
                    let old = rows.get(cell).map(|old| old.id.clone());
                    ended.entry(kind).or_default().extend(old);
                }
                None => draft.commit.state.delete(cell),
            },
            Write::DeleteRange(range) => {
                if let Some(kind) = Kind::of(&range.start) {
                    let (from, to) = kind.ids_within(range);
                    draft.commit.ranges.push((kind, from, to));
                }
            }
        }
    }
    ended.retain(|_, ids| !ids.is_empty());
    draft.commit.ended = ended.into_iter().collect();
    draft.commit.made = draft.made();
    Ok(Some(draft))
}

impl Draft {
    fn version(&self, kind: Kind, cell: &[u8], value: &[u8], old: Option<&Row>) -> Document {
        let transaction = &self.commit.transaction;
        let mut version = doc! {
            "_id": kind.id(cell, transaction),
            "m": signed(self.commit.state.revision),
            "v": binary(value),
            "pending": transaction,
        };
        if let Some(old) = old {
            version.insert("c", signed(old.cell.created));
        }
        version
    }

    fn made(&self) -> Vec<(Kind, Vec<String>)> {
        let named = |versions: &Vec<Document>| match versions.len() > NAMED_MAX {
            true => Vec::new(),
            false => {
                let ids = versions.iter().map(|version| version.get_str("_id"));
                ids.flatten().map(str::to_owned).collect()
            }
        };
        let versions = self.versions.iter();
        versions
            .map(|(kind, versions)| (*kind, named(versions)))
            .collect()
    }
}

type Rows = BTreeMap<Vec<u8>, Row>;

/// The versions of all cells that guards and writes are about.
fn rows_asked_for(
    engine: &Engine,
    base: &State,
    guards: &[Guard],
    writes: &[Write],
) -> Result<Rows> {
    let mut cells: BTreeMap<Kind, Vec<&[u8]>> = BTreeMap::new();
    let mut values = Values::Left;
    for guard in guards {
        let cell = match guard {
            Guard::Absent(cell) | Guard::Present(cell) | Guard::Modified(cell, _) => cell,
            Guard::Holds(cell, _) => {
                values = Values::Read;
                cell
            }
            Guard::Empty(_) => continue,
        };
        if let Some(kind) = Kind::of(cell) {
            cells.entry(kind).or_default().push(cell);
        }
    }
    for write in writes {
        let (Write::Put(cell, _) | Write::Delete(cell)) = write else {
            continue;
        };
        if let Some(kind) = Kind::of(cell) {
            cells.entry(kind).or_default().push(cell);
        }
    }
    let mut rows = Rows::new();
    for (kind, cells) in cells {
        let found = lookup_live(engine, kind, &cells, base.revision, values)?;
        rows.extend(found.into_iter().map(|row| (row.cell.key.clone(), row)));
    }
    Ok(rows)
}

fn holds(engine: &Engine, base: &State, rows: &Rows, guards: &[Guard]) -> Result<bool> {
    let now = |cell: &Vec<u8>| match Kind::of(cell) {
        Some(_) => rows.get(cell).map(|row| row.cell.clone()),
        None => base.cell(cell),
    };
    for guard in guards {
        let holds = match guard {
            Guard::Absent(cell) => now(cell).is_none(),
            Guard::Present(cell) => now(cell).is_some(),
            Guard::Modified(cell, revision) => {
                now(cell).is_some_and(|cell| cell.modified == *revision)
            }
            Guard::Holds(cell, value) => now(cell).is_some_and(|cell| cell.value == *value),
            Guard::Empty(range) => is_empty(engine, range, base.revision)?,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts a transaction into the chain and applies it.
fn take_place(
    engine: &Engine,
    base: &State,
    known_at: Instant,
    draft: Draft,
) -> std::result::Result<(Place, Commit), Failure> {
    let Draft { commit, versions } = draft;
    let server = &engine.server;
    let made: Vec<_> = versions.keys().copied().collect();
    for (kind, versions) in versions {
        let inserted = server.insert(kind.name(), versions, Sure::Soon);
        inserted.map_err(|trouble| {
            drop_versions(engine, &commit, &made);
            Failure::Refused(trouble.error)
        })?;
    }
    let lost = |trouble: Trouble| match trouble.may_be_done {
        true => Failure::Lost(trouble.error),
        false => Failure::Refused(trouble.error),
    };
    let inserted = server.insert("commits", vec![commit.document()], Sure::Soon);
    if inserted.map_err(lost)? == Inserted::SomeWereThere {
        let there = commit_there(engine, commit.state.revision).map_err(Failure::Lost)?;
        if there.transaction != commit.transaction {
            drop_versions(engine, &commit, &made);
            help(engine, &there, known_at).map_err(Failure::Refused)?;
            return Ok((Place::ByAnother, commit));
        }
    }
    if !engine.is_fresh(known_at) && !is_in_chain(engine, base, &commit).map_err(Failure::Lost)? {
        // This process was halted, and the chain has gone on without it.
        let bogus = doc! { "_id": revision_text(commit.state.revision), "transaction": &commit.transaction };
        server
            .delete("commits", vec![bogus], 1, Sure::Soon)
            .map_err(lost)?;
        drop_versions(engine, &commit, &made);
        return Ok((Place::ByAnother, commit));
    }
    let applied = apply(engine, &commit);
    applied.map_err(|trouble| Failure::Lost(trouble.error))?;
    Ok((Place::Taken, commit))
}

/// The commit that another one found in its place.
fn commit_there(engine: &Engine, revision: u64) -> Result<Commit> {
    let deadline = Instant::now() + engine.server.timeout;
    loop {
        // It may not be on a majority yet.
        match engine.commit_at(revision)? {
            Some(commit) => return Ok(commit),
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

/// Whether a commit that was inserted long after its base was known to be the newest still follows
/// it.
fn is_in_chain(engine: &Engine, base: &State, commit: &Commit) -> Result<bool> {
    let (newest, _) = engine.look_for_newest()?;
    if newest.revision == base.revision {
        return Ok(true);
    }
    // Another process may have applied it already.
    let revision = revision_text(commit.state.revision);
    Ok(engine.server.get("versions", &revision)?.is_some())
}

/// Applies a commit of another process, once that has had its time.
fn help(engine: &Engine, commit: &Commit, known_at: Instant) -> Result<()> {
    let revision = revision_text(commit.state.revision);
    let start = Instant::now();
    while start.elapsed() < OTHERS_TURN {
        if engine.server.get("versions", &revision)?.is_some() {
            return Ok(());
        }
        thread::sleep(LOOK);
    }
    if !engine.is_fresh(known_at) {
        // It may be from long ago; look at the chain again.
        return Ok(());
    }
    apply(engine, commit).map_err(|trouble| trouble.error)
}

/// Removes what a transaction inserted that has no place in the chain.
fn drop_versions(engine: &Engine, commit: &Commit, made: &[Kind]) {
    for kind in made {
        let named = commit.made.iter().find(|(of, _)| of == kind);
        let filter = match named {
            Some((_, ids)) if !ids.is_empty() => doc! { "_id": { "$in": ids.clone() } },
            _ => doc! { "pending": &commit.transaction },
        };
        let dropped = engine
            .server
            .delete(kind.name(), vec![filter], NAMED_MAX, Sure::Soon);
        if let Err(trouble) = dropped {
            tracing::debug!(error = %trouble.error, "versions are left for the next cleaning");
        }
    }
}

/// Does what a commit says, and makes it visible. May be done any number of times.
fn apply(engine: &Engine, commit: &Commit) -> std::result::Result<(), Trouble> {
    for kind in Kind::ALL {
        let mut changes = Changes::default();
        let of_kind = |list: &&(Kind, Vec<String>)| list.0 == kind;
        for (_, ids) in commit.made.iter().filter(of_kind) {
            changes.unveil(ids, &commit.transaction);
        }
        let end = end_of(kind, commit.state.revision);
        for (_, ids) in commit.ended.iter().filter(of_kind) {
            changes.end(ids, end.as_ref());
        }
        for (_, from, to) in commit.ranges.iter().filter(|range| range.0 == kind) {
            changes.end_range(from, to.as_deref(), commit.state.revision, end.as_ref());
        }
        let Changes {
            updates,
            deletes,
            count,
        } = changes;
        engine
            .server
            .update(kind.name(), updates, count, Sure::Soon)?;
        engine
            .server
            .delete(kind.name(), deletes, count, Sure::Soon)?;
    }
    let version = vec![commit.state.document()];
    engine
        .server
        .insert("versions", version, Sure::Last)
        .map(drop)
}

/// How a version ends: nothing where it is deleted at once. People do not read what has ended.
fn end_of(kind: Kind, revision: u64) -> Option<Document> {
    kind.has_past().then(|| {
        doc! {
            "$set": { "until": signed(revision) },
            "$unset": { "document": 1, "node": 1, "path": 1, "leaves": 1 },
        }
    })
}

/// The documents of some `_id`s.
fn of_ids(ids: &[String]) -> Document {
    match ids {
        [id] => doc! { "_id": id },
        ids => doc! { "_id": { "$in": ids.to_vec() } },
    }
}

#[derive(Default)]
struct Changes {
    updates: Vec<Document>,
    deletes: Vec<Document>,
    /// Documents that they are about.
    count: usize,
}

impl Changes {
    fn unveil(&mut self, ids: &[String], transaction: &str) {
        let unveil = doc! { "$unset": { "pending": 1 } };
        let filter = match ids.is_empty() {
            true => doc! { "pending": transaction },
            false => of_ids(ids),
        };
        self.count += if ids.is_empty() { RANGE } else { ids.len() };
        let update = doc! { "q": filter, "u": unveil, "multi": true };
        self.updates.push(update);
    }

    fn end(&mut self, ids: &[String], end: Option<&Document>) {
        self.count += ids.len();
        for ids in ids.chunks(IDS_MAX) {
            self.end_all(of_ids(ids), end);
        }
    }

    /// What lies in a range and was there before.
    fn end_range(&mut self, from: &str, to: Option<&str>, revision: u64, end: Option<&Document>) {
        self.count += RANGE;
        let mut ids = doc! { "$gte": from };
        if let Some(to) = to {
            ids.insert("$lt", to);
        }
        let never = doc! { "$exists": false };
        let mut filter = doc! {
            "_id": ids, "m": { "$lt": signed(revision) }, "pending": never.clone(),
        };
        if end.is_some() {
            filter.insert("until", never);
        }
        self.end_all(filter, end);
    }

    fn end_all(&mut self, filter: Document, end: Option<&Document>) {
        match end {
            Some(end) => {
                let update = doc! { "q": filter, "u": end.clone(), "multi": true };
                self.updates.push(update);
            }
            None => self.deletes.push(filter),
        }
    }
}
