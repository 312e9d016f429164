//! Converts the merged changes from named to stored keys.
//!
//! Each entry of a list ordered by user has one position, in its merged row of the order index: its own
//! key, the keys of its content and the key of the row are all derived from this value, so that they agree.

use std::collections::BTreeSet;

use espalier_keyspace::KeyRange;

use super::named_state::NamedState;
use super::running_changes::RunningChanges;
use super::saved_followers::SavedBase;
use super::to_named_keys::{Span, UserOrderedNodes, with_prefix};
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The subspaces with keys of an entry.
const SUBSPACES: [Subspace; 3] = [Subspace::Tree, Subspace::Order, Subspace::Stamp];

/// Converts the result of a merge to stored keys.
pub(super) struct ToStoredKeys<'a> {
    pub running: &'a NamedState<'a>,
    /// The candidate on its base.
    pub candidate: &'a NamedState<'a>,
    /// The base, if it is partial.
    pub saved: Option<SavedBase<'a>>,
    /// The changes of running.
    pub changed: &'a RunningChanges,
    pub ordered: &'a UserOrderedNodes,
    /// The merged changes, by named keys.
    pub named: Changes,
}

impl ToStoredKeys<'_> {
    /// Returns the changes over running and the given stamps, both by stored keys.
    pub fn run(mut self, stamps: &Changes) -> Result<(Changes, Changes)> {
        self.assign_positions()?;
        let mut stored = Changes::default();
        for left in self.move_content()? {
            stored.hide(&KeyRange::prefix(&left));
        }
        self.clear(&mut stored)?;
        let deleted = self.named.written().filter(|(_, value)| value.is_none());
        for (name, _) in deleted {
            if let Some(key) = self.running.stored_key(name)? {
                stored.delete(key);
            }
        }
        self.put(&self.named, &mut stored)?;
        let mut stored_stamps = Changes::default();
        self.put(stamps, &mut stored_stamps)?;
        Ok((stored, stored_stamps))
    }

    /// Puts the written rows under their keys in the merged state.
    fn put(&self, named: &Changes, stored: &mut Changes) -> Result<()> {
        for (name, value) in named.written() {
            let Some(value) = value else { continue };
            if let Some(key) = self.stored_key(name)? {
                stored.put(key, value.to_vec());
            }
        }
        Ok(())
    }

    /// The stored key of a named key in the merged state.
    fn stored_key(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        self.running
            .stored_key_with(name, &|entry| self.position(entry))
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
    fn move_content(&mut self) -> Result<Vec<Vec<u8>>> {
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
            let Some(place) = self.running.stored_key(&entry)? else {
                continue;
            };
            for subspace in SUBSPACES {
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
                    && let Some(key) = self.running.stored_key(&name)?
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
        let Some(span) = Span::of(self.running, range, self.running.identity) else {
            return Ok(());
        };
        let prefix = &range.start[..span.boundary.length];
        if span.is_all {
            for place in self.running.stored_prefixes(prefix)? {
                stored.hide(&KeyRange::prefix(&place));
            }
        } else if !self.ordered.is_below(schema, &span.boundary) {
            if let Some(place) = self.running.stored_key(prefix)? {
                stored.hide(&with_prefix(range, prefix, &place));
            }
        } else if span.boundary.is_list_prefix {
            scattered.insert(prefix.to_vec());
        } else {
            if range.contains(prefix)
                && let Some(place) = self.running.stored_key(prefix)?
            {
                stored.delete(place);
            }
            for part in self.running.children_in(range, &span.boundary) {
                self.clear_range(&part, stored, scattered)?;
            }
        }
        Ok(())
    }
}
