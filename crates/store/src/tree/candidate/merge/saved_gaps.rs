//! Entries of running that the base did not have, although their rows are not saved.
//!
//! Next to each position that a candidate chose, its neighbours in the base are saved. The base had no entry
//! between them, so every entry that running has there was created or moved since.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use espalier_keyspace::{Direction, KeyRange};

use super::named_state::{EntryIdentity, NamedState};
use crate::error::Result;
use crate::overlay::{Changes, Layered};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{TreeState, entry_prefix, in_subspace};

/// The base with the saved rows only, and the changes of the candidate.
pub(super) struct SavedGaps<'a> {
    pub running: NamedState<'a>,
    pub base: NamedState<'a>,
    /// The saved rows.
    pub rows: &'a Changes,
    /// The changes of the candidate, by stored keys.
    pub changes: &'a Changes,
}

impl SavedGaps<'_> {
    /// The stored keys of the entries of running in the gaps.
    pub fn entries(&self) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for (list, positions) in self.chosen_positions()? {
            let Some(place) = self.base.stored_key(&list)? else {
                continue;
            };
            // If the enclosing entry moved, only saved rows of the list are at its place in the base.
            if self.running.stored_key(&list)?.as_ref() != Some(&place) {
                continue;
            }
            let mut last: Option<KeyRange> = None;
            for position in positions {
                let mut key = place.clone();
                position.put(&mut key);
                if last.as_ref().is_some_and(|last| last.contains(&key)) {
                    continue;
                }
                let gap = self.gap_around(&place, &key)?;
                self.entries_in(&gap, &place, &mut found)?;
                last = Some(gap);
            }
        }
        Ok(found)
    }

    /// The positions that the candidate chose, by the named key of the list.
    fn chosen_positions(&self) -> Result<BTreeMap<Vec<u8>, BTreeSet<Position>>> {
        let layered = Layered {
            base: self.base.stored.snapshot,
            changes: self.changes,
        };
        let candidate = NamedState {
            stored: TreeState {
                snapshot: &layered,
                ..self.base.stored
            },
            ..self.base
        };
        let mut lists: BTreeMap<Vec<u8>, BTreeSet<Position>> = BTreeMap::new();
        let order = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Order));
        for (row, position) in self.changes.written_in(&order) {
            let boundaries = candidate.boundaries(row, EntryIdentity::ByPosition);
            let list = boundaries.last().filter(|list| list.is_list_prefix);
            if let (Some(list), Some(mut position)) = (list, position)
                && let Some(name) =
                    candidate.name(&in_subspace(&row[..list.length], Subspace::Tree))?
            {
                let position = Position::take(&mut position)?;
                lists.entry(name).or_default().insert(position);
            }
        }
        Ok(lists)
    }

    /// The keys between the saved entries of a list before and after a key.
    fn gap_around(&self, list: &[u8], key: &[u8]) -> Result<KeyRange> {
        let all = KeyRange::strictly_below(list);
        let before = self
            .rows
            .between(Bound::Included(&all.start), Bound::Excluded(key))
            .rfind(|(_, value)| value.is_some());
        let start = match before {
            Some((before, _)) => KeyRange::prefix(entry_prefix(list, before)?).end,
            None => None,
        };
        let own = KeyRange::prefix(key).end.unwrap_or_default();
        let behind = self
            .rows
            .between(Bound::Included(&own), Bound::Unbounded)
            .take_while(|(key, _)| all.is_before_end(key))
            .find(|(_, value)| value.is_some());
        let end = match behind {
            Some((behind, _)) => Some(entry_prefix(list, behind)?.to_vec()),
            None => all.end,
        };
        Ok(KeyRange {
            start: start.unwrap_or(all.start),
            end,
        })
    }

    /// Adds the entries of running in a gap of a list that are not saved.
    fn entries_in(&self, gap: &KeyRange, list: &[u8], found: &mut Vec<Vec<u8>>) -> Result<()> {
        let snapshot = self.running.stored.snapshot;
        let mut cursor = snapshot.scan(gap, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(list, key)?.to_vec();
            let end = KeyRange::prefix(&entry).end;
            // The candidate may have chosen the position of an entry of the base, which it deleted.
            if self.rows.get(&entry).flatten().is_none() {
                found.push(entry);
            }
            match end {
                Some(end) => cursor.seek(&end)?,
                None => break,
            }
        }
        Ok(())
    }
}
