//! Assigns positions to entries that running does not have at their merged place.
//!
//! An entry that the candidate created or moved is put before its successor in the candidate, or at the
//! end; entries that running inserted in the same gap come first. The candidate's own position is kept if
//! it already meets this.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};

use super::placing::Placing;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{entry_prefix, in_subspace};

/// An entry that needs a position.
struct Newcomer {
    /// Its named key.
    entry: Vec<u8>,
    /// Its position in the candidate.
    made: Position,
    /// Its position in the merged changes.
    wanted: Position,
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
struct Seating {
    /// The stored key of the list in running; none if it does not exist there.
    running: Option<Vec<u8>>,
    /// The positions assigned so far.
    taken: BTreeSet<Position>,
}

impl Placing<'_> {
    /// Assigns a unique position to every new entry.
    pub fn seat_newcomers(&mut self) -> Result<()> {
        for (list, mut newcomers) in self.newcomers()? {
            newcomers.sort_by(|one, other| one.made.cmp(&other.made));
            let followers = self.followers(&list, &newcomers)?;
            let mut seating = Seating {
                running: self.running.place(&list)?,
                taken: BTreeSet::new(),
            };
            let mut seated = 0;
            for group in followers.chunk_by(|one, other| one == other) {
                let members = &newcomers[seated..seated + group.len()];
                self.seat(&mut seating, members, group[0].as_ref())?;
                seated += group.len();
            }
        }
        Ok(())
    }

    /// The entries that need a position, by list.
    fn newcomers(&self) -> Result<BTreeMap<Vec<u8>, Vec<Newcomer>>> {
        let order = self.running.stored.tree.prefix(Subspace::Order);
        let mut lists: BTreeMap<Vec<u8>, Vec<Newcomer>> = BTreeMap::new();
        for (row, position) in self.named.written_in(&KeyRange::prefix(&order)) {
            let Some(position) = position else { continue };
            let entry = in_subspace(row, Subspace::Tree);
            if self.running.position(&entry)?.as_deref() == Some(position) {
                continue;
            }
            let Some(list) = self.running.list_of(&entry)?.map(<[u8]>::to_vec) else {
                continue;
            };
            let made = self.made.position(&entry)?;
            let made = made.unwrap_or_else(|| position.to_vec());
            lists.entry(list).or_default().push(Newcomer {
                entry,
                made: Position::take(&mut made.as_slice())?,
                wanted: Position::take(&mut &*position)?,
            });
        }
        Ok(lists)
    }

    /// For each new entry, the position in running of the entry to put it before: the first following entry
    /// in the candidate that neither side moved. If there is none: the end if an unmoved entry precedes it,
    /// else before the first following entry.
    fn followers(&self, list: &[u8], newcomers: &[Newcomer]) -> Result<Vec<Option<Position>>> {
        let Some(list) = self.made.place(list)? else {
            return Ok(vec![None; newcomers.len()]);
        };
        let mut followers = Vec::with_capacity(newcomers.len());
        let mut found = Followers::default();
        let mut end = KeyRange::prefix(&list).end;
        for newcomer in newcomers.iter().rev() {
            let mut key = list.clone();
            newcomer.made.put(&mut key);
            let beyond = KeyRange {
                start: KeyRange::prefix(&key).end.unwrap_or_else(|| key.clone()),
                end,
            };
            let nearer = self.followers_in(&list, &beyond)?;
            found = Followers {
                unmoved: nearer.unmoved.or(found.unmoved),
                any: nearer.any.or(found.any),
            };
            let mut follower = found.unmoved.clone();
            if follower.is_none() && found.any.is_some() {
                let ahead = KeyRange::new(KeyRange::below(&list).start, key.clone());
                let is_behind = self.followers_in(&list, &ahead)?.unmoved.is_some();
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
        let mut cursor = self.made.stored.snapshot.scan(range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(list, key)?.to_vec();
            if let Some(name) = self.made.name(&entry)?
                && let Some(position) = self.running.position(&name)?
                && self.position(&name)?.as_ref() == Some(&position)
            {
                let position = Position::take(&mut position.as_slice())?;
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

    /// Assigns positions before that of an entry, or at the end, to consecutive new entries.
    fn seat(
        &mut self,
        seating: &mut Seating,
        newcomers: &[Newcomer],
        before: Option<&Position>,
    ) -> Result<()> {
        let wanted: Vec<Position> = newcomers.iter().map(|one| one.wanted.clone()).collect();
        let seats = match self.fits(seating, &wanted, before)? {
            true => wanted,
            false => {
                let last = self.last_before(seating, before)?;
                let seats = spread(last.as_ref(), before, newcomers.len());
                match seats {
                    Some(seats) => seats,
                    // No room between two neighbours: put them at the end.
                    None => spread(
                        self.last_before(seating, None)?.as_ref(),
                        None,
                        newcomers.len(),
                    )
                    .ok_or_else(|| Error::corrupt("a list has no further positions"))?,
                }
            }
        };
        for (newcomer, seat) in newcomers.iter().zip(seats) {
            let mut position = Vec::new();
            seat.put(&mut position);
            let row = in_subspace(&newcomer.entry, Subspace::Order);
            self.named.put(row, position);
            seating.taken.insert(seat);
        }
        Ok(())
    }

    /// Whether positions can be kept: they ascend, and nothing else is between the first of them and the
    /// successor.
    fn fits(
        &self,
        seating: &Seating,
        wanted: &[Position],
        before: Option<&Position>,
    ) -> Result<bool> {
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
            return Ok(true);
        };
        let is_rising = wanted.is_sorted_by(|one, other| one < other);
        if !is_rising || before.is_some_and(|before| last >= before) {
            return Ok(false);
        }
        let is_between = |taken: &&Position| before.is_none_or(|before| *taken < before);
        if seating
            .taken
            .range(first..)
            .next()
            .filter(is_between)
            .is_some()
        {
            return Ok(false);
        }
        let Some(list) = &seating.running else {
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
        seating: &Seating,
        before: Option<&Position>,
    ) -> Result<Option<Position>> {
        let taken = match before {
            Some(before) => seating.taken.range(..before).next_back(),
            None => seating.taken.last(),
        };
        let Some(list) = &seating.running else {
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
    let all = KeyRange::below(list);
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
    let mut seats = Vec::with_capacity(count);
    match (after, before) {
        (_, None) => {
            for _ in 0..count {
                seats.push(Position::between(seats.last().or(after), None)?);
            }
        }
        (None, Some(_)) => {
            for _ in 0..count {
                seats.push(Position::between(None, seats.last().or(before))?);
            }
            seats.reverse();
        }
        // Bisection keeps positions short.
        (Some(_), Some(_)) if count > 0 => {
            let middle = Position::between(after, before)?;
            seats = spread(after, Some(&middle), count / 2)?;
            let behind = spread(Some(&middle), before, count - 1 - count / 2)?;
            seats.push(middle);
            seats.extend(behind);
        }
        (Some(_), Some(_)) => {}
    }
    Some(seats)
}
