//! The edits that are applied to a tree.

use std::cmp::Ordering;

use espalier_keyspace::{Direction, KeyRange};

use super::Overlay;

/// An overlay, and rows that are set after it.
#[derive(Clone, Copy)]
pub(in crate::mongo) struct Edits<'a> {
    pub(in crate::mongo) overlay: &'a Overlay,
    /// In key order, each key once.
    pub(in crate::mongo) rows: &'a [(&'a [u8], &'a [u8])],
}

impl<'a> Edits<'a> {
    /// The rows of a range.
    fn rows(&self, range: &KeyRange) -> &'a [(&'a [u8], &'a [u8])] {
        let from = self.rows.partition_point(|(key, _)| *key < &*range.start);
        let rows = &self.rows[from..];
        let count = rows.partition_point(|(key, _)| range.is_before_end(key));
        &rows[..count]
    }

    /// The keys of a range that are set or deleted one by one, with the new values.
    pub(super) fn scan(
        self,
        range: &KeyRange,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        let mut own = self.overlay.scan(range, Direction::Forward).peekable();
        let mut rows = self.rows(range).iter().peekable();
        std::iter::from_fn(move || {
            let order = match (own.peek(), rows.peek()) {
                (Some((own, _)), Some((row, _))) => own.cmp(row),
                (Some(_), None) => return own.next(),
                (None, _) => Ordering::Greater,
            };
            if order == Ordering::Less {
                return own.next();
            }
            if order == Ordering::Equal {
                own.next();
            }
            rows.next().map(|(key, value)| (*key, Some(*value)))
        })
    }

    /// Whether the tree's row of a key is deleted as part of a range.
    pub(super) fn is_cleared(&self, key: &[u8]) -> bool {
        self.overlay.is_cleared(key)
    }

    /// Whether all rows of the tree in a range are deleted, and none are set.
    pub(super) fn clears(&self, range: &KeyRange) -> bool {
        self.overlay.clears(range) && self.rows(range).is_empty()
    }

    /// Whether any row of a range is set or deleted.
    pub(super) fn has_changes(&self, range: &KeyRange) -> bool {
        self.overlay.has_changes(range) || !self.rows(range).is_empty()
    }
}
