//! Optimistic commits: a small commit is one statement that assumes what it depends on, and does nothing if an
//! assumption is wrong. It assumes that the newest version is the one seen last, that all preconditions hold, and
//! that everything it deletes exists.

use std::collections::HashMap;

use espalier_keyspace::{Batch, Change, KeyRange, OperationRef, Precondition, Version};

use super::connection::Connection;
use super::error::Failure;
use super::log::LogRecord;
use super::open::{Engine, Push};
use super::read_set::ReadResults;
use super::statements;
use super::write_set::{WriteSet, Written};
use crate::recent_commits::{Effect, Recorder};

/// The most preconditions and operations together of an optimistic commit.
const PARTS_MAX: usize = 64;

/// The most bytes of keys and values of an optimistic commit: 64 KiB.
const BYTES_MAX: usize = 64 << 10;

/// Batches, evaluated on assumptions about the stored state.
pub(in crate::postgres) struct OptimisticCommit<'b> {
    pub(super) before: Version,
    /// The values that keys must have.
    pub(super) required: HashMap<&'b [u8], Option<&'b [u8]>>,
    /// Ranges that must not be empty, and that are deleted.
    pub(super) deleted: Vec<KeyRange>,
    pub(super) write_set: WriteSet<'b>,
    pub(in crate::postgres) recorder: Recorder,
}

impl<'b> OptimisticCommit<'b> {
    /// Evaluates batches, assuming that the state has the version `before`. Returns `None` if they are too large
    /// for one statement, change nothing, or depend on a value that is not known.
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
        let mut optimistic = Self {
            before,
            required: HashMap::new(),
            deleted: Vec::new(),
            write_set: WriteSet::default(),
            recorder: Recorder::new(),
        };
        let mut reads = ReadResults::assuming_present();
        for batch in batches {
            optimistic.add(batch, &mut reads)?;
        }
        if optimistic.recorder.effect() == Effect::Nothing {
            return None;
        }
        optimistic.deleted = deleted_ranges(&optimistic.recorder)?;
        Some(optimistic)
    }

    /// The row of the log for the commit.
    pub(in crate::postgres) fn record(&self, id: [u8; 16]) -> LogRecord {
        LogRecord::new(Version(self.before.0 + 1), id, &self.recorder)
    }

    fn add(&mut self, batch: &'b Batch, reads: &mut ReadResults) -> Option<()> {
        for Precondition { key, value } in batch.preconditions() {
            let is_open = matches!(self.write_set.find(key), Written::Untouched);
            if is_open && !self.required.contains_key(&key[..]) {
                reads.assume(key, value.as_deref());
                self.required.insert(key, value.as_deref());
            }
        }
        let is_known = |operation| match operation {
            OperationRef::Add(key, _) => {
                self.required.contains_key(key)
                    || !matches!(self.write_set.find(key), Written::Untouched)
            }
            _ => true,
        };
        if !batch.operations().all(is_known) {
            return None;
        }
        self.write_set.test(reads, batch.preconditions()).ok()?;
        self.write_set.apply(batch, reads, &mut self.recorder).ok()
    }
}

/// The ranges that the recorder reports as deleted, with keys as ranges of one key; `None` if one has no end.
/// All of them must exist, also those that a later change covers.
fn deleted_ranges(recorder: &Recorder) -> Option<Vec<KeyRange>> {
    let changes = recorder.changes()?.iter();
    let deleted = changes.filter_map(|change| match change.to_change() {
        Change::Put { .. } => None,
        Change::Delete { key } => {
            let after = [&key[..], &[0]].concat();
            Some(Some(KeyRange::new(key, after)))
        }
        Change::DeleteRange(range) => Some(range.end.is_some().then_some(range)),
    });
    deleted.collect()
}

impl Engine {
    /// Runs an optimistic commit. Returns `false` if nothing was written, as an assumption was wrong or the server
    /// does not support the statement. After a failure that is not a refusal, the outcome is unknown.
    pub(in crate::postgres) fn commit_optimistic(
        &self,
        connection: &mut Connection,
        optimistic: &OptimisticCommit<'_>,
        record: &LogRecord,
    ) -> Result<bool, Failure> {
        let (before, version) = (
            optimistic.before.0.cast_signed(),
            record.version.0.cast_signed(),
        );
        let required = optimistic
            .required
            .iter()
            .map(|(key, value)| (*key, *value));
        let (required, values): (Vec<_>, Vec<_>) = required.unzip();
        let deleted = optimistic.deleted.iter();
        let (first, after): (Vec<_>, Vec<_>) =
            deleted.map(|range| (&range.start, &range.end)).unzip();
        let (keys, contents): (Vec<_>, Vec<_>) = optimistic.write_set.set().unzip();
        let channel = (self.push == Push::Notify).then(|| self.setup.channel());
        let text = || statements::commit(&self.setup.config.schema, channel.as_deref());
        let rows = connection.commit_in_one_statement(
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
