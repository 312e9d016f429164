//! Assigns positions to entries that running does not have at their merged place.
//!
//! An entry that the candidate created or moved is put before its successor in the candidate, or at the
//! end; entries that running inserted in the same gap come first. The candidate's own position is kept if
//! it already meets this.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};

use super::to_stored_keys::ToStoredKeys;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{entry_prefix, in_subspace};

/// An entry that needs a position.
pub(super) struct NewEntry {
    /// Its named key.
    pub entry: Vec<u8>,
    /// Its position in the candidate.
    pub candidate: Position,
    /// Its position in the merged changes.
    merged: Position,
}

/// Positions in running of the entries that follow in the candidate and stay where running has them.
#[derive(Default)]
struct Followers {
    /// The first that neither side moved.
    unmoved: Option<Position>,
    /// The first of all.
    any: Option<Position>,
}

/// The positions of one list.
struct ListPositions {
    /// The stored key of the list in running; none if it does not exist there.
    running: Option<Vec<u8>>,
    /// The positions assigned so far.
    taken: BTreeSet<Position>,
}

impl ToStoredKeys<'_> {
    /// Assigns a unique position to every new entry.
    pub fn assign_positions(&mut self) -> Result<()> {
        for (list, mut new_entries) in self.new_entries()? {
            new_entries.sort_by(|one, other| one.candidate.cmp(&other.candidate));
            let followers = match self.saved {
                Some(saved) => self.saved_followers(saved, &list, &new_entries)?,
                None => self.followers(&list, &new_entries)?,
            };
            let mut list_positions = ListPositions {
                running: self.running.stored_key(&list)?,
                taken: BTreeSet::new(),
            };
            let mut assigned_count = 0;
            for group in followers.chunk_by(|one, other| one == other) {
                let members = &new_entries[assigned_count..assigned_count + group.len()];
                self.assign_group(&mut list_positions, members, group[0].as_ref())?;
                assigned_count += group.len();
            }
        }
        Ok(())
    }

    /// The entries that need a position, by list.
    fn new_entries(&self) -> Result<BTreeMap<Vec<u8>, Vec<NewEntry>>> {
        let order = self.running.stored.tree.prefix(Subspace::Order);
        let mut lists: BTreeMap<Vec<u8>, Vec<NewEntry>> = BTreeMap::new();
        for (row, position) in self.named.written_in(&KeyRange::prefix(&order)) {
            let Some(position) = position else { continue };
            let entry = in_subspace(row, Subspace::Tree);
            if self.running.position(&entry)?.as_deref() == Some(position) {
                continue;
            }
            let Some(list) = self.running.list_of(&entry)?.map(<[u8]>::to_vec) else {
                continue;
            };
            let candidate = self.candidate.position(&entry)?;
            let candidate = candidate.unwrap_or_else(|| position.to_vec());
            lists.entry(list).or_default().push(NewEntry {
                entry,
                candidate: Position::take(&mut candidate.as_slice())?,
                merged: Position::take(&mut &*position)?,
            });
        }
        Ok(lists)
    }

    /// For each new entry, the position in running of the entry to put it before: the first following entry
    /// in the candidate that neither side moved. If there is none: the end if an unmoved entry precedes it,
    /// else before the first following entry.
    fn followers(&self, list: &[u8], new_entries: &[NewEntry]) -> Result<Vec<Option<Position>>> {
        let Some(list) = self.candidate.stored_key(list)? else {
            return Ok(vec![None; new_entries.len()]);
        };
        let mut followers = Vec::with_capacity(new_entries.len());
        let mut found = Followers::default();
        let mut end = KeyRange::prefix(&list).end;
        for new_entry in new_entries.iter().rev() {
            let mut key = list.clone();
            new_entry.candidate.put(&mut key);
            let following = KeyRange {
                start: KeyRange::prefix(&key).end.unwrap_or_else(|| key.clone()),
                end,
            };
            let closer = self.followers_in(&list, &following)?;
            found = Followers {
                unmoved: closer.unmoved.or(found.unmoved),
                any: closer.any.or(found.any),
            };
            let mut follower = found.unmoved.clone();
            if follower.is_none() && found.any.is_some() {
                let preceding = KeyRange::new(KeyRange::strictly_below(&list).start, key.clone());
                let is_behind = self.followers_in(&list, &preceding)?.unmoved.is_some();
                follower = found.any.clone().filter(|_| !is_behind);
            }
            followers.push(follower);
            end = Some(key);
        }
        followers.reverse();
        Ok(followers)
    }

    /// The possible successors in a range of the candidate.
    fn followers_in(&self, list: &[u8], range: &KeyRange) -> Result<Followers> {
        let mut found = Followers::default();
        let mut cursor = self
            .candidate
            .stored
            .snapshot
            .scan(range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(list, key)?.to_vec();
            if let Some(name) = self.candidate.name(&entry)?
                && let Some(position) = self.kept_position(&name)?
            {
                if !self.changed.has_position(&name) {
                    found.unmoved = Some(position.clone());
                }
                found.any.get_or_insert(position);
                if found.unmoved.is_some() {
                    break;
                }
            }
            if let Some(end) = KeyRange::prefix(&entry).end {
                cursor.seek(&end)?;
            }
        }
        Ok(found)
    }

    /// The position of an entry in running, if it keeps it.
    pub(super) fn kept_position(&self, entry: &[u8]) -> Result<Option<Position>> {
        let Some(position) = self.running.position(entry)? else {
            return Ok(None);
        };
        match self.position(entry)?.as_ref() == Some(&position) {
            true => Position::take(&mut position.as_slice()).map(Some),
            false => Ok(None),
        }
    }

    /// Assigns positions before that of an entry, or at the end, to consecutive new entries.
    fn assign_group(
        &mut self,
        list_positions: &mut ListPositions,
        new_entries: &[NewEntry],
        before: Option<&Position>,
    ) -> Result<()> {
        let merged: Vec<Position> = new_entries.iter().map(|one| one.merged.clone()).collect();
        let positions = match self.can_keep(list_positions, &merged, before)? {
            true => merged,
            false => {
                let last = self.last_before(list_positions, before)?;
                let positions = spread(last.as_ref(), before, new_entries.len());
                match positions {
                    Some(positions) => positions,
                    // No room between two neighbours: put them at the end.
                    None => spread(
                        self.last_before(list_positions, None)?.as_ref(),
                        None,
                        new_entries.len(),
                    )
                    .ok_or_else(|| Error::corrupt("a list has no further positions"))?,
                }
            }
        };
        for (new_entry, assigned) in new_entries.iter().zip(positions) {
            let mut position = Vec::new();
            assigned.put(&mut position);
            let row = in_subspace(&new_entry.entry, Subspace::Order);
            self.named.put(row, position);
            list_positions.taken.insert(assigned);
        }
        Ok(())
    }

    /// Whether positions can be kept: they ascend, and nothing else is between the first of them and the
    /// successor.
    fn can_keep(
        &self,
        list_positions: &ListPositions,
        merged: &[Position],
        before: Option<&Position>,
    ) -> Result<bool> {
        let (Some(first), Some(last)) = (merged.first(), merged.last()) else {
            return Ok(true);
        };
        let is_rising = merged.is_sorted_by(|one, other| one < other);
        if !is_rising || before.is_some_and(|before| last >= before) {
            return Ok(false);
        }
        let is_between = |taken: &&Position| before.is_none_or(|before| *taken < before);
        if list_positions
            .taken
            .range(first..)
            .next()
            .filter(is_between)
            .is_some()
        {
            return Ok(false);
        }
        let Some(list) = &list_positions.running else {
            return Ok(true);
        };
        let range = range_of(list, Some(first), before);
        let mut cursor = self
            .running
            .stored
            .snapshot
            .scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(list, key)?.to_vec();
            let name = self.running.name(&entry)?;
            let kept = name.map_or(Ok(None), |name| self.position(&name))?;
            if kept.as_deref() == Some(&entry[list.len()..]) {
                return Ok(false);
            }
            if let Some(end) = KeyRange::prefix(&entry).end {
                cursor.seek(&end)?;
            }
        }
        Ok(true)
    }

    /// The last position before another one, in running or assigned.
    fn last_before(
        &self,
        list_positions: &ListPositions,
        before: Option<&Position>,
    ) -> Result<Option<Position>> {
        let taken = match before {
            Some(before) => list_positions.taken.range(..before).next_back(),
            None => list_positions.taken.last(),
        };
        let Some(list) = &list_positions.running else {
            return Ok(taken.cloned());
        };
        let range = range_of(list, None, before);
        let mut cursor = self
            .running
            .stored
            .snapshot
            .scan(&range, Direction::Backward)?;
        let found = cursor.next()?;
        let found = found.map(|(key, _)| Position::take(&mut &key[list.len()..]));
        Ok(taken.cloned().max(found.transpose()?))
    }
}

/// The stored keys of the entries of a list from one position to another (exclusive).
fn range_of(list: &[u8], from: Option<&Position>, before: Option<&Position>) -> KeyRange {
    let key = |position: &Position| {
        let mut key = list.to_vec();
        position.put(&mut key);
        key
    };
    let all = KeyRange::strictly_below(list);
    KeyRange {
        start: from.map_or(all.start, key),
        end: before.map_or(all.end, |before| Some(key(before))),
    }
}

/// A number of ascending positions between two others; none if there is no room.
fn spread(
    after: Option<&Position>,
    before: Option<&Position>,
    count: usize,
) -> Option<Vec<Position>> {
    let mut positions = Vec::with_capacity(count);
    match (after, before) {
        (_, None) => {
            for _ in 0..count {
                positions.push(Position::between(positions.last().or(after), None)?);
            }
        }
        (None, Some(_)) => {
            for _ in 0..count {
                positions.push(Position::between(None, positions.last().or(before))?);
            }
            positions.reverse();
        }
        // Bisection keeps positions short.
        (Some(_), Some(_)) if count > 0 => {
            let middle = Position::between(after, before)?;
            positions = spread(after, Some(&middle), count / 2)?;
            let behind = spread(Some(&middle), before, count - 1 - count / 2)?;
            positions.push(middle);
            positions.extend(behind);
        }
        (Some(_), Some(_)) => {}
    }
    Some(positions)
}
