//! The chain of revisions: each is one document, and the next one has the number after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Binary, Bson, DateTime, Document, doc, spec::BinarySubtype};
use parking_lot::{Condvar, Mutex};

use super::connection::Query;
use super::error::corrupt;
use super::names::{Kind, revision_of, revision_text};
use super::open::Engine;
use crate::staged::engine::Cell;

/// Revisions that are asked for one by one before the newest is looked for.
const STEPS_MAX: usize = 4;

/// A revision, and the cells that stand in its own document: the few that are written often or read
/// with every other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::mongo) struct State {
    pub(in crate::mongo) revision: u64,
    cells: BTreeMap<u8, Single>,
}

/// Such a cell.
#[derive(Clone, Debug, PartialEq)]
struct Single {
    /// Of the head: nothing, as what watchers are told stands in the commit.
    value: Vec<u8>,
    created: u64,
    modified: u64,
}

/// The head: what the newest commit changed.
const HEAD: u8 = b'h';

impl State {
    pub(in crate::mongo) fn cell(&self, cell: &[u8]) -> Option<Cell> {
        let single = self.cells.get(cell.first()?)?;
        Some(Cell {
            key: cell.to_vec(),
            value: single.value.clone(),
            created: single.created,
            modified: single.modified,
        })
    }

    /// Writes a cell at the revision that this state is to be. Returns what watchers are told.
    pub(in crate::mongo) fn put(&mut self, cell: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let kind = cell.first().copied().unwrap_or_default();
        let modified = self.revision;
        let created = self.cells.get(&kind).map_or(modified, |cell| cell.created);
        let told = (kind == HEAD).then(|| value.to_vec());
        let value = match told {
            Some(_) => Vec::new(),
            None => value.to_vec(),
        };
        let single = Single {
            value,
            created,
            modified,
        };
        self.cells.insert(kind, single);
        told
    }

    pub(in crate::mongo) fn delete(&mut self, cell: &[u8]) {
        cell.first().map(|kind| self.cells.remove(kind));
    }

    fn cells_document(&self) -> Document {
        let cells = self.cells.iter().map(|(kind, cell)| {
            let name = char::from(*kind).to_string();
            let fields = doc! {
                "v": binary(&cell.value),
                "c": signed(cell.created),
                "m": signed(cell.modified),
            };
            (name, Bson::Document(fields))
        });
        cells.collect()
    }

    fn read(document: &Document) -> Option<Self> {
        let id = document.get_str("_id").ok()?;
        let mut state = Self {
            revision: revision_of(id)?,
            cells: BTreeMap::new(),
        };
        for (name, fields) in document.get_document("cells").ok()? {
            let fields = fields.as_document()?;
            let single = Single {
                value: fields.get_binary_generic("v").ok()?.clone(),
                created: revision_in(fields, "c")?,
                modified: revision_in(fields, "m")?,
            };
            state.cells.insert(*name.as_bytes().first()?, single);
        }
        Some(state)
    }

    /// The document that makes the revision visible.
    pub(in crate::mongo) fn document(&self) -> Document {
        doc! { "_id": revision_text(self.revision), "cells": self.cells_document() }
    }
}

/// Binary, as all bytes of this program are.
pub(in crate::mongo) fn binary(bytes: &[u8]) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    })
}

/// A revision as MongoDB has numbers; it has none as large as would not fit.
pub(in crate::mongo) fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

/// The revision in a field.
pub(in crate::mongo) fn revision_in(document: &Document, field: &str) -> Option<u64> {
    document.get_i64(field).ok()?.try_into().ok()
}

/// A transaction that has its place in the chain.
#[derive(Clone, Debug)]
pub(in crate::mongo) struct Commit {
    pub(in crate::mongo) transaction: String,
    /// The state that it makes.
    pub(in crate::mongo) state: State,
    /// What watchers are told, where it wrote the head.
    pub(in crate::mongo) told: Option<Vec<u8>>,
    /// The new versions: their `_id`s, or nothing where they are too many.
    pub(in crate::mongo) made: Vec<(Kind, Vec<String>)>,
    /// The versions that they replace, and those that were deleted.
    pub(in crate::mongo) ended: Vec<(Kind, Vec<String>)>,
    /// Ranges of `_id`s that were deleted.
    pub(in crate::mongo) ranges: Vec<(Kind, String, Option<String>)>,
}

impl Commit {
    pub(in crate::mongo) fn document(&self) -> Document {
        let named = |lists: &[(Kind, Vec<String>)]| -> Vec<Bson> {
            let lists = lists.iter();
            let lists = lists.map(|(kind, ids)| doc! { "in": kind.name(), "ids": ids.clone() });
            lists.map(Bson::Document).collect()
        };
        let ranges = self.ranges.iter().map(|(kind, from, to)| {
            let mut range = doc! { "in": kind.name(), "from": from };
            if let Some(to) = to {
                range.insert("to", to);
            }
            Bson::Document(range)
        });
        let mut document = doc! {
            "_id": revision_text(self.state.revision),
            "transaction": &self.transaction,
            "at": DateTime::from_system_time(SystemTime::now()),
            "cells": self.state.cells_document(),
            "made": named(&self.made),
            "ended": named(&self.ended),
            "ranges": ranges.collect::<Vec<_>>(),
        };
        if let Some(told) = &self.told {
            document.insert("told", binary(told));
        }
        document
    }

    pub(in crate::mongo) fn read(document: &Document) -> Result<Self> {
        Self::fields(document).ok_or_else(|| corrupt("a commit"))
    }

    fn fields(document: &Document) -> Option<Self> {
        let lists = |field: &str| -> Option<Vec<(Kind, Vec<String>)>> {
            let lists = document.get_array(field).ok()?.iter().map(|list| {
                let list = list.as_document()?;
                let ids = list.get_array("ids").ok()?.iter();
                let ids = ids.map(|id| id.as_str().map(str::to_owned));
                Some((kind_in(list)?, ids.collect::<Option<_>>()?))
            });
            lists.collect()
        };
        let ranges = document.get_array("ranges").ok()?.iter().map(|range| {
            let range = range.as_document()?;
            let end = range.get_str("to").ok().map(str::to_owned);
            Some((kind_in(range)?, range.get_str("from").ok()?.to_owned(), end))
        });
        Some(Self {
            transaction: document.get_str("transaction").ok()?.to_owned(),
            state: State::read(document)?,
            told: document.get_binary_generic("told").ok().cloned(),
            made: lists("made")?,
            ended: lists("ended")?,
            ranges: ranges.collect::<Option<_>>()?,
        })
    }
}

fn kind_in(document: &Document) -> Option<Kind> {
    let name = document.get_str("in").ok()?;
    Kind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// What this process knows of the chain.
pub(in crate::mongo) struct Chain {
    /// How long old versions are kept.
    keep: Duration,
    known: Mutex<Known>,
    moved: Condvar,
}

struct Known {
    /// The newest that it has seen.
    state: Arc<State>,
    /// When that was the newest of all.
    confirmed: Option<Instant>,
    /// When each revision was last known to be the newest, as far as that is of use.
    seen: BTreeMap<u64, Instant>,
}

impl Chain {
    pub(in crate::mongo) fn new(keep: Duration) -> Self {
        Self {
            keep,
            known: Mutex::new(Known {
                state: Arc::default(),
                confirmed: None,
                seen: BTreeMap::new(),
            }),
            moved: Condvar::new(),
        }
    }

    /// The newest state that this process knows, and when it was the newest.
    fn known(&self) -> (Arc<State>, Option<Instant>) {
        let known = self.known.lock();
        (Arc::clone(&known.state), known.confirmed)
    }

    /// Learns of a state that can be seen. `confirmed` is a time since when nothing after it was
    /// deleted.
    pub(in crate::mongo) fn learn(&self, state: &Arc<State>, confirmed: Instant) {
        let mut known = self.known.lock();
        if state.revision > known.state.revision {
            known.state = Arc::clone(state);
            known.confirmed = Some(confirmed);
            self.moved.notify_all();
        } else if state.revision == known.state.revision {
            known.confirmed = known.confirmed.max(Some(confirmed));
        }
    }

    /// Learns of a state that was the newest at a time.
    fn learn_newest(&self, state: &Arc<State>, at: Instant) {
        self.learn(state, at);
        let mut known = self.known.lock();
        known.seen.insert(state.revision, at);
        while known.seen.len() > 1 {
            let second = known.seen.values().nth(1);
            if second.is_none_or(|at| at.elapsed() < self.keep) {
                break;
            }
            known.seen.pop_first();
        }
    }

    /// Has the newest state looked for, as the server may not be what it was.
    pub(in crate::mongo) fn doubt(&self) {
        self.known.lock().confirmed = None;
    }

    /// When a revision was last known to be the newest.
    pub(in crate::mongo) fn seen(&self, revision: u64) -> Option<Instant> {
        self.known.lock().seen.get(&revision).copied()
    }

    /// The newest revision of those that were seen longer ago than versions are kept.
    pub(in crate::mongo) fn oldest_kept(&self) -> Option<u64> {
        let known = self.known.lock();
        let mut seen = known.seen.iter().rev();
        let old = seen.find(|(_, at)| at.elapsed() >= self.keep);
        old.map(|(revision, _)| *revision)
    }

    /// Waits until this process learns of a revision after `revision`.
    pub(in crate::mongo) fn wait(&self, revision: u64, deadline: Instant) {
        let mut known = self.known.lock();
        if known.state.revision <= revision {
            self.moved.wait_until(&mut known, deadline);
        }
    }
}

impl Engine {
    /// The newest state that can be seen, and a time at which it was the newest.
    ///
    /// A version is deleted only when the one after it is older than [`Self::keep`]. So when a
    /// process knew half that time ago that there was none after it, then the absence of the next
    /// one says that there still is none; after a longer time it has to look for the newest.
    pub(in crate::mongo) fn newest(&self) -> Result<(Arc<State>, Instant)> {
        let (mut state, confirmed) = self.known();
        for _ in 0..STEPS_MAX {
            let Some(known_at) = confirmed else { break };
            let asked = Instant::now();
            let next = self
                .server
                .get("versions", &revision_text(state.revision + 1))?;
            if !self.is_fresh(known_at) {
                break;
            }
            let Some(next) = next else {
                self.chain.learn_newest(&state, asked);
                return Ok((state, asked));
            };
            // It follows what was the newest at that time.
            state = Arc::new(State::read(&next).ok_or_else(|| corrupt("a version"))?);
        }
        self.look_for_newest()
    }

    /// The newest state that this process knows, without asking where none after it can have been
    /// deleted yet: whoever then inserts the commit after it is refused where there is one.
    pub(in crate::mongo) fn presumed(&self) -> Result<(Arc<State>, Instant)> {
        let (state, confirmed) = self.known();
        match confirmed.filter(|known_at| self.is_fresh(*known_at)) {
            Some(known_at) => Ok((state, known_at)),
            None => self.newest(),
        }
    }

    /// What this process knows, and since when, unless the server may not be what it was.
    fn known(&self) -> (Arc<State>, Option<Instant>) {
        if self.server.was_interrupted() {
            self.chain.doubt();
            self.recent.lock().clear();
        }
        self.chain.known()
    }

    /// Whether a state is still the newest, of which that is known since a time: no commit has taken the
    /// place after it. One that has and is not applied yet counts, too.
    pub(in crate::mongo) fn is_last(&self, state: &Arc<State>, known_at: Instant) -> Result<bool> {
        let asked = Instant::now();
        let mut query = Query::of_id(&revision_text(state.revision + 1));
        query.fields = doc! { "_id": 1 };
        let next = self.server.find("commits", query)?;
        let is_last = next.is_empty() && self.is_fresh(known_at);
        if is_last {
            self.chain.learn_newest(state, asked);
        }
        Ok(is_last)
    }

    /// Whether what was the newest then cannot have been deleted.
    pub(in crate::mongo) fn is_fresh(&self, known_at: Instant) -> bool {
        known_at.elapsed() < self.keep / 2
    }

    /// The newest state, whatever this process knows.
    pub(in crate::mongo) fn look_for_newest(&self) -> Result<(Arc<State>, Instant)> {
        let (known, _) = self.chain.known();
        let asked = Instant::now();
        let query = Query::new(doc! { "_id": { "$gte": "" } }, -1, 1);
        let newest = self.server.find("versions", query)?.pop();
        let state = match newest {
            Some(newest) => State::read(&newest).ok_or_else(|| corrupt("a version"))?,
            None => State::default(),
        };
        if state.revision < known.revision {
            let message = format!(
                "MongoDB at {} has lost commits that were acknowledged: this process has seen \
                 version {}, and the newest there is {}; open it again",
                self.server.place, known.revision, state.revision
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let state = Arc::new(state);
        self.chain.learn_newest(&state, asked);
        Ok((state, asked))
    }

    /// The commit of a revision, where there is one.
    pub(in crate::mongo) fn commit_at(&self, revision: u64) -> Result<Option<Commit>> {
        let found = self.server.get("commits", &revision_text(revision))?;
        found.as_ref().map(Commit::read).transpose()
    }
}
