//! The documents of one value of an index in memory.

use std::cmp::Ordering;
use std::sync::Arc;

use super::slot_runs::SlotRuns;

/// The slots of the documents of a value, in the order of their keys.
pub(super) enum Postings<T> {
    /// With the document itself, if the policy keeps documents: for a unique index, whose reads then do not go
    /// through the slot. It takes the space of the pointer of the other case.
    One(u32, Option<Arc<T>>),
    /// Boxed: in a unique index, no value has several.
    Many(Box<SlotRuns>),
}

impl<T> Default for Postings<T> {
    fn default() -> Self {
        Self::One(0, None)
    }
}

impl<T> Postings<T> {
    /// The document with the smallest key; the document itself, if it is stored here.
    pub(super) fn first(&self) -> Option<(u32, Option<&Arc<T>>)> {
        match self {
            Self::One(slot, document) => Some((*slot, document.as_ref())),
            Self::Many(slots) => slots.iter().next().map(|slot| (slot, None)),
        }
    }

    /// Inserts a document; `order` compares the key of another one with its key.
    pub(super) fn insert(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
        match self {
            Self::One(own, _) if *own == slot => {}
            Self::One(own, _) => {
                let mut both = SlotRuns::default();
                both.insert(*own, |_| Ordering::Equal);
                both.insert(slot, order);
                *self = Self::Many(Box::new(both));
            }
            Self::Many(slots) => slots.insert(slot, order),
        }
    }

    /// Removes a document; returns whether the list is empty now.
    pub(super) fn remove(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) -> bool {
        match self {
            Self::One(own, _) => *own == slot,
            Self::Many(slots) => {
                slots.remove(order);
                slots.is_empty()
            }
        }
    }

    /// Appends all documents to a list.
    pub(super) fn list(&self, listed: &mut Vec<u32>) {
        match self {
            Self::One(slot, _) => listed.push(*slot),
            Self::Many(slots) => listed.extend(slots.iter()),
        }
    }

    /// The documents, in the order of their keys.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        let (one, many) = match self {
            Self::One(slot, _) => (Some(*slot), None),
            Self::Many(slots) => (None, Some(slots.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}
