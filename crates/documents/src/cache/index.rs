//! One index in memory.

use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange};
use foldhash::fast::RandomState;

use super::hash_slots::HashSlots;
use super::memory_indexes::Hit;
use super::postings::Postings;
use super::resident_documents::ResidentDocuments;
use super::slab::Slab;
use super::slot_runs::SlotRuns;
use super::value_bytes::ValueBytes;
use crate::value::Bytes;
use crate::{Query, Value};

// Each value is stored once; the hash table and the order refer to it: docs/decisions/0079.
/// A map from values to documents.
pub(super) struct Index<T> {
    values: Slab<IndexedValue<T>>,
    /// The slots of the values, by the hash of the value.
    by_value: HashSlots,
    hasher: RandomState,
    /// The slots of the values in order, for range queries.
    sorted: SlotRuns,
    /// The largest number of components of a value so far.
    components: usize,
}

/// A value and its documents.
struct IndexedValue<T> {
    full: ValueBytes,
    postings: Postings<T>,
}

impl<T> Default for IndexedValue<T> {
    fn default() -> Self {
        Self {
            full: ValueBytes::default(),
            postings: Postings::default(),
        }
    }
}

impl<T> Index<T> {
    pub(super) fn new() -> Self {
        Self {
            values: Slab::default(),
            by_value: HashSlots::default(),
            hasher: RandomState::default(),
            sorted: SlotRuns::default(),
            components: 0,
        }
    }

    /// Whether so many more values can be inserted.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.values.has_room(more)
    }

    /// Inserts a document, and returns the slot of the value.
    pub(super) fn insert(
        &mut self,
        value: &Value,
        document: u32,
        documents: &ResidentDocuments<T>,
    ) -> u32 {
        self.components = self.components.max(value.components());
        let full = value.full();
        if let Some(slot) = self.slot(full) {
            let order = documents.order(documents.key(document));
            let postings = &mut self.values.get_mut(slot).postings;
            postings.insert(document, order);
            return slot;
        }
        let slot = self.values.insert(IndexedValue {
            full: ValueBytes::of(full),
            postings: Postings::One(document, documents.document(document).cloned()),
        });
        let hash = self.hasher.hash_one(full);
        self.by_value.insert(hash, slot);
        let values = &self.values;
        self.sorted
            .insert(slot, |other| values.get(other).full.as_slice().cmp(full));
        slot
    }

    /// Removes a document from a value.
    pub(super) fn remove(
        &mut self,
        value: &Value,
        document: u32,
        documents: &ResidentDocuments<T>,
    ) {
        if let Some(slot) = self.slot(value.full()) {
            self.remove_from_slot(slot, document, documents);
        }
    }

    /// Removes a document from the value of a slot.
    pub(super) fn remove_from_slot(
        &mut self,
        slot: u32,
        document: u32,
        documents: &ResidentDocuments<T>,
    ) {
        let order = documents.order(documents.key(document));
        let postings = &mut self.values.get_mut(slot).postings;
        if !postings.remove(document, order) {
            return;
        }
        let removed = self.values.get(slot).full.as_slice();
        let hash = self.hasher.hash_one(removed);
        self.by_value.remove(hash, slot);
        let values = &self.values;
        self.sorted
            .remove(|other| values.get(other).full.as_slice().cmp(removed));
        self.values.remove(slot);
    }

    /// The slot of a value.
    fn slot(&self, full: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(full);
        let is_value = |slot: u32| self.values.get(slot).full.as_slice() == full;
        self.by_value.find(hash, is_value)
    }

    fn postings(&self, value: &Value) -> Option<&Postings<T>> {
        let slot = self.slot(value.full())?;
        Some(&self.values.get(slot).postings)
    }

    /// The document that has exactly this value; if there are several, the one with the smallest key.
    /// Its slot, and the document itself if it is stored here.
    pub(super) fn get(&self, value: &Value) -> Option<(u32, Option<&Arc<T>>)> {
        self.postings(value)?.first()
    }

    /// The documents whose value equals or begins with a value.
    pub(super) fn listed(&self, value: &Value) -> Vec<u32> {
        let mut listed = Vec::new();
        if value.components() >= self.components {
            if let Some(postings) = self.postings(value) {
                postings.list(&mut listed);
            }
            return listed;
        }
        for slot in self.range(&Query::value(value)) {
            self.values.get(slot).postings.list(&mut listed);
        }
        listed
    }

    /// The slots of the values that can match a query, in order.
    fn range(&self, query: &Query) -> impl DoubleEndedIterator<Item = u32> {
        let (from, to) = bounds(query);
        let before = |bound: &[u8]| {
            let is_before = |slot: u32| self.values.get(slot).full.as_slice() < bound;
            self.sorted.position(is_before)
        };
        let after = |bound: &[u8]| {
            let is_before = |slot: u32| self.values.get(slot).full.as_slice() <= bound;
            self.sorted.position(is_before)
        };
        let from = match &from {
            Bound::Included(bound) => before(bound),
            Bound::Excluded(bound) => after(bound),
            Bound::Unbounded => before(&[]),
        };
        let to = match &to {
            Bound::Included(bound) => after(bound),
            Bound::Excluded(bound) => before(bound),
            Bound::Unbounded => self.sorted.end(),
        };
        self.sorted.range(from, to)
    }

    /// The entries that match a query.
    pub(super) fn find(&self, query: &Query, documents: &ResidentDocuments<T>) -> Vec<Hit<T>> {
        if query.is_always_empty {
            return Vec::new();
        }
        if let Some(value) = query.equal()
            && query.after.is_none()
            && value.components() >= self.components
        {
            let postings = self.postings(value);
            return postings.map_or_else(Vec::new, |postings| select(postings, query, documents));
        }
        let mut visit = MatchVisit {
            query,
            documents,
            hits: Vec::new(),
            rest: query.offset,
        };
        let values = self.range(query).map(|slot| self.values.get(slot));
        match query.direction {
            Direction::Forward => values.for_each(|value| visit.value(value)),
            Direction::Backward => values.rev().for_each(|value| visit.value(value)),
        }
        visit.hits
    }
}

/// The documents of a value within the limits of a query.
fn select<T>(
    postings: &Postings<T>,
    query: &Query,
    documents: &ResidentDocuments<T>,
) -> Vec<Hit<T>> {
    let hit = |slot: u32| Hit {
        key: documents.key(slot),
        full: None,
        document: documents.document(slot).cloned(),
    };
    let (offset, limit) = (query.offset, query.limit);
    match query.direction {
        Direction::Forward => {
            let selected = postings.iter().skip(offset).take(limit);
            selected.map(hit).collect()
        }
        Direction::Backward => {
            let selected = postings.iter().rev().skip(offset).take(limit);
            selected.map(hit).collect()
        }
    }
}

/// Collects the entries that match a query.
struct MatchVisit<'a, T> {
    query: &'a Query,
    documents: &'a ResidentDocuments<T>,
    hits: Vec<Hit<T>>,
    /// How many entries are still to be skipped.
    rest: usize,
}

impl<T> MatchVisit<'_, T> {
    fn value(&mut self, value: &IndexedValue<T>) {
        if self.hits.len() >= self.query.limit {
            return;
        }
        let full = value.full.as_slice();
        match self.query.direction {
            Direction::Forward => value
                .postings
                .iter()
                .for_each(|slot| self.entry(full, slot)),
            Direction::Backward => {
                let slots = value.postings.iter().rev();
                slots.for_each(|slot| self.entry(full, slot));
            }
        }
    }

    fn entry(&mut self, full: &[u8], slot: u32) {
        let key = self.documents.key(slot);
        if self.hits.len() >= self.query.limit || !self.query.matches(full, key) {
            return;
        }
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        self.hits.push(Hit {
            key,
            full: Some(Bytes::from_slice(full)),
            document: self.documents.document(slot).map(Arc::clone),
        });
    }
}

/// The range of values that can match a query.
fn bounds(query: &Query) -> (Bound<Bytes>, Bound<Bytes>) {
    let after = query
        .after
        .as_ref()
        .map(|(value, _)| Bytes::from_slice(value.full()));
    let from = match &query.from {
        Bound::Included(value) | Bound::Excluded(value) => Some(Bytes::from_slice(value.full())),
        Bound::Unbounded => None,
    };
    let to = match &query.to {
        Bound::Included(value) => KeyRange::prefix(value.full()).end.map(Bytes::from_vec),
        Bound::Excluded(value) => Some(Bytes::from_slice(value.full())),
        Bound::Unbounded => None,
    };
    let (mut from, mut to) = (
        from.map_or(Bound::Unbounded, Bound::Included),
        to.map_or(Bound::Unbounded, Bound::Excluded),
    );
    match (after, query.direction) {
        (Some(after), Direction::Forward) => {
            if !matches!(&from, Bound::Included(from) if *from > after) {
                from = Bound::Included(after);
            }
        }
        (Some(after), Direction::Backward) => {
            if !matches!(&to, Bound::Excluded(to) if *to <= after) {
                to = Bound::Included(after);
            }
        }
        (None, _) => {}
    }
    let is_empty = match (&from, &to) {
        (Bound::Included(from), Bound::Excluded(to)) => from >= to,
        (Bound::Included(from), Bound::Included(to)) => from > to,
        _ => false,
    };
    if is_empty {
        let nothing = Bytes::new();
        return (Bound::Included(nothing.clone()), Bound::Excluded(nothing));
    }
    (from, to)
}
