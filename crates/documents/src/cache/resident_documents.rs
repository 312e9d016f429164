//! All documents of a collection in memory.

use std::cmp::Ordering;
use std::hint::black_box;
use std::sync::Arc;

use espalier_keyspace::{Direction, Version};

use super::slab::Slab;
use super::slot_runs::SlotRuns;
use crate::Selection;

/// Documents by slot and by key. The indexes refer to the slots.
pub(super) struct ResidentDocuments<T> {
    slots: Slab<ResidentDocument<T>>,
    /// The slots in the order of keys.
    by_key: SlotRuns,
    count: u64,
}

/// A cached document.
pub(super) struct ResidentDocument<T> {
    pub(super) key: u64,
    pub(super) version: Version,
    /// The hash of its row.
    pub(super) hash: u64,
    /// `None` if the policy does not keep documents.
    pub(super) document: Option<Arc<T>>,
}

impl<T> Default for ResidentDocument<T> {
    fn default() -> Self {
        Self {
            // No document has this key.
            key: u64::MAX,
            version: Version(0),
            hash: 0,
            document: None,
        }
    }
}

/// How many documents are prefetched into the CPU cache at a time.
const PREFETCHED_DOCUMENTS: usize = 32;

impl<T> ResidentDocuments<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Slab::default(),
            by_key: SlotRuns::default(),
            count: 0,
        }
    }

    /// The number of documents.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether another document can be inserted.
    pub(super) fn has_room(&self) -> bool {
        self.slots.has_room(1)
    }

    /// The document of a slot; `None` if the policy does not keep documents.
    pub(super) fn document(&self, slot: u32) -> Option<&Arc<T>> {
        self.slots.get(slot).document.as_ref()
    }

    /// The key of the document of a slot.
    pub(super) fn key(&self, slot: u32) -> u64 {
        self.slots.get(slot).key
    }

    /// Compares the keys of documents with a key.
    pub(super) fn order(&self, key: u64) -> impl Fn(u32) -> Ordering {
        move |slot| self.key(slot).cmp(&key)
    }

    /// The slot of a key.
    pub(super) fn slot(&self, key: u64) -> Option<u32> {
        // Documents that were inserted in the order of their keys, from 0, are in the slot of their key.
        let same = u32::try_from(key).ok().filter(|slot| self.slots.has(*slot));
        match same {
            Some(slot) if self.key(slot) == key => Some(slot),
            _ => self.by_key.find(self.order(key)),
        }
    }

    /// What is cached of the document with a key.
    pub(super) fn get(&self, key: u64) -> Option<&ResidentDocument<T>> {
        self.slot(key).map(|slot| self.slots.get(slot))
    }

    /// Inserts a document whose key is not included and for which there is room; returns its slot.
    pub(super) fn insert(&mut self, document: ResidentDocument<T>) -> u32 {
        let key = document.key;
        let slot = self.slots.insert(document);
        let slots = &self.slots;
        self.by_key
            .insert(slot, |other| slots.get(other).key.cmp(&key));
        self.count += 1;
        slot
    }

    /// Removes the document of a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        let (key, slots) = (self.key(slot), &self.slots);
        self.by_key.remove(|other| slots.get(other).key.cmp(&key));
        self.slots.remove(slot);
        self.count -= 1;
    }

    /// The slots of the documents in a range of keys, in order.
    fn between(&self, from: u64, before: u64) -> impl DoubleEndedIterator<Item = u32> {
        let position = |bound: u64| self.by_key.position(|slot| self.key(slot) < bound);
        self.by_key
            .range(position(from), position(before.max(from)))
    }

    /// The keys of the documents in a range.
    pub(super) fn keys(&self, from: u64, before: u64) -> impl Iterator<Item = u64> {
        self.between(from, before).map(|slot| self.key(slot))
    }

    /// Documents in the order of keys.
    pub(super) fn list(&self, selection: &Selection) -> Vec<(u64, Arc<T>)> {
        let slots = self.between(selection.from, selection.before.unwrap_or(u64::MAX));
        let (offset, limit) = (selection.offset, selection.limit);
        let slots: Vec<_> = match selection.direction {
            Direction::Forward => slots.skip(offset).take(limit).collect(),
            Direction::Backward => slots.rev().skip(offset).take(limit).collect(),
        };
        self.documents(&slots)
    }

    /// The documents of some slots.
    pub(super) fn documents(&self, slots: &[u32]) -> Vec<(u64, Arc<T>)> {
        let mut documents = Vec::with_capacity(slots.len());
        for part in slots.chunks(PREFETCHED_DOCUMENTS) {
            // Cloning an `Arc` is an atomic addition, which stalls until its memory is loaded; plain reads are
            // loaded in parallel. With the reads first, 5,000 of 250,000 documents take less than half the time.
            let cached = part.iter().filter_map(|slot| self.document(*slot));
            black_box(cached.map(Arc::strong_count).sum::<usize>());
            documents.extend(part.iter().filter_map(|slot| {
                let cached = self.slots.get(*slot);
                Some((cached.key, Arc::clone(cached.document.as_ref()?)))
            }));
        }
        documents
    }
}
