//! Converts the merged changes from named to stored keys.
//!
//! Each entry of a list ordered by user has one position, in its merged row of the order index: its own
//! key, the keys of its content and the key of the row are all derived from this value, so that they agree.

use std::collections::BTreeSet;

use espalier_keyspace::KeyRange;

use super::changed::Changed;
use super::named::Named;
use super::naming::{Ordered, Span, with_prefix};
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The subspaces with keys of an entry.
const PLACES: [Subspace; 3] = [Subspace::Tree, Subspace::Order, Subspace::Stamp];

/// Converts the result of a merge to stored keys.
pub(super) struct Placing<'a> {
    pub running: &'a Named<'a>,
    /// The candidate on its base.
    pub made: &'a Named<'a>,
    /// The changes of running.
    pub changed: &'a Changed,
    pub ordered: &'a Ordered,
    /// The merged changes, by named keys.
    pub named: Changes,
}

impl Placing<'_> {
    /// Returns the changes over running and the given stamps, both by stored keys.
    pub fn run(mut self, stamps: &Changes) -> Result<(Changes, Changes)> {
        self.seat_newcomers()?;
        let mut stored = Changes::default();
        for left in self.carry()? {
            stored.hide(&KeyRange::prefix(&left));
        }
        self.clear(&mut stored)?;
        let deleted = self.named.written().filter(|(_, value)| value.is_none());
        for (name, _) in deleted {
            if let Some(key) = self.running.place(name)? {
                stored.delete(key);
            }
        }
        self.put(&self.named, &mut stored)?;
        let mut counted_on = Changes::default();
        self.put(stamps, &mut counted_on)?;
        Ok((stored, counted_on))
    }

    /// Puts the written rows under their keys in the merged state.
    fn put(&self, named: &Changes, stored: &mut Changes) -> Result<()> {
        for (name, value) in named.written() {
            let Some(value) = value else { continue };
            if let Some(key) = self.place(name)? {
                stored.put(key, value.to_vec());
            }
        }
        Ok(())
    }

    /// The stored key of a named key in the merged state.
    fn place(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        self.running.place_by(name, &|entry| self.position(entry))
    }

    /// The position of a named entry in the merged state.
    pub fn position(&self, entry: &[u8]) -> Result<Option<Vec<u8>>> {
        let row = in_subspace(entry, Subspace::Order);
        match self.named.get(&row) {
            Some(position) => Ok(position.map(<[u8]>::to_vec)),
            None if self.named.is_cleared(&row) => Ok(None),
            None => self.running.position(entry),
        }
    }

    /// Copies the content that running has in moved entries to the changes. Returns the stored keys of
    /// their old positions.
    fn carry(&mut self) -> Result<Vec<Vec<u8>>> {
        let order = self.running.stored.tree.prefix(Subspace::Order);
        let mut moved = Vec::new();
        for (row, position) in self.named.written_in(&KeyRange::prefix(&order)) {
            let entry = in_subspace(row, Subspace::Tree);
            let before = self.running.position(&entry)?;
            if position.is_some() && before.is_some() && before.as_deref() != position {
                moved.push(entry);
            }
        }
        let mut left = Vec::new();
        for entry in moved {
            let Some(place) = self.running.place(&entry)? else {
                continue;
            };
            for subspace in PLACES {
                let all = KeyRange::prefix(&in_subspace(&entry, subspace));
                for (name, value) in self.running.rows(&all)? {
                    if !self.named.has_written(&name) && !self.named.is_cleared(&name) {
                        self.named.put(name, value);
                    }
                }
                left.push(in_subspace(&place, subspace));
            }
        }
        Ok(left)
    }

    /// Hides the content of running in deleted ranges.
    fn clear(&self, stored: &mut Changes) -> Result<()> {
        // Ranges that are not contiguous in the store, because of positions.
        let mut scattered = BTreeSet::new();
        for range in self.named.cleared() {
            self.clear_range(&range, stored, &mut scattered)?;
        }
        for prefix in scattered {
            for (name, _) in self.running.rows(&KeyRange::prefix(&prefix))? {
                if self.named.is_cleared(&name)
                    && let Some(key) = self.running.place(&name)?
                {
                    stored.delete(key);
                }
            }
        }
        Ok(())
    }

    fn clear_range(
        &self,
        range: &KeyRange,
        stored: &mut Changes,
        scattered: &mut BTreeSet<Vec<u8>>,
    ) -> Result<()> {
        let schema = self.running.stored.schema();
        let Some(span) = Span::of(self.running, range, self.running.told) else {
            return Ok(());
        };
        let prefix = &range.start[..span.around.length];
        if span.is_all {
            for place in self.running.places(prefix)? {
                stored.hide(&KeyRange::prefix(&place));
            }
        } else if !self.ordered.is_below(schema, &span.around) {
            if let Some(place) = self.running.place(prefix)? {
                stored.hide(&with_prefix(range, prefix, &place));
            }
        } else if span.around.is_whole {
            scattered.insert(prefix.to_vec());
        } else {
            if range.contains(prefix)
                && let Some(place) = self.running.place(prefix)?
            {
                stored.delete(place);
            }
            for part in self.running.children_in(range, &span.around) {
                self.clear_range(&part, stored, scattered)?;
            }
        }
        Ok(())
    }
}
