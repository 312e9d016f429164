//! What is to be written: batches worked out against what the server said, so that only their
//! result is sent. First ranges are deleted, then keys are set and deleted; each key stands once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::{Batch, Error, KeyRange, OperationRef, Precondition, Result, counter};

use super::facts::Facts;
use crate::recent_commits::Recorder;

type Bytes<'b> = Cow<'b, [u8]>;

/// What is to be written.
#[derive(Default)]
pub(in crate::postgres) struct Pending<'b> {
    pub(super) ranges: Vec<KeyRange>,
    /// What keys hold afterwards; `None` where they are to be deleted.
    pub(super) entries: BTreeMap<Bytes<'b>, Option<Bytes<'b>>>,
}

/// What is known of a key.
pub(in crate::postgres) enum Found<'p> {
    Value(&'p [u8]),
    Absent,
    /// It is as the server has it.
    Untouched,
}

impl<'b> Pending<'b> {
    /// What a key holds after this is written.
    pub(in crate::postgres) fn find(&self, key: &[u8]) -> Found<'_> {
        match self.entries.get(key) {
            Some(Some(value)) => Found::Value(value),
            Some(None) => Found::Absent,
            None if self.ranges.iter().any(|range| range.contains(key)) => Found::Absent,
            None => Found::Untouched,
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

    /// Deletes what is set so far in a range that is not empty, and what the server has there.
    pub(in crate::postgres) fn delete_range(&mut self, range: &KeyRange) {
        self.clear(range);
        self.ranges.push(range.clone());
    }

    fn clear(&mut self, range: &KeyRange) {
        if self.within(range).next().is_some() {
            self.entries.retain(|key, _| !range.contains(key));
        }
    }

    /// The entries of a range that is not empty.
    fn within(&self, range: &KeyRange) -> impl Iterator<Item = (&Bytes<'b>, &Option<Bytes<'b>>)> {
        self.entries.range::<[u8], _>(range.bounds())
    }

    /// The first key at or after the given one that is set.
    pub(in crate::postgres) fn first_set(&self, key: &[u8]) -> Option<&[u8]> {
        let later = (Bound::Included(key), Bound::Unbounded);
        let mut later = self.entries.range::<[u8], _>(later);
        later.find_map(|(key, value)| value.is_some().then_some(&key[..]))
    }

    fn sets_any(&self, range: &KeyRange) -> bool {
        self.within(range).any(|(_, value)| value.is_some())
    }

    /// What is to be written after this, too.
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

    /// What is set.
    pub(super) fn set(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let entries = self.entries.iter();
        entries.filter_map(|(key, value)| Some((&key[..], value.as_deref()?)))
    }

    /// Tests preconditions on the state after this.
    pub(in crate::postgres) fn test(
        &self,
        facts: &Facts,
        preconditions: &[Precondition],
    ) -> Result<()> {
        let broken = preconditions
            .iter()
            .find(|condition| self.value(facts, &condition.key) != condition.value.as_deref());
        broken.map_or(Ok(()), |condition| Err(Error::conflict(&condition.key)))
    }

    fn value<'p>(&'p self, facts: &'p Facts, key: &[u8]) -> Option<&'p [u8]> {
        match self.find(key) {
            Found::Value(value) => Some(value),
            Found::Absent => None,
            Found::Untouched => facts.value(key),
        }
    }

    /// Works out a batch on the state after this, and adds its result; where it is refused, nothing.
    pub(in crate::postgres) fn apply(
        &mut self,
        batch: &'b Batch,
        facts: &Facts,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let mut work = Work {
            before: self,
            facts,
            result: Pending::default(),
            recorder: Recorder::new(),
        };
        for operation in batch.operations() {
            work.apply(operation)?;
        }
        let Work {
            result,
            recorder: made,
            ..
        } = work;
        recorder.append(made);
        self.append(result);
        Ok(())
    }
}

/// A batch while it is worked out.
struct Work<'w, 'b> {
    before: &'w Pending<'b>,
    facts: &'w Facts,
    result: Pending<'b>,
    recorder: Recorder,
}

impl<'b> Work<'_, 'b> {
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
        let is_there = self.facts.has_any(range);
        if is_there || self.result.sets_any(range) || self.before.sets_any(range) {
            self.recorder.delete_range(range);
            self.result.delete_range(range);
        }
    }

    fn is_there(&self, key: &[u8]) -> bool {
        match self.find(key) {
            Found::Value(_) => true,
            Found::Absent => false,
            Found::Untouched => self.facts.has(key),
        }
    }

    fn value(&self, key: &[u8]) -> Option<&[u8]> {
        match self.find(key) {
            Found::Value(value) => Some(value),
            Found::Absent => None,
            Found::Untouched => self.facts.value(key),
        }
    }

    fn find(&self, key: &[u8]) -> Found<'_> {
        match self.result.find(key) {
            Found::Untouched => self.before.find(key),
            found => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent_commits::Effect;

    fn apply(batches: &[Batch]) -> (Pending<'_>, Recorder) {
        let facts = Facts::default();
        let (mut pending, mut recorder) = (Pending::default(), Recorder::new());
        for batch in batches {
            pending
                .apply(batch, &facts, &mut recorder)
                .expect("nothing is refused");
        }
        (pending, recorder)
    }

    #[test]
    fn only_the_result_is_left() {
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
        let (pending, recorder) = apply(&batches);
        let entries: Vec<_> = pending.entries.iter().collect();
        let sum = counter::encode(7);
        let expected: [(&[u8], Option<&[u8]>); 3] =
            [(b"a2", Some(b"y")), (b"b", None), (b"n", Some(&sum))];
        assert_eq!(entries.len(), expected.len());
        for ((key, value), (expected_key, expected_value)) in entries.into_iter().zip(expected) {
            assert_eq!((&key[..], value.as_deref()), (expected_key, expected_value));
        }
        assert_eq!(pending.ranges, [KeyRange::prefix(b"a")]);
        assert_eq!(recorder.changes().expect("few").iter().count(), 7);
    }

    #[test]
    fn what_is_not_there_is_not_deleted() {
        let mut batch = Batch::new();
        batch.delete("a");
        batch.delete_range(KeyRange::all());
        let batches = [batch];
        let (pending, recorder) = apply(&batches);
        assert!(pending.is_empty());
        assert_eq!(recorder.effect(), Effect::Nothing);
    }

    #[test]
    fn a_refused_batch_leaves_nothing() {
        let mut batch = Batch::new();
        batch.put("a", "x");
        batch.add("a", 1);
        let (mut pending, mut recorder) = (Pending::default(), Recorder::new());
        let refused = pending.apply(&batch, &Facts::default(), &mut recorder);
        assert!(refused.is_err() && pending.is_empty());
        assert_eq!(recorder.effect(), Effect::Nothing);
    }
}
