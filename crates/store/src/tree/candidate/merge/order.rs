//! Lists ordered by user: entries that either side created, moved or deleted.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::NodeId;

use super::changed::Pair;
use super::run::Merging;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Packed, take_entry_value};
use crate::keys::take_local_id;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{entry_prefix, in_subspace, is_order_index, order_key};
use crate::tree::skip_entry;

/// An entry whose place running changed.
struct Moved {
    /// The key in the order index.
    index: Vec<u8>,
    /// The key of the list, in the tree.
    list: Vec<u8>,
    /// Its positions in the base and in running.
    base: Option<Vec<u8>>,
    running: Option<Vec<u8>>,
}

impl Moved {
    fn at(&self, position: Option<&[u8]>) -> Vec<u8> {
        [self.list.as_slice(), position.unwrap_or_default()].concat()
    }
}

impl Merging<'_> {
    /// Merges what running did to the order of lists ordered by user.
    pub fn orders(&mut self) -> Result<()> {
        let order = self.basis.running.tree.prefix(Subspace::Order);
        let mut entries = Vec::new();
        for index in self.changed.below(&order) {
            let Some(list) = self.list_of(&index)? else {
                continue;
            };
            let pair = &self.changed.keys[&index];
            entries.push(Moved {
                list,
                base: pair.base.clone(),
                running: pair.running.clone(),
                index,
            });
        }
        for moved in &entries {
            self.follow_deletion(moved)?;
        }
        for moved in &entries {
            self.make_room(moved)?;
        }
        for moved in &entries {
            if !self.is_settled(&moved.at(moved.base.as_deref())) {
                self.entry(moved)?;
            }
        }
        Ok(())
    }

    /// The key of the list that a key of the order index is about.
    fn list_of(&self, index: &[u8]) -> Result<Option<Vec<u8>>> {
        let state = self.basis.running;
        let mut at = state.tree.prefix(Subspace::Order).len();
        let mut parent = None;
        while at < index.len() {
            let mut rest = &index[at..];
            let Some(node) = state.layout().child(parent, take_local_id(&mut rest)?) else {
                return Ok(None);
            };
            let list = &index[..index.len() - rest.len()];
            let is_positional = state.schema().node(node).is_positional();
            if is_positional && is_order_index(list, index) {
                return Ok(Some(in_subspace(list, Subspace::Tree)));
            }
            skip_entry(state.schema().node(node), &mut rest)?;
            at = index.len() - rest.len();
            parent = Some(node);
        }
        Ok(None)
    }

    /// What the candidate deleted or moved away is no longer where it was: what running has there
    /// now is something else, and shows.
    fn follow_deletion(&mut self, moved: &Moved) -> Result<()> {
        let Some(base) = moved.base.as_deref() else {
            return Ok(());
        };
        let is_away = match self.changes.get(&moved.index) {
            Some(mine) => mine != Some(base),
            None => self.changes.is_cleared(&moved.index),
        };
        let place = moved.at(Some(base));
        if is_away && self.basis.running.any(&KeyRange::prefix(&place))? {
            self.unhide(&place);
        }
        Ok(())
    }

    /// Where running put an entry at a position that the candidate gave to another, the
    /// candidate's goes behind.
    fn make_room(&mut self, moved: &Moved) -> Result<()> {
        let Some(position) = moved.running.as_deref() else {
            return Ok(());
        };
        let place = moved.at(Some(position));
        let Some(Some(mine)) = self
            .changes
            .get(&place)
            .map(|mine| mine.map(<[u8]>::to_vec))
        else {
            return Ok(());
        };
        let Some(occupant) = self.index_of(&moved.list, &mine)? else {
            return Ok(());
        };
        let is_mine = self.changes.get(&occupant) == Some(Some(position));
        if occupant == moved.index || !is_mine {
            return Ok(());
        }
        self.relocate(&moved.list, &place, Some(&occupant))
    }

    /// Gives an entry of the candidate the next free position.
    pub fn relocate(&mut self, list: &[u8], place: &[u8], index: Option<&[u8]>) -> Result<()> {
        let new = match self.free_position_after(list, &place[list.len()..])? {
            Some(new) => new,
            None => {
                // No room between two neighbours: the entry goes to the end.
                let last = self.last_position(list)?;
                let end = Position::between(last.as_ref(), None);
                end.ok_or_else(|| Error::corrupt("a list has no further positions"))?
            }
        };
        self.put_at(list, place, index, &new);
        Ok(())
    }

    fn put_at(&mut self, list: &[u8], place: &[u8], index: Option<&[u8]>, new: &Position) {
        let mut position = Vec::new();
        new.put(&mut position);
        self.rename(place, &[list, &position].concat());
        if let Some(index) = index {
            self.changing().put(index.to_vec(), position);
        }
    }

    /// A position right behind another, free on both sides.
    fn free_position_after(&self, list: &[u8], position: &[u8]) -> Result<Option<Position>> {
        let before = Position::take(&mut &*position)?;
        let start = KeyRange::prefix(&[list, position].concat());
        let Some(start) = start.end else {
            return Ok(None);
        };
        let range = KeyRange {
            start,
            end: KeyRange::prefix(list).end,
        };
        let mut next: Option<Position> = None;
        for side in [
            &self.candidate() as &dyn Snapshot,
            self.basis.running.snapshot,
        ] {
            let mut cursor = side.scan(&range, Direction::Forward)?;
            if let Some((key, _)) = cursor.next()? {
                let found = Position::take(&mut &key[list.len()..])?;
                next = Some(next.map_or(found.clone(), |next| next.min(found)));
            }
        }
        Ok(Position::between(Some(&before), next.as_ref()))
    }

    fn last_position(&self, list: &[u8]) -> Result<Option<Position>> {
        let range = KeyRange::below(list);
        let mut last: Option<Position> = None;
        for side in [
            &self.candidate() as &dyn Snapshot,
            self.basis.running.snapshot,
        ] {
            let mut cursor = side.scan(&range, Direction::Backward)?;
            if let Some((key, _)) = cursor.next()? {
                let found = Position::take(&mut &key[list.len()..])?;
                last = Some(last.map_or(found.clone(), |last| last.max(found)));
            }
        }
        Ok(last)
    }

    /// The key in the order index of the entry of a list that is stored as `value`; none for lists
    /// without keys.
    pub fn index_of(&self, list: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let trail = self.basis.running.trail_of_list(list)?;
        let Some(node) = trail else { return Ok(None) };
        let node = self.basis.running.schema().node(node);
        if !node.is_config {
            return Ok(None);
        }
        if !node.is_list() {
            return Ok(Some(order_key(list, &[take_entry_value(value)?])));
        }
        let count = node.keys().len();
        if count == 0 {
            return Ok(None);
        }
        let fragment = Fragment::decode(value, count)?;
        let keys: Vec<_> = fragment
            .leaves
            .into_iter()
            .take(count)
            .filter_map(|(_, packed)| match packed {
                Packed::Value(value) => Some(value),
                Packed::Any(_) => None,
            })
            .collect();
        Ok(Some(order_key(list, &keys)))
    }

    /// Merges one entry whose place running changed.
    fn entry(&mut self, moved: &Moved) -> Result<()> {
        let mine = self.changes.get(&moved.index);
        let mine = mine.map(|mine| mine.map(<[u8]>::to_vec));
        let mine = match mine {
            Some(mine) => mine,
            None if self.changes.is_cleared(&moved.index) => None,
            None => return self.entry_moved_by_running(moved),
        };
        if mine == moved.running {
            return Ok(());
        }
        if mine.is_some() && mine == moved.base {
            // The candidate wrote it where it was.
            self.take(&moved.index, true, moved.running.as_deref());
            return self.entry_moved_by_running(moved);
        }
        let (base, running) = (
            moved.at(moved.base.as_deref()),
            moved.at(moved.running.as_deref()),
        );
        let candidate = moved.at(mine.as_deref());
        if moved.base.is_none() && mine.is_some() && self.is_alike(&running, &candidate)? {
            self.unwrite(&candidate);
            self.unhide(&running);
            self.changing()
                .forget_range(&KeyRange::prefix(&moved.index));
            self.settle(&running);
            return Ok(());
        }
        if mine.is_none() && moved.running.is_none() {
            return Ok(());
        }
        self.entry_conflict(moved, &mine, [&base, &running, &candidate])?;
        if self.prefers_running() {
            if mine.is_some() {
                self.unwrite(&candidate);
            }
            // The candidate may have deleted the whole list.
            if moved.running.is_some() {
                self.leave(&running);
            }
            self.changing()
                .forget_range(&KeyRange::prefix(&moved.index));
        } else if moved.running.is_some() {
            self.hide(&running)?;
        }
        for (place, is_there) in [
            (&base, moved.base.is_some()),
            (&running, moved.running.is_some()),
            (&candidate, mine.is_some()),
        ] {
            if is_there {
                self.settle(place);
            }
        }
        Ok(())
    }

    fn entry_conflict(
        &mut self,
        moved: &Moved,
        mine: &Option<Vec<u8>>,
        places: [&[u8]; 3],
    ) -> Result<()> {
        let there = [
            moved.base.is_some(),
            moved.running.is_some(),
            mine.is_some(),
        ];
        // An entry that one side does not have is named as another side has it.
        let named = (0..3).rev().find(|&side| there[side]).unwrap_or(0);
        let path = self.path_of(places[named])?;
        let at = |side: usize| there[side].then_some(places[side]);
        self.conflict_at(&path, [at(0), at(1), at(2)])
    }

    /// Whether running and the candidate have the same in two places.
    fn is_alike(&self, running: &[u8], candidate: &[u8]) -> Result<bool> {
        let (one, two) = (KeyRange::prefix(running), KeyRange::prefix(candidate));
        let mine = self.candidate();
        let mut theirs = self.basis.running.snapshot.scan(&one, Direction::Forward)?;
        let mut ours = mine.cursor(&two, Direction::Forward)?;
        loop {
            let pair = (theirs.next()?, ours.next()?);
            match pair {
                (None, None) => return Ok(true),
                (Some((key, value)), Some((other, held)))
                    if key[running.len()..] == other[candidate.len()..] && value == held => {}
                _ => return Ok(false),
            }
        }
    }

    /// An entry that running moved and the candidate did not: what the candidate changes in it
    /// moves along, and what running changed in it is told where it is now.
    fn entry_moved_by_running(&mut self, moved: &Moved) -> Result<()> {
        let (Some(base), Some(running)) = (&moved.base, &moved.running) else {
            return Ok(());
        };
        let (from, to) = (moved.at(Some(base)), moved.at(Some(running)));
        let touches = |place: Subspace| {
            let range = KeyRange::prefix(&in_subspace(&from, place));
            self.changes.writes_in(&range) || !self.changes.cleared_in(&range).is_empty()
        };
        if !touches(Subspace::Tree) && !touches(Subspace::Order) {
            return Ok(());
        }
        self.rename(&from, &to);
        for place in [Subspace::Tree, Subspace::Order] {
            self.retell(&in_subspace(&from, place), &in_subspace(&to, place))?;
        }
        Ok(())
    }

    /// Tells what running changed in a moved subtree as changes at its new place.
    fn retell(&mut self, from: &[u8], to: &[u8]) -> Result<()> {
        for key in [self.changed.below(from), self.changed.below(to)].concat() {
            self.changed.keys.remove(&key);
        }
        let mut pairs: std::collections::BTreeMap<Vec<u8>, Pair> = Default::default();
        let sides: [(&dyn Snapshot, &[u8]); 2] =
            [(&self.basis.base, from), (self.basis.running.snapshot, to)];
        for (side, (snapshot, prefix)) in sides.into_iter().enumerate() {
            let mut cursor = snapshot.scan(&KeyRange::prefix(prefix), Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                let key = [to, &key[prefix.len()..]].concat();
                let pair = pairs.entry(key).or_insert(Pair {
                    base: None,
                    running: None,
                });
                match side {
                    0 => pair.base = Some(value.to_vec()),
                    _ => pair.running = Some(value.to_vec()),
                }
            }
        }
        pairs.retain(|_, pair| pair.base != pair.running);
        self.changed.keys.extend(pairs);
        Ok(())
    }

    /// Where the candidate moved an entry that it did not create: from its key in the base to its
    /// key in the candidate.
    pub fn moved_by_candidate(&self, list: &[u8], entry: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(stored) = self.basis.base.value(entry)? else {
            return Ok(None);
        };
        let Some(index) = self.index_of(list, &stored)? else {
            return Ok(None);
        };
        Ok(match self.changes.get(&index) {
            Some(Some(position)) if position != &entry[list.len()..] => {
                Some([list, position].concat())
            }
            _ => None,
        })
    }
}

impl crate::tree::State<'_> {
    /// The schema node of the list with a key.
    fn trail_of_list(&self, list: &[u8]) -> Result<Option<NodeId>> {
        let mut at = self.tree.prefix(Subspace::Tree).len();
        let mut parent = None;
        while at < list.len() {
            let mut rest = &list[at..];
            let Some(node) = self.layout().child(parent, take_local_id(&mut rest)?) else {
                return Ok(None);
            };
            if rest.is_empty() {
                return Ok(Some(node));
            }
            if self.schema().node(node).is_positional() {
                let length = list.len() - rest.len();
                rest = &list[entry_prefix(&list[..length], list)?.len()..];
            } else {
                skip_entry(self.schema().node(node), &mut rest)?;
            }
            at = list.len() - rest.len();
            parent = Some(node);
        }
        Ok(None)
    }
}
