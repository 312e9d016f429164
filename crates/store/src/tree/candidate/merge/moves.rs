//! Which entries moved, of those whose positions changed.
//!
//! An entry may have another position and be where it was: moved to the end of a list whose last entry
//! it is, or in a list that was numbered anew. An entry moved where it now stands on the other side
//! of an entry that did not; of those that changed places with each other, as few as possible.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};

use super::named::Named;
use crate::error::Result;
use crate::position::Position;
use crate::tree::locate::entry_prefix;

/// An entry that has another position than before.
pub(super) struct Repositioned {
    /// Its named key.
    pub entry: Vec<u8>,
    pub before: Position,
    pub after: Position,
}

/// The entries of one list that have other positions than before.
pub(super) struct Moves<'a> {
    /// The states before and after.
    pub before: &'a Named<'a>,
    pub after: &'a Named<'a>,
    /// The entries, of all lists.
    pub entries: Vec<Repositioned>,
}

impl Moves<'_> {
    /// The named keys of the entries that are where they were.
    pub fn unmoved(self) -> Result<Vec<Vec<u8>>> {
        let mut lists: BTreeMap<Vec<u8>, Vec<&Repositioned>> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(list) = self.before.list_of(&entry.entry)? {
                lists.entry(list.to_vec()).or_default().push(entry);
            }
        }
        let mut unmoved = Vec::new();
        for (list, mut entries) in lists {
            let Some(list) = self.before.place(&list)? else {
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
            let kept = longest_rise(&passing);
            unmoved.extend(kept.into_iter().map(|entry| entry.entry.clone()));
        }
        Ok(unmoved)
    }
}

/// The entries of a list that are there before and after, at the same position.
struct Fixed<'a> {
    moves: &'a Moves<'a>,
    /// The stored key of the list before.
    list: Vec<u8>,
    /// The entries that have other positions.
    others: BTreeSet<&'a [u8]>,
    /// From a position up to the next of a fixed entry, as far as is known.
    gaps: BTreeMap<Position, Option<Position>>,
}

impl Fixed<'_> {
    /// The position of the first fixed entry behind a position.
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
        let (before, after) = (self.moves.before, self.moves.after);
        let mut key = self.list.clone();
        position.put(&mut key);
        let range = KeyRange {
            start: KeyRange::prefix(&key).end.unwrap_or(key),
            end: KeyRange::prefix(&self.list).end,
        };
        let mut cursor = before.stored.snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(&self.list, key)?.to_vec();
            let name = before.name(&entry)?;
            let is_fixed = match &name {
                Some(name) if self.others.contains(name.as_slice()) => false,
                Some(name) => after.position(name)?.is_some(),
                None => false,
            };
            if is_fixed {
                return Position::take(&mut &entry[self.list.len()..]).map(Some);
            }
            if let Some(end) = KeyRange::prefix(&entry).end {
                cursor.seek(&end)?;
            }
        }
        Ok(None)
    }
}

/// The most entries that follow each other after as they did before.
fn longest_rise<'e>(entries: &[&'e Repositioned]) -> Vec<&'e Repositioned> {
    // For each length, the entry with the least position that a rise of this length ends with.
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
    let mut rise = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        rise.push(entries[index]);
        at = before[index];
    }
    rise
}
