//! The successors of new entries in the merged state, if the base is partial.
//!
//! Of a partial base only the saved entries are certain: any other entry of running may have been created or
//! moved since. The neighbours of every position that the candidate chose are saved, so its successor in the
//! base is certain, or that it had none. If running no longer has this successor at its place, the next entry
//! that may have followed is used.

use espalier_keyspace::{Direction, KeyRange};

use super::named_state::NamedState;
use super::positions::NewEntry;
use super::to_stored_keys::ToStoredKeys;
use crate::error::Result;
use crate::overlay::Changes;
use crate::position::Position;
use crate::tree::locate::entry_prefix;

/// A partial base.
#[derive(Clone, Copy)]
pub(super) struct SavedBase<'a> {
    pub state: &'a NamedState<'a>,
    /// The saved rows, by stored keys.
    pub rows: &'a Changes,
}

/// The saved entries of a list.
#[derive(Default)]
struct SavedEntries {
    /// Their positions in the base, with their named keys, in order.
    base: Vec<(Position, Vec<u8>)>,
    /// Those that neither side moved, in the order of the candidate.
    in_place: Vec<InPlace>,
}

/// A saved entry that neither side moved.
struct InPlace {
    candidate: Position,
    running: Position,
    /// The greatest position in running of this entry and those before it.
    greatest: Position,
}

impl SavedEntries {
    fn add_in_place(&mut self, candidate: Position, running: Position) {
        self.in_place.push(InPlace {
            candidate,
            greatest: running.clone(),
            running,
        });
    }

    /// Orders the entries that neither side moved.
    fn arrange(&mut self) {
        self.in_place
            .sort_by(|one, other| one.candidate.cmp(&other.candidate));
        for index in 1..self.in_place.len() {
            let (before, rest) = self.in_place.split_at_mut(index);
            let greatest = &before[index - 1].greatest;
            if rest[0].greatest < *greatest {
                rest[0].greatest = greatest.clone();
            }
        }
    }
}

impl ToStoredKeys<'_> {
    /// For each new entry of a list, the position in running of the entry to put it before; none for the end.
    pub(super) fn saved_followers(
        &self,
        saved: SavedBase<'_>,
        list: &[u8],
        new_entries: &[NewEntry],
    ) -> Result<Vec<Option<Position>>> {
        let Some(place) = self.candidate.stored_key(list)? else {
            return Ok(vec![None; new_entries.len()]);
        };
        let entries = self.saved_entries(saved, list)?;
        let followers = new_entries.iter();
        followers
            .map(|new_entry| self.saved_follower(&entries, &place, new_entry))
            .collect()
    }

    fn saved_entries(&self, saved: SavedBase<'_>, list: &[u8]) -> Result<SavedEntries> {
        let mut entries = SavedEntries::default();
        let Some(place) = saved.state.stored_key(list)? else {
            return Ok(entries);
        };
        for (key, value) in saved.rows.written_in(&KeyRange::strictly_below(&place)) {
            if value.is_none() || entry_prefix(&place, key)? != key {
                continue;
            }
            let Some(entry) = saved.state.name(key)? else {
                continue;
            };
            let in_place = self.position_in_place(&entry)?;
            if let (Some(candidate), Some(running)) = (self.candidate.position(&entry)?, in_place) {
                entries.add_in_place(Position::take(&mut candidate.as_slice())?, running);
            }
            let position = Position::take(&mut &key[place.len()..])?;
            entries.base.push((position, entry));
        }
        entries.arrange();
        Ok(entries)
    }

    /// The position of an entry in running, if neither side moved it.
    fn position_in_place(&self, entry: &[u8]) -> Result<Option<Position>> {
        match self.changed.is_in_place(entry) {
            true => self.kept_position(entry),
            false => Ok(None),
        }
    }

    /// The follower of one new entry, given the saved entries of its list and the list's stored key in the
    /// candidate.
    fn saved_follower(
        &self,
        entries: &SavedEntries,
        list: &[u8],
        new_entry: &NewEntry,
    ) -> Result<Option<Position>> {
        let own = &new_entry.candidate;
        let behind = entries.base.partition_point(|(base, _)| base <= own);
        // The candidate did not choose the position of an entry that a conflict restored from the base: entries that
        // are not saved may follow at once.
        let is_restored = behind
            .checked_sub(1)
            .is_some_and(|last| entries.base[last] == (own.clone(), new_entry.entry.clone()));
        let uncertain = match is_restored {
            true => Some(own),
            false => entries.base.get(behind).map(|(base, _)| base),
        };
        let following = entries
            .in_place
            .partition_point(|saved| saved.candidate <= *own);
        let certain = entries.in_place.get(following);
        match (certain, uncertain) {
            (Some(certain), None) => Ok(Some(certain.running.clone())),
            (Some(certain), Some(from)) if certain.candidate <= *from => {
                Ok(Some(certain.running.clone()))
            }
            (None, None) => Ok(None),
            (_, Some(from)) => {
                let preceding = following.checked_sub(1);
                let after = preceding.map(|last| &entries.in_place[last].greatest);
                self.first_in_place(list, from, after)
            }
        }
    }

    /// The position in running of the first entry of the candidate from a position on that neither side moved and
    /// that running has behind `after`. If there is none and `after` is none, the first that running has at its
    /// merged place.
    fn first_in_place(
        &self,
        list: &[u8],
        from: &Position,
        after: Option<&Position>,
    ) -> Result<Option<Position>> {
        let mut start = list.to_vec();
        from.put(&mut start);
        let range = KeyRange {
            start,
            end: KeyRange::prefix(list).end,
        };
        let mut any = None;
        let snapshot = self.candidate.stored.snapshot;
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(list, key)?.to_vec();
            if let Some(name) = self.candidate.name(&entry)? {
                let in_place = self.position_in_place(&name)?;
                if in_place.is_some() && in_place.as_ref() > after {
                    return Ok(in_place);
                }
                if any.is_none() && after.is_none() {
                    any = self.kept_position(&name)?;
                }
            }
            let Some(end) = KeyRange::prefix(&entry).end else {
                break;
            };
            cursor.seek(&end)?;
        }
        Ok(any)
    }
}
