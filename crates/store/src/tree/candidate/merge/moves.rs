//! Finds the entries that moved among those whose positions changed.
//!
//! An entry may have another position but the same place in the order: the last entry moved to the end, or
//! a renumbered list. An entry moved if it is now on the other side of an entry that did not move; of
//! entries that swapped places, as few as possible count as moved.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};

use super::named_state::NamedState;
use crate::error::Result;
use crate::overlay::Changes;
use crate::position::Position;
use crate::tree::locate::entry_prefix;

/// An entry with a changed position.
pub(super) struct Repositioned {
    /// Its named key.
    pub entry: Vec<u8>,
    pub before: Position,
    pub after: Position,
}

/// Entries with changed positions.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    /// The states before and after.
    pub before: &'a NamedState<'a>,
    pub after: &'a NamedState<'a>,
    /// The rows of the state before that are certain, by stored keys; none for all.
    pub certain: Option<&'a Changes>,
    /// The entries of all lists.
    pub entries: &'a [Repositioned],
}

impl Moves<'_> {
    /// The named keys of the entries that kept their place in the order.
    pub fn unmoved(self) -> Result<Vec<Vec<u8>>> {
        let mut lists: BTreeMap<Vec<u8>, Vec<&Repositioned>> = BTreeMap::new();
        for entry in self.entries {
            if let Some(list) = self.before.list_of(&entry.entry)? {
                lists.entry(list.to_vec()).or_default().push(entry);
            }
        }
        let mut unmoved = Vec::new();
        for (list, mut entries) in lists {
            let Some(list) = self.before.stored_key(&list)? else {
                continue;
            };
            entries.sort_by(|one, other| one.before.cmp(&other.before));
            let mut fixed = Fixed {
                moves: &self,
                list,
                others: entries.iter().map(|one| one.entry.as_slice()).collect(),
                gaps: BTreeMap::new(),
            };
            let mut passing = Vec::new();
            for entry in entries {
                let (from, to) = (
                    (&entry.before).min(&entry.after),
                    (&entry.before).max(&entry.after),
                );
                if fixed.after(from)?.is_none_or(|next| next >= *to) {
                    passing.push(entry);
                }
            }
            let kept = longest_ascending(&passing);
            unmoved.extend(kept.into_iter().map(|entry| entry.entry.clone()));
        }
        Ok(unmoved)
    }
}

/// The entries of a list that exist before and after at the same position.
struct Fixed<'a> {
    moves: &'a Moves<'a>,
    /// The stored key of the list before.
    list: Vec<u8>,
    /// The entries with changed positions.
    others: BTreeSet<&'a [u8]>,
    /// Cached gaps: from a position to that of the next fixed entry.
    gaps: BTreeMap<Position, Option<Position>>,
}

impl Fixed<'_> {
    /// The position of the first fixed entry after a position.
    fn after(&mut self, position: &Position) -> Result<Option<Position>> {
        if let Some((_, end)) = self.gaps.range(..=position).next_back()
            && end.as_ref().is_none_or(|end| end > position)
        {
            return Ok(end.clone());
        }
        let found = self.find_after(position)?;
        self.gaps.insert(position.clone(), found.clone());
        Ok(found)
    }

    fn find_after(&self, position: &Position) -> Result<Option<Position>> {
        let mut key = self.list.clone();
        position.put(&mut key);
        let range = KeyRange {
            start: KeyRange::prefix(&key).end.unwrap_or(key),
            end: KeyRange::prefix(&self.list).end,
        };
        if let Some(certain) = self.moves.certain {
            for (key, value) in certain.written_in(&range) {
                if value.is_some() && entry_prefix(&self.list, key)? == key && self.is_fixed(key)? {
                    return Position::take(&mut &key[self.list.len()..]).map(Some);
                }
            }
            return Ok(None);
        }
        let before = self.moves.before;
        let mut cursor = before.stored.snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(&self.list, key)?.to_vec();
            if self.is_fixed(&entry)? {
                return Position::take(&mut &entry[self.list.len()..]).map(Some);
            }
            if let Some(end) = KeyRange::prefix(&entry).end {
                cursor.seek(&end)?;
            }
        }
        Ok(None)
    }

    /// Whether the entry with a stored key before exists at the same position after.
    fn is_fixed(&self, entry: &[u8]) -> Result<bool> {
        match self.moves.before.name(entry)? {
            Some(name) if self.others.contains(name.as_slice()) => Ok(false),
            Some(name) => Ok(self.moves.after.position(&name)?.is_some()),
            None => Ok(false),
        }
    }
}

/// A longest subsequence of entries in ascending order of the new position.
fn longest_ascending<'e>(entries: &[&'e Repositioned]) -> Vec<&'e Repositioned> {
    // For each length, the entry with the least position that ends a subsequence of this length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let length = ends.partition_point(|&end| entries[end].after < entry.after);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut longest = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        longest.push(entries[index]);
        at = before[index];
    }
    longest
}
