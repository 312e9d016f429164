//! Differences in lists and leaf-lists with a stored order.
//!
//! A key of such a list contains the position of its entry. In lists ordered by user, the order index shows
//! which entries have another position. That alone is not a move: a renumbered list has the same order. An
//! entry moved if an entry with an unchanged position is between its old and its new position; of the other
//! repositioned entries, those outside a longest run in unchanged order moved.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::{Keys, NodeId, Step};
use rustc_hash::FxHashSet;

use super::deltas::{Delta, KeyPair};
use super::node_change::{ChangeKind, Content, Point};
use super::walk::{Walk, keys_in, stored_keys};
use crate::error::{Error, Result};
use crate::fragment::take_entry_value;
use crate::position::Position;
use crate::tree::locate::{TreeState, entry_prefix, order_key};

/// A position as encoded in a key.
type EncodedPosition = Vec<u8>;

impl Walk<'_, '_> {
    /// Compares a list or leaf-list of the current node; `list` has its key on both sides.
    pub fn ordered(&mut self, list: &KeyPair, id: NodeId) -> Result<()> {
        let node = self.schema().node(id);
        let is_by_user = node.is_config && (node.is_leaf_list() || !node.keys().is_empty());
        let mut entries = match is_by_user {
            true => Entries::ByUser(self.moved(list)?),
            false => Entries::ByPosition([EntryCounter::default(), EntryCounter::default()]),
        };
        let mut deltas = self.comparison.deltas(list)?;
        let mut delta = Delta::default();
        while deltas.next(&mut delta)? {
            let mut rest = delta.rest.as_slice();
            Position::skip(&mut rest)?;
            let length = delta.rest.len() - rest.len();
            let at = delta.rest[..length].to_vec();
            if rest.is_empty() {
                let (old, new) = (delta.old.take(), delta.new.take());
                self.entry(list, node, &mut entries, (&at, old, new))?;
            } else {
                let step = self.step(list, node, &mut entries, (&at, Side::After))?;
                self.compare_content(step, &list.below(&at))?;
            }
            deltas.seek(KeyRange::prefix(&at).end.as_deref())?;
        }
        Ok(())
    }

    /// Reports the entries before and after at one position.
    fn entry(
        &mut self,
        list: &KeyPair,
        node: &Node,
        entries: &mut Entries,
        (at, old, new): (&EncodedPosition, Option<Vec<u8>>, Option<Vec<u8>>),
    ) -> Result<()> {
        let here = list.below(at);
        let has_keys = matches!(entries, Entries::ByUser(_)) || !node.keys().is_empty();
        let is_same = match (&old, &new) {
            (Some(old), Some(new)) => !has_keys || keys_in(node, old)? == keys_in(node, new)?,
            _ => false,
        };
        if is_same {
            let step = self.step(list, node, entries, (at, Side::After))?;
            return match (node.is_leaf_list(), old, new) {
                (true, Some(old), Some(new)) => {
                    let (old, new) = (value_of(&old)?, value_of(&new)?);
                    self.report_child(step, ChangeKind::Modified, Some(old), Some(new))
                }
                _ => self.compare_content(step, &here),
            };
        }
        if old.is_some() {
            self.report_removed(list, node, entries, at)?;
        }
        match new.is_some() {
            true => self.report_added(list, node, entries, at),
            false => Ok(()),
        }
    }

    /// Reports an entry that is no longer at a position.
    fn report_removed(
        &mut self,
        list: &KeyPair,
        node: &Node,
        entries: &mut Entries,
        at: &EncodedPosition,
    ) -> Result<()> {
        let step = self.step(list, node, entries, (at, Side::Before))?;
        let new_position =
            self.position(self.comparison.after(), &list.after, entries, &step.keys)?;
        if new_position.is_some() {
            // Reported at its new position.
            return Ok(());
        }
        let here = KeyPair {
            before: list.below(at).before,
            after: None,
        };
        self.one_sided(step, node, &here, ChangeKind::Deleted)
    }

    /// Reports an entry that is new at a position.
    fn report_added(
        &mut self,
        list: &KeyPair,
        node: &Node,
        entries: &mut Entries,
        at: &EncodedPosition,
    ) -> Result<()> {
        let step = self.step(list, node, entries, (at, Side::After))?;
        let old_position =
            self.position(self.comparison.before(), &list.before, entries, &step.keys)?;
        let moved = match entries {
            Entries::ByUser(moved) => moved,
            Entries::ByPosition(_) => &FxHashSet::default(),
        };
        let mut here = list.below(at);
        let Some(old_position) = old_position else {
            self.point = self.point_of(list, node, entries, at)?;
            here.before = None;
            return self.one_sided(step, node, &here, ChangeKind::Created);
        };
        if moved.contains(at) {
            self.point = self.point_of(list, node, entries, at)?;
            self.report_child(step.clone(), ChangeKind::Moved, None, None)?;
        }
        if node.is_leaf_list() {
            return Ok(());
        }
        here.before = list.below(&old_position).before;
        self.compare_content(step, &here)
    }

    /// Reports an entry that exists on one side only.
    fn one_sided(
        &mut self,
        step: Step,
        node: &Node,
        here: &KeyPair,
        kind: ChangeKind,
    ) -> Result<()> {
        if !node.is_leaf_list() {
            return self.compare_content(step, here);
        }
        let read = |state: TreeState<'_>, key: &Option<Vec<u8>>| -> Result<Option<Content>> {
            let Some(key) = key else { return Ok(None) };
            let stored = state.snapshot.get(key)?;
            stored.map(|value| value_of(&value)).transpose()
        };
        let old = read(self.comparison.before(), &here.before)?;
        let new = read(self.comparison.after(), &here.after)?;
        self.report_child(step, kind, old, new)
    }

    /// Compares the content of an entry.
    fn compare_content(&mut self, step: Step, here: &KeyPair) -> Result<()> {
        let node = step.node;
        self.enter(step);
        self.compare_below(here, Some(node))?;
        self.change.path.steps.pop();
        Ok(())
    }

    /// The step of the entry at a position of one side.
    fn step(
        &self,
        list: &KeyPair,
        node: &Node,
        entries: &mut Entries,
        (at, side): (&EncodedPosition, Side),
    ) -> Result<Step> {
        let (state, list) = match side {
            Side::Before => (self.comparison.before(), &list.before),
            Side::After => (self.comparison.after(), &list.after),
        };
        let list = list.as_deref().unwrap_or_default();
        let key = [list, at.as_slice()].concat();
        let keys = match entries {
            Entries::ByPosition(counts) if node.keys().is_empty() => {
                let index = counts[side as usize].up_to(state, list, &key)?;
                Keys::Position(index)
            }
            _ => stored_keys(state, node, &key)?
                .ok_or_else(|| Error::corrupt("an entry on the path of a key is missing"))?,
        };
        let node = node.id;
        Ok(Step { node, keys })
    }

    /// The position of an entry on one side, if the list is ordered by user.
    fn position(
        &self,
        state: TreeState<'_>,
        list: &Option<Vec<u8>>,
        entries: &Entries,
        keys: &Keys,
    ) -> Result<Option<EncodedPosition>> {
        match (entries, list, keys) {
            (Entries::ByUser(_), Some(list), Keys::Values(values)) => state.position(list, values),
            _ => Ok(None),
        }
    }

    /// The predecessor of an entry.
    fn point_of(
        &self,
        list: &KeyPair,
        node: &Node,
        entries: &Entries,
        at: &EncodedPosition,
    ) -> Result<Option<Point>> {
        let (Entries::ByUser(_), Some(list)) = (entries, &list.after) else {
            return Ok(None);
        };
        let state = self.comparison.after();
        let range = KeyRange {
            start: KeyRange::strictly_below(list).start,
            end: Some([list.as_slice(), at].concat()),
        };
        let mut cursor = state.snapshot.scan(&range, Direction::Backward)?;
        let Some((key, _)) = cursor.next()? else {
            return Ok(Some(Point::First));
        };
        let keys = stored_keys(state, node, entry_prefix(list, key)?)?;
        Ok(keys.map(Point::After))
    }

    /// The new positions of the entries that moved.
    fn moved(&self, list: &KeyPair) -> Result<FxHashSet<EncodedPosition>> {
        let index = list.map(|list| order_key(list, &[]));
        let mut deltas = self.comparison.deltas(&index)?;
        let mut delta = Delta::default();
        let (mut repositioned, mut positions) = (Vec::new(), Vec::new());
        while deltas.next(&mut delta)? {
            let (old, new) = (delta.old.take(), delta.new.take());
            positions.extend(old.clone());
            positions.extend(new.clone());
            repositioned.extend(old.zip(new));
        }
        let Some(list) = list.after.as_deref().filter(|_| !repositioned.is_empty()) else {
            return Ok(FxHashSet::default());
        };
        let gaps = UnchangedBetween::new(self.comparison.after(), list, positions)?;
        let mut moved: FxHashSet<EncodedPosition> = FxHashSet::default();
        let mut kept = Vec::new();
        for (old, new) in repositioned {
            match gaps.is_anything_between(&old, &new) {
                true => drop(moved.insert(new)),
                false => kept.push((old, new)),
            }
        }
        kept.sort_by(|(_, one), (_, other)| one.cmp(other));
        let run: FxHashSet<usize> = longest_run(&kept).into_iter().collect();
        let others = kept.into_iter().enumerate();
        moved.extend(
            others
                .filter(|(index, _)| !run.contains(index))
                .map(|(_, (_, new))| new),
        );
        Ok(moved)
    }
}

/// How the entries of a list are identified.
enum Entries {
    /// By their keys; with the new positions of moved entries.
    ByUser(FxHashSet<EncodedPosition>),
    /// By position only: state data and lists without keys. Counted before and after.
    ByPosition([EntryCounter; 2]),
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Counts the entries of a list up to ascending keys.
#[derive(Default)]
struct EntryCounter {
    /// The last counted entry.
    last: Vec<u8>,
    entries: u64,
}

impl EntryCounter {
    /// The index of the entry with a key, from 1.
    fn up_to(&mut self, state: TreeState<'_>, list: &[u8], key: &[u8]) -> Result<u64> {
        let start = match self.last.is_empty() {
            true => KeyRange::strictly_below(list).start,
            false => self.last.clone(),
        };
        let range = KeyRange {
            start,
            end: KeyRange::prefix(key).end,
        };
        let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
        while let Some((other, _)) = cursor.next()? {
            let entry = entry_prefix(list, other)?;
            if entry != self.last {
                self.entries += 1;
                self.last = entry.to_vec();
            }
        }
        Ok(self.entries)
    }
}

/// The old and new positions of changed entries, and whether unchanged entries are between them.
struct UnchangedBetween {
    positions: Vec<EncodedPosition>,
    /// For each position, the number of non-empty gaps before it.
    filled: Vec<usize>,
}

impl UnchangedBetween {
    fn new(state: TreeState<'_>, list: &[u8], mut positions: Vec<EncodedPosition>) -> Result<Self> {
        positions.sort_unstable();
        positions.dedup();
        let mut filled = Vec::with_capacity(positions.len());
        let mut count = 0;
        for (index, position) in positions.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).map(|index| &positions[index]) {
                let start = KeyRange::prefix(&[list, before.as_slice()].concat()).end;
                let range = KeyRange::new(start.unwrap_or_default(), [list, position].concat());
                count += usize::from(!range.is_empty() && state.any(&range)?);
            }
            filled.push(count);
        }
        Ok(Self { positions, filled })
    }

    fn is_anything_between(&self, one: &EncodedPosition, other: &EncodedPosition) -> bool {
        let filled = |at: &EncodedPosition| {
            let found = self.positions.binary_search(at);
            found.map(|index| self.filled[index]).unwrap_or_default()
        };
        filled(one) != filled(other)
    }
}

/// The indexes of a longest run of pairs, sorted by the second, in which the first ascends too.
fn longest_run(pairs: &[(EncodedPosition, EncodedPosition)]) -> Vec<usize> {
    // For each length, the pair with the smallest first that ends a run of it.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; pairs.len()];
    for (index, (old, _)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].0 < *old);
        previous[index] = length.checked_sub(1).map(|length| ends[length]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        run.push(index);
        at = previous[index];
    }
    run
}

fn value_of(stored: &[u8]) -> Result<Content> {
    take_entry_value(stored).map(Content::Value)
}
