//! What a batch depends on, and what the server says about it: read in one go before the batch is
//! worked out.

use std::collections::{BTreeSet, HashMap, HashSet};

use espalier_keyspace::{Batch, KeyRange, OperationRef, Precondition};
use tokio_postgres::Row;

use super::connection::Step;
use super::error::Failure;
use super::reads::{bytes, column};
use super::statements::Query;

/// Keys that one statement asks for.
const KEYS_MAX: usize = 10_000;

/// What has to be asked.
#[derive(Default)]
pub(in crate::postgres) struct Wanted<'b> {
    values: BTreeSet<&'b [u8]>,
    keys: BTreeSet<&'b [u8]>,
    ranges: Vec<&'b KeyRange>,
}

/// What was said.
#[derive(Default)]
pub(in crate::postgres) struct Facts {
    values: HashMap<Vec<u8>, Vec<u8>>,
    keys: HashSet<Vec<u8>>,
    /// The ranges that hold something.
    filled: HashSet<KeyRange>,
    /// Whether nothing was asked about keys and ranges.
    is_blind: bool,
}

impl<'b> Wanted<'b> {
    /// What these preconditions depend on.
    pub(in crate::postgres) fn preconditions(&mut self, preconditions: &'b [Precondition]) {
        let keys = preconditions.iter().map(|condition| &condition.key[..]);
        self.values.extend(keys);
    }

    /// What the operations of this batch depend on.
    pub(in crate::postgres) fn operations(&mut self, batch: &'b Batch) {
        for operation in batch.operations() {
            match operation {
                OperationRef::Add(key, _) => drop(self.values.insert(key)),
                OperationRef::Delete(key) => drop(self.keys.insert(key)),
                OperationRef::DeleteRange(range) if !range.is_empty() => self.ranges.push(range),
                _ => {}
            }
        }
    }

    /// The statements that ask, to be run together.
    pub(super) fn questions(&self) -> Questions<'_> {
        let parts = |keys: &BTreeSet<&'b [u8]>| {
            let keys: Vec<_> = keys.iter().copied().collect();
            keys.chunks(KEYS_MAX).map(<[_]>::to_vec).collect()
        };
        Questions {
            values: parts(&self.values),
            keys: parts(&self.keys),
            ranges: &self.ranges,
        }
    }
}

/// The values of the statements that ask.
pub(super) struct Questions<'w> {
    values: Vec<Vec<&'w [u8]>>,
    keys: Vec<Vec<&'w [u8]>>,
    ranges: &'w [&'w KeyRange],
}

impl Questions<'_> {
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

    /// What the answers to the steps say.
    pub(super) fn facts(&self, answers: &[Vec<Row>]) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        let (values, rest) = answers.split_at(self.values.len());
        let (keys, ranges) = rest.split_at(self.keys.len());
        for row in values.iter().flatten() {
            facts.values.insert(bytes(row, 0)?, bytes(row, 1)?);
        }
        for row in keys.iter().flatten() {
            facts.keys.insert(column(row, 0)?.to_vec());
        }
        let filled = self.ranges.iter().zip(ranges);
        let filled = filled.filter(|(_, rows)| !rows.is_empty());
        facts.filled = filled.map(|(range, _)| (*range).clone()).collect();
        Ok(facts)
    }
}

impl Facts {
    /// Facts that say nothing about what is deleted, which counts as being there.
    pub(in crate::postgres) fn blind() -> Self {
        Self {
            is_blind: true,
            ..Self::default()
        }
    }

    /// Takes a value for the truth.
    pub(super) fn assume(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.values
            .extend(value.map(|value| (key.to_vec(), value.to_vec())));
    }

    /// The value of a key that was asked for.
    pub(super) fn value(&self, key: &[u8]) -> Option<&[u8]> {
        self.values.get(key).map(Vec::as_slice)
    }

    /// Whether a key that was asked for is there.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.is_blind || self.keys.contains(key)
    }

    /// Whether a range that was asked for holds anything.
    pub(super) fn has_any(&self, range: &KeyRange) -> bool {
        self.is_blind || self.filled.contains(range)
    }
}
