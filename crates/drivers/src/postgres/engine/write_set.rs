//! The write set of a transaction: batches are evaluated against their read results, and only the result is sent.
//! First ranges are deleted, then keys are set and deleted. Each key occurs once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::{Batch, Error, KeyRange, OperationRef, Precondition, Result, counter};

use super::read_set::ReadResults;
use crate::recent_commits::Recorder;

type Bytes<'b> = Cow<'b, [u8]>;

/// The changes that a transaction writes.
#[derive(Default)]
pub(in crate::postgres) struct WriteSet<'b> {
    pub(super) ranges: Vec<KeyRange>,
    /// The new values of keys; `None` for keys that are deleted.
    pub(super) entries: BTreeMap<Bytes<'b>, Option<Bytes<'b>>>,
}

/// The state of a key in a write set.
pub(in crate::postgres) enum Written<'p> {
    Value(&'p [u8]),
    Deleted,
    /// The write set does not change the key.
    Untouched,
}

impl<'b> WriteSet<'b> {
    /// The state of a key.
    pub(in crate::postgres) fn find(&self, key: &[u8]) -> Written<'_> {
        match self.entries.get(key) {
            Some(Some(value)) => Written::Value(value),
            Some(None) => Written::Deleted,
            None if self.ranges.iter().any(|range| range.contains(key)) => Written::Deleted,
            None => Written::Untouched,
        }
    }

    pub(in crate::postgres) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.entries.is_empty()
    }

    /// Sets a key.
    pub(in crate::postgres) fn put(&mut self, key: Bytes<'b>, value: Bytes<'b>) {
        self.entries.insert(key, Some(value));
    }

    /// Deletes a key.
    pub(in crate::postgres) fn delete(&mut self, key: Bytes<'b>) {
        self.entries.insert(key, None);
    }

    /// Deletes all keys in a range, which must not be empty.
    pub(in crate::postgres) fn delete_range(&mut self, range: &KeyRange) {
        self.clear(range);
        self.ranges.push(range.clone());
    }

    /// Drops the entries in a range.
    fn clear(&mut self, range: &KeyRange) {
        if self.within(range).next().is_some() {
            self.entries.retain(|key, _| !range.contains(key));
        }
    }

    /// The entries in a range, which must not be empty.
    fn within(&self, range: &KeyRange) -> impl Iterator<Item = (&Bytes<'b>, &Option<Bytes<'b>>)> {
        self.entries.range::<[u8], _>(range.bounds())
    }

    /// The first key at or after the given one that has a value.
    pub(in crate::postgres) fn first_set(&self, key: &[u8]) -> Option<&[u8]> {
        let later = (Bound::Included(key), Bound::Unbounded);
        let mut later = self.entries.range::<[u8], _>(later);
        later.find_map(|(key, value)| value.is_some().then_some(&key[..]))
    }

    fn sets_any(&self, range: &KeyRange) -> bool {
        self.within(range).any(|(_, value)| value.is_some())
    }

    /// Appends the changes of a later write set.
    fn append(&mut self, later: Self) {
        for range in later.ranges {
            self.clear(&range);
            self.ranges.push(range);
        }
        self.entries.extend(later.entries);
    }

    /// The keys that are deleted one by one.
    pub(super) fn deleted(&self) -> impl Iterator<Item = &[u8]> {
        let deleted = self.entries.iter().filter(|(_, value)| value.is_none());
        deleted.map(|(key, _)| &key[..])
    }

    /// The keys that are set, with their values.
    pub(super) fn set(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let entries = self.entries.iter();
        entries.filter_map(|(key, value)| Some((&key[..], value.as_deref()?)))
    }

    /// Tests preconditions on the state after this write set.
    pub(in crate::postgres) fn test(
        &self,
        reads: &ReadResults,
        preconditions: &[Precondition],
    ) -> Result<()> {
        let broken = preconditions
            .iter()
            .find(|condition| self.value(reads, &condition.key) != condition.value.as_deref());
        broken.map_or(Ok(()), |condition| Err(Error::conflict(&condition.key)))
    }

    fn value<'p>(&'p self, reads: &'p ReadResults, key: &[u8]) -> Option<&'p [u8]> {
        match self.find(key) {
            Written::Value(value) => Some(value),
            Written::Deleted => None,
            Written::Untouched => reads.value(key),
        }
    }

    /// Evaluates a batch on the state after this write set, and adds its result. Adds nothing if it fails.
    pub(in crate::postgres) fn apply(
        &mut self,
        batch: &'b Batch,
        reads: &ReadResults,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let mut work = Evaluation {
            before: self,
            reads,
            result: WriteSet::default(),
            recorder: Recorder::new(),
        };
        for operation in batch.operations() {
            work.apply(operation)?;
        }
        let Evaluation {
            result,
            recorder: made,
            ..
        } = work;
        recorder.append(made);
        self.append(result);
        Ok(())
    }
}

/// The evaluation of one batch.
struct Evaluation<'w, 'b> {
    before: &'w WriteSet<'b>,
    reads: &'w ReadResults,
    result: WriteSet<'b>,
    recorder: Recorder,
}

impl<'b> Evaluation<'_, 'b> {
    fn apply(&mut self, operation: OperationRef<'b>) -> Result<()> {
        match operation {
            OperationRef::Put(key, value) => {
                self.recorder.put(key, value);
                self.result.put(Cow::Borrowed(key), Cow::Borrowed(value));
            }
            OperationRef::Delete(key) => {
                if self.is_there(key) {
                    self.recorder.delete(key);
                    self.result.delete(Cow::Borrowed(key));
                }
            }
            OperationRef::DeleteRange(range) => self.delete_range(range),
            OperationRef::Add(key, delta) => {
                let sum = counter::add(key, self.value(key), delta)?;
                self.recorder.put(key, &sum);
                self.result
                    .put(Cow::Borrowed(key), Cow::Owned(sum.to_vec()));
            }
        }
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let is_there = self.reads.has_any(range);
        if is_there || self.result.sets_any(range) || self.before.sets_any(range) {
            self.recorder.delete_range(range);
            self.result.delete_range(range);
        }
    }

    fn is_there(&self, key: &[u8]) -> bool {
        match self.find(key) {
            Written::Value(_) => true,
            Written::Deleted => false,
            Written::Untouched => self.reads.has(key),
        }
    }

    fn value(&self, key: &[u8]) -> Option<&[u8]> {
        match self.find(key) {
            Written::Value(value) => Some(value),
            Written::Deleted => None,
            Written::Untouched => self.reads.value(key),
        }
    }

    fn find(&self, key: &[u8]) -> Written<'_> {
        match self.result.find(key) {
            Written::Untouched => self.before.find(key),
            found => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent_commits::Effect;

    fn apply(batches: &[Batch]) -> (WriteSet<'_>, Recorder) {
        let reads = ReadResults::default();
        let (mut write_set, mut recorder) = (WriteSet::default(), Recorder::new());
        for batch in batches {
            write_set
                .apply(batch, &reads, &mut recorder)
                .expect("nothing is refused");
        }
        (write_set, recorder)
    }

    #[test]
    fn only_the_result_is_written() {
        let mut one = Batch::new();
        one.put("a1", "x");
        one.put("b", "x");
        one.delete_range(KeyRange::prefix(b"a"));
        one.add("n", 3);
        let mut two = Batch::new();
        two.put("a2", "y");
        two.delete("b");
        two.add("n", 4);
        let batches = [one, two];
        let (write_set, recorder) = apply(&batches);
        let entries: Vec<_> = write_set.entries.iter().collect();
        let sum = counter::encode(7);
        let expected: [(&[u8], Option<&[u8]>); 3] =
            [(b"a2", Some(b"y")), (b"b", None), (b"n", Some(&sum))];
        assert_eq!(entries.len(), expected.len());
        for ((key, value), (expected_key, expected_value)) in entries.into_iter().zip(expected) {
            assert_eq!((&key[..], value.as_deref()), (expected_key, expected_value));
        }
        assert_eq!(write_set.ranges, [KeyRange::prefix(b"a")]);
        assert_eq!(recorder.changes().expect("few").iter().count(), 7);
    }

    #[test]
    fn absent_keys_are_not_deleted() {
        let mut batch = Batch::new();
        batch.delete("a");
        batch.delete_range(KeyRange::all());
        let batches = [batch];
        let (write_set, recorder) = apply(&batches);
        assert!(write_set.is_empty());
        assert_eq!(recorder.effect(), Effect::Nothing);
    }

    #[test]
    fn a_refused_batch_leaves_nothing() {
        let mut batch = Batch::new();
        batch.put("a", "x");
        batch.add("a", 1);
        let (mut write_set, mut recorder) = (WriteSet::default(), Recorder::new());
        let refused = write_set.apply(&batch, &ReadResults::default(), &mut recorder);
        assert!(refused.is_err() && write_set.is_empty());
        assert_eq!(recorder.effect(), Effect::Nothing);
    }
}
