//! The merged changes, from named keys to stored ones.
//!
//! Here positions come back. Each entry of a list ordered by user has one, by the row of the order
//! index that the merge left it: its own key, the keys of what is in it and the row itself are all
//! made from this one value, so that they agree. Where running has another entry at a position that
//! the candidate gave away, the candidate's goes behind it.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, KeyRange};

use super::named::Named;
use super::naming::{Ordered, Span, with_prefix};
use crate::error::{Error, Result};
use crate::overlay::Changes;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// Where the keys of an entry are.
const PLACES: [Subspace; 3] = [Subspace::Tree, Subspace::Order, Subspace::Stamp];

/// Finds the stored keys of what a merge came to.
pub(super) struct Placing<'a> {
    pub running: &'a Named<'a>,
    pub ordered: &'a Ordered,
    /// The merged changes, by name.
    pub named: Changes,
}

/// The entries of one list that running does not have where they are to be, by position.
type Newcomers = BTreeMap<Position, Vec<Vec<u8>>>;

impl Placing<'_> {
    /// The changes over running, by stored keys; and those stamps by stored keys too.
    pub fn run(mut self, stamps: &Changes) -> Result<(Changes, Changes)> {
        for (list, newcomers) in self.newcomers()? {
            self.seat(&list, newcomers)?;
        }
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

    /// Puts what is written under the keys where it is in the merged state.
    fn put(&self, named: &Changes, stored: &mut Changes) -> Result<()> {
        for (name, value) in named.written() {
            let Some(value) = value else { continue };
            if let Some(key) = self.place(name)? {
                stored.put(key, value.to_vec());
            }
        }
        Ok(())
    }

    /// The stored key of a named one in the merged state.
    fn place(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        self.running.place_by(name, &|entry| self.position(entry))
    }

    /// The position of a named entry in the merged state.
    fn position(&self, entry: &[u8]) -> Result<Option<Vec<u8>>> {
        let row = in_subspace(entry, Subspace::Order);
        match self.named.get(&row) {
            Some(position) => Ok(position.map(<[u8]>::to_vec)),
            None if self.named.is_cleared(&row) => Ok(None),
            None => self.running.position(entry),
        }
    }

    /// The entries, list by list, that are to be where running does not have them.
    fn newcomers(&self) -> Result<BTreeMap<Vec<u8>, Newcomers>> {
        let order = self.running.stored.tree.prefix(Subspace::Order);
        let mut lists: BTreeMap<Vec<u8>, Newcomers> = BTreeMap::new();
        for (row, position) in self.named.written_in(&KeyRange::prefix(&order)) {
            let Some(position) = position else { continue };
            let entry = in_subspace(row, Subspace::Tree);
            let Some(own) = self
                .running
                .trail(&entry)?
                .and_then(|trail| trail.last().copied())
            else {
                continue;
            };
            if self.running.position(&entry)?.as_deref() == Some(position) {
                continue;
            }
            let newcomers = lists.entry(entry[..own.list].to_vec()).or_default();
            let position = Position::take(&mut &*position)?;
            newcomers.entry(position).or_default().push(entry);
        }
        Ok(lists)
    }

    /// Gives each newcomer of a list a position of its own: what it is to have, or where that is taken,
    /// the next behind.
    fn seat(&mut self, list: &[u8], newcomers: Newcomers) -> Result<()> {
        let running = self.running.place(list)?;
        let mut taken: BTreeSet<Position> = newcomers.keys().cloned().collect();
        for (wanted, entries) in newcomers {
            let mut is_free = match &running {
                Some(running) => !self.is_kept(running, &wanted)?,
                None => true,
            };
            let mut behind = wanted;
            for entry in entries {
                if !is_free {
                    let new = self.behind(running.as_deref(), &behind, &taken)?;
                    taken.insert(new.clone());
                    let row = in_subspace(&entry, Subspace::Order);
                    self.named.put(row, encoded(&new));
                    behind = new;
                }
                is_free = false;
            }
        }
        Ok(())
    }

    /// Whether an entry that running has at a position stays there.
    fn is_kept(&self, running: &[u8], position: &Position) -> Result<bool> {
        let position = encoded(position);
        let occupant = [running, &position].concat();
        if self.running.stored.snapshot.get(&occupant)?.is_none() {
            return Ok(false);
        }
        let Some(entry) = self.running.name(&occupant)? else {
            return Ok(false);
        };
        Ok(self.position(&entry)?.as_deref() == Some(&position))
    }

    /// A free position behind another, before whatever comes next; at the end of the list where
    /// there is no room between two neighbours.
    fn behind(
        &self,
        running: Option<&[u8]>,
        position: &Position,
        taken: &BTreeSet<Position>,
    ) -> Result<Position> {
        let after = (
            std::ops::Bound::Excluded(position),
            std::ops::Bound::Unbounded,
        );
        let (mut next, mut last) = (taken.range(after).next().cloned(), taken.last().cloned());
        if let Some(running) = running {
            let all = KeyRange::below(running);
            let key = [running, &encoded(position)].concat();
            let beyond = KeyRange {
                start: KeyRange::prefix(&key).end.unwrap_or(key),
                end: all.end.clone(),
            };
            let found = self.end(running, &beyond, Direction::Forward)?;
            next = next.into_iter().chain(found).min();
            last = last.max(self.end(running, &all, Direction::Backward)?);
        }
        Position::between(Some(position), next.as_ref())
            .or_else(|| Position::between(last.as_ref(), None))
            .ok_or_else(|| Error::corrupt("a list has no further positions"))
    }

    fn end(&self, list: &[u8], range: &KeyRange, from: Direction) -> Result<Option<Position>> {
        let mut cursor = self.running.stored.snapshot.scan(range, from)?;
        let found = cursor.next()?;
        found
            .map(|(key, _)| Position::take(&mut &key[list.len()..]))
            .transpose()
    }

    /// Takes everything that running has in an entry along to where the entry is to be; the stored
    /// places that are left.
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

    /// Hides what running has in the named ranges that are deleted.
    fn clear(&self, stored: &mut Changes) -> Result<()> {
        // What has no range of its own in the store, because positions order it otherwise.
        let mut scattered = BTreeSet::new();
        let schema = self.running.stored.schema();
        for range in self.named.cleared() {
            let Some(span) = Span::of(self.running, &range, self.running.told) else {
                continue;
            };
            let prefix = &range.start[..span.around.length];
            if span.is_all {
                for place in self.running.places(prefix)? {
                    stored.hide(&KeyRange::prefix(&place));
                }
            } else if self.ordered.is_below(schema, &span.around) {
                scattered.insert(prefix.to_vec());
            } else if let Some(place) = self.running.place(prefix)? {
                stored.hide(&with_prefix(&range, prefix, &place));
            }
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
}

fn encoded(position: &Position) -> Vec<u8> {
    let mut bytes = Vec::new();
    position.put(&mut bytes);
    bytes
}
