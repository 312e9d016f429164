//! What a small commit is guessed to depend on, so that it can be one statement that is applied only
//! where the guess is right: the newest version is the one seen last, what preconditions require is
//! so, and what is deleted is there.

use std::collections::HashMap;

use espalier_keyspace::{Batch, Change, KeyRange, OperationRef, Precondition, Version};

use super::connection::Connection;
use super::error::Failure;
use super::facts::Facts;
use super::log::Record;
use super::open::{Engine, Push};
use super::pending::{Found, Pending};
use super::statements;
use crate::recent_commits::{Effect, Recorder};

// One statement in place of nine: 0.35 ms in place of 0.52, docs/decisions/0032.
/// The most preconditions and operations, together, of a commit in one statement.
const PARTS_MAX: usize = 64;

/// The most bytes of their keys and values: 64 KiB.
const BYTES_MAX: usize = 64 << 10;

/// Batches that are worked out on a guess.
pub(in crate::postgres) struct Guess<'b> {
    pub(super) before: Version,
    /// What keys must hold for it to be right.
    pub(super) required: HashMap<&'b [u8], Option<&'b [u8]>>,
    /// Ranges that must hold something for it to be right, and that are cleared.
    pub(super) gone: Vec<KeyRange>,
    pub(super) pending: Pending<'b>,
    pub(in crate::postgres) recorder: Recorder,
}

impl<'b> Guess<'b> {
    /// Works out batches as if the state before had this version; `None` where they are too much for
    /// one statement, or something of what they depend on cannot be guessed.
    pub(in crate::postgres) fn new(batches: &'b [Batch], before: Version) -> Option<Self> {
        let parts = |batch: &Batch| batch.preconditions().len() + batch.operations().len();
        let bytes = |batch: &Batch| {
            let values = batch.preconditions().iter();
            let values = values.map(|condition| condition.value.as_ref().map_or(0, Vec::len));
            batch.bytes() + values.sum::<usize>()
        };
        if batches.iter().map(parts).sum::<usize>() > PARTS_MAX
            || batches.iter().map(bytes).sum::<usize>() > BYTES_MAX
        {
            return None;
        }
        let mut guess = Self {
            before,
            required: HashMap::new(),
            gone: Vec::new(),
            pending: Pending::default(),
            recorder: Recorder::new(),
        };
        let mut facts = Facts::blind();
        for batch in batches {
            guess.add(batch, &mut facts)?;
        }
        if guess.recorder.effect() == Effect::Nothing {
            return None;
        }
        guess.gone = gone(&guess.recorder)?;
        Some(guess)
    }

    /// The row of the log for the commit.
    pub(in crate::postgres) fn record(&self, id: [u8; 16]) -> Record {
        Record::new(Version(self.before.0 + 1), id, &self.recorder)
    }

    fn add(&mut self, batch: &'b Batch, facts: &mut Facts) -> Option<()> {
        for Precondition { key, value } in batch.preconditions() {
            let is_open = matches!(self.pending.find(key), Found::Untouched);
            if is_open && !self.required.contains_key(&key[..]) {
                facts.assume(key, value.as_deref());
                self.required.insert(key, value.as_deref());
            }
        }
        let is_known = |operation| match operation {
            OperationRef::Add(key, _) => {
                self.required.contains_key(key)
                    || !matches!(self.pending.find(key), Found::Untouched)
            }
            _ => true,
        };
        if !batch.operations().all(is_known) {
            return None;
        }
        self.pending.test(facts, batch.preconditions()).ok()?;
        self.pending.apply(batch, facts, &mut self.recorder).ok()
    }
}

/// The ranges that are told to be cleared, and keys as ranges of one key; `None` where one has no end.
/// What is told must have been there, also where something later covers it.
fn gone(recorder: &Recorder) -> Option<Vec<KeyRange>> {
    let changes = recorder.changes()?.iter();
    let gone = changes.filter_map(|change| match change.to_change() {
        Change::Put { .. } => None,
        Change::Delete { key } => {
            let after = [&key[..], &[0]].concat();
            Some(Some(KeyRange::new(key, after)))
        }
        Change::DeleteRange(range) => Some(range.end.is_some().then_some(range)),
    });
    gone.collect()
}

impl Engine {
    /// Commits what was worked out on a guess. `false` where nothing is written: the guess is wrong, or
    /// the server does not take commits of one statement. A failure that is not a refusal leaves open
    /// whether it was committed.
    pub(in crate::postgres) fn commit_guess(
        &self,
        connection: &mut Connection,
        guess: &Guess<'_>,
        record: &Record,
    ) -> Result<bool, Failure> {
        let (before, version) = (guess.before.0.cast_signed(), record.version.0.cast_signed());
        let required = guess.required.iter().map(|(key, value)| (*key, *value));
        let (required, values): (Vec<_>, Vec<_>) = required.unzip();
        let gone = guess.gone.iter();
        let (first, after): (Vec<_>, Vec<_>) = gone.map(|range| (&range.start, &range.end)).unzip();
        let (keys, contents): (Vec<_>, Vec<_>) = guess.pending.set().unzip();
        let channel = (self.push == Push::Notify).then(|| self.setup.channel());
        let text = || statements::commit(&self.setup.config.schema, channel.as_deref());
        let rows = connection.commit_at_once(
            text,
            &[
                &before,
                &version,
                &&record.id[..],
                &record.changes,
                &required,
                &values,
                &first,
                &after,
                &keys,
                &contents,
            ],
        )?;
        Ok(rows.is_some_and(|rows| !rows.is_empty()))
    }
}
