//! The read set of a batch: the keys and ranges that it depends on, read in one round trip before the batch is
//! evaluated.

use std::collections::{BTreeSet, HashMap, HashSet};

use espalier_keyspace::{Batch, KeyRange, OperationRef, Precondition};
use tokio_postgres::Row;

use super::connection::Step;
use super::error::Failure;
use super::reads::{bytes, column};
use super::statements::Query;

/// The most keys that one statement reads.
const KEYS_MAX: usize = 10_000;

/// The keys and ranges that a batch depends on.
#[derive(Default)]
pub(in crate::postgres) struct ReadSet<'b> {
    /// Keys whose values matter.
    values: BTreeSet<&'b [u8]>,
    /// Keys of which only the existence matters.
    keys: BTreeSet<&'b [u8]>,
    /// Ranges of which only matters whether they are empty.
    ranges: Vec<&'b KeyRange>,
}

/// The stored state of a read set.
#[derive(Default)]
pub(in crate::postgres) struct ReadResults {
    values: HashMap<Vec<u8>, Vec<u8>>,
    keys: HashSet<Vec<u8>>,
    /// The ranges that are not empty.
    filled: HashSet<KeyRange>,
    /// Whether all keys exist and all ranges have some, by assumption.
    assumes_present: bool,
}

impl<'b> ReadSet<'b> {
    /// Adds what these preconditions depend on.
    pub(in crate::postgres) fn add_preconditions(&mut self, preconditions: &'b [Precondition]) {
        let keys = preconditions.iter().map(|condition| &condition.key[..]);
        self.values.extend(keys);
    }

    /// Adds what the operations of this batch depend on.
    pub(in crate::postgres) fn add_operations(&mut self, batch: &'b Batch) {
        for operation in batch.operations() {
            match operation {
                OperationRef::Add(key, _) => drop(self.values.insert(key)),
                OperationRef::Delete(key) => drop(self.keys.insert(key)),
                OperationRef::DeleteRange(range) if !range.is_empty() => self.ranges.push(range),
                _ => {}
            }
        }
    }

    /// The queries that read it, to be sent in one pipeline.
    pub(super) fn queries(&self) -> ReadSetQueries<'_> {
        let parts = |keys: &BTreeSet<&'b [u8]>| {
            let keys: Vec<_> = keys.iter().copied().collect();
            keys.chunks(KEYS_MAX).map(<[_]>::to_vec).collect()
        };
        ReadSetQueries {
            values: parts(&self.values),
            keys: parts(&self.keys),
            ranges: &self.ranges,
        }
    }
}

/// The queries of a read set.
pub(super) struct ReadSetQueries<'w> {
    values: Vec<Vec<&'w [u8]>>,
    keys: Vec<Vec<&'w [u8]>>,
    ranges: &'w [&'w KeyRange],
}

impl ReadSetQueries<'_> {
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let values = self.values.iter();
        let values = values.map(|keys| Step::Query(Query::GetMany, vec![keys]));
        let keys = self.keys.iter();
        let keys = keys.map(|keys| Step::Query(Query::FindMany, vec![keys]));
        let ranges = self.ranges.iter().map(|range| match &range.end {
            None => Step::Query(Query::Forward, vec![&range.start, &1i64]),
            Some(end) => Step::Query(Query::ForwardTo, vec![&range.start, end, &1i64]),
        });
        values.chain(keys).chain(ranges)
    }

    /// Reads the responses to the steps.
    pub(super) fn results(&self, answers: &[Vec<Row>]) -> Result<ReadResults, Failure> {
        let mut results = ReadResults::default();
        let (values, rest) = answers.split_at(self.values.len());
        let (keys, ranges) = rest.split_at(self.keys.len());
        for row in values.iter().flatten() {
            results.values.insert(bytes(row, 0)?, bytes(row, 1)?);
        }
        for row in keys.iter().flatten() {
            results.keys.insert(column(row, 0)?.to_vec());
        }
        let filled = self.ranges.iter().zip(ranges);
        let filled = filled.filter(|(_, rows)| !rows.is_empty());
        results.filled = filled.map(|(range, _)| (*range).clone()).collect();
        Ok(results)
    }
}

impl ReadResults {
    /// Results that assume that every key and range to be deleted exists.
    pub(in crate::postgres) fn assuming_present() -> Self {
        Self {
            assumes_present: true,
            ..Self::default()
        }
    }

    /// Assumes that a key has this value.
    pub(super) fn assume(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.values
            .extend(value.map(|value| (key.to_vec(), value.to_vec())));
    }

    /// The value of a key of the read set.
    pub(super) fn value(&self, key: &[u8]) -> Option<&[u8]> {
        self.values.get(key).map(Vec::as_slice)
    }

    /// Returns whether a key of the read set exists.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.assumes_present || self.keys.contains(key)
    }

    /// Returns whether a range of the read set has any key.
    pub(super) fn has_any(&self, range: &KeyRange) -> bool {
        self.assumes_present || self.filled.contains(range)
    }
}
