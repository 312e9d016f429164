//! Scans two trees as one.
//!
//! Without entries in stored order, keys sort the same in both trees and this merges two scans. An entry in
//! stored order that both trees have is skipped in the scan above, and merged by a scan of its own when the
//! scan below reaches it.

use std::cmp::Ordering;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result as EngineResult};

use super::union::{SharedRoot, Union, engine};
use super::union_range::{above_range, entry_at_start, has_order};
use crate::error::Result;
use crate::keys::TreeId;
use crate::subspace::Subspace;

/// A scan of one tree with the keys of another.
pub(super) struct RenamedCursor<'a> {
    union: Union<'a>,
    inner: Box<dyn Cursor + 'a>,
    key: Vec<u8>,
}

impl<'a> RenamedCursor<'a> {
    /// Scans the tree below with the keys of the union.
    pub fn open(union: Union<'a>, range: KeyRange, direction: Direction) -> EngineResult<Self> {
        let range = rename_range(union, &range, union.below.tree);
        let inner = union.below.snapshot.scan(&range, direction)?;
        let key = Vec::new();
        Ok(Self { union, inner, key })
    }
}

impl Cursor for RenamedCursor<'_> {
    fn next(&mut self) -> EngineResult<Option<(&[u8], &[u8])>> {
        let Some((key, value)) = self.inner.next()? else {
            return Ok(None);
        };
        self.key.clear();
        self.key.extend_from_slice(key);
        self.union.set_tree(&mut self.key, self.union.tree);
        Ok(Some((&self.key, value)))
    }

    fn seek(&mut self, key: &[u8]) -> EngineResult<()> {
        let key = rename_bound(self.union, key, self.union.below.tree);
        self.inner.seek(&key)
    }
}

/// Translates a range of the union's tree to another tree.
fn rename_range(union: Union<'_>, range: &KeyRange, tree: TreeId) -> KeyRange {
    KeyRange {
        start: rename_bound(union, &range.start, tree),
        end: range
            .end
            .as_ref()
            .map(|end| rename_bound(union, end, tree))
            .or_else(|| KeyRange::prefix(&tree.prefix(Subspace::Tree)).end),
    }
}

/// Translates a bound of the union's tree to another tree.
fn rename_bound(union: Union<'_>, bound: &[u8], tree: TreeId) -> Vec<u8> {
    let data = KeyRange::prefix(&union.tree.prefix(Subspace::Tree));
    let other = KeyRange::prefix(&tree.prefix(Subspace::Tree));
    if data.contains(bound) {
        return union.in_tree(bound, tree);
    }
    if bound < data.start.as_slice() {
        return other.start;
    }
    other.end.unwrap_or_default()
}

/// The current row of a scan.
#[derive(Default)]
struct Head {
    key: Vec<u8>,
    value: Vec<u8>,
    is_present: bool,
}

impl Head {
    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(value);
        self.is_present = true;
    }
}

/// The scan of a union.
pub(super) struct UnionCursor<'a> {
    union: Union<'a>,
    root: SharedRoot,
    /// The range in which the cursor may seek.
    range: KeyRange,
    /// The range that is left to scan.
    rest: KeyRange,
    direction: Direction,
    below: Box<dyn Cursor + 'a>,
    below_head: Head,
    /// The entry of the row below, if both trees have it.
    both: Option<SharedRoot>,
    /// The entry of the last row below, if only that tree has it.
    below_only: Vec<u8>,
    above: Box<dyn Cursor + 'a>,
    above_head: Head,
    /// The entry of the last row above, if only that tree has it.
    above_only: Option<SharedRoot>,
    /// Whether the tree above has an order index here, so that both trees may have the same entries.
    has_order: bool,
    /// The scan of an entry in both trees.
    inner: Option<Box<UnionCursor<'a>>>,
    /// The entry of both trees in which the range begins: scanned last when going backward.
    at_last: Option<(SharedRoot, KeyRange)>,
    current: Head,
}

impl<'a> UnionCursor<'a> {
    /// Scans a range within `root`.
    pub fn open(
        union: Union<'a>,
        root: SharedRoot,
        range: KeyRange,
        direction: Direction,
    ) -> Result<Self> {
        let has_order = has_order(union, &root, &range)?;
        let (mut rest, mut within) = (range.clone(), None);
        if has_order && let Some(both) = entry_at_start(union, &root, &range)? {
            let entry = KeyRange::prefix(&both.union_key);
            within = Some((both, entry.intersection(&range)));
            rest.start = entry.end.unwrap_or_default();
        }
        let below = rename_range(union, &rest, union.below.tree);
        let above = above_range(union, &root, &rest);
        let mut cursor = Self {
            union,
            root,
            range,
            rest,
            direction,
            below: union.below.snapshot.scan(&below, direction)?,
            below_head: Head::default(),
            both: None,
            below_only: Vec::new(),
            above: union.above.snapshot.scan(&above, direction)?,
            above_head: Head::default(),
            above_only: None,
            has_order,
            inner: None,
            at_last: None,
            current: Head::default(),
        };
        match (within, direction) {
            (Some((both, range)), Direction::Forward) => cursor.enter(both, range)?,
            (within, _) => cursor.at_last = within,
        }
        cursor.advance_below()?;
        cursor.advance_above()?;
        Ok(cursor)
    }

    /// Whether the tree above has no rows in the remaining range.
    pub fn has_nothing_above(&self) -> bool {
        let entries = self.inner.is_none() && self.at_last.is_none() && self.both.is_none();
        entries && !self.has_order && !self.above_head.is_present
    }

    fn enter(&mut self, both: SharedRoot, range: KeyRange) -> Result<()> {
        let inner = Self::open(self.union, both, range, self.direction)?;
        self.inner = Some(Box::new(inner));
        Ok(())
    }

    /// Advances to the next row below.
    fn advance_below(&mut self) -> Result<()> {
        self.below_head.is_present = false;
        let Some((key, value)) = self.below.next()? else {
            return Ok(());
        };
        self.below_head.set(key, value);
        self.union
            .set_tree(&mut self.below_head.key, self.union.tree);
        let key = &self.below_head.key;
        let is_same_entry = !self.below_only.is_empty() && key.starts_with(&self.below_only);
        if !self.has_order || is_same_entry {
            return Ok(());
        }
        let at = self.root.union_key.len();
        let Some(entry) = self.union.first_entry(self.root.node, key, at) else {
            return Ok(());
        };
        match self.union.in_both(&self.root, key, &entry)? {
            Some(both) => self.both = Some(both),
            None => self.below_only = key[..entry.end].to_vec(),
        }
        Ok(())
    }

    /// Advances to the next row above that is not in an entry of both trees.
    fn advance_above(&mut self) -> Result<()> {
        self.above_head.is_present = false;
        loop {
            let Some((key, value)) = self.above.next()? else {
                return Ok(());
            };
            self.current.set(key, value);
            let Some(union_key) = self.current_union_key()? else {
                continue;
            };
            if self.rest.contains(&union_key) {
                self.above_head.set(&union_key, &self.current.value);
                return Ok(());
            }
            let is_ahead = match self.direction {
                Direction::Forward => union_key < self.rest.start,
                Direction::Backward => !self.rest.is_before_end(&union_key),
            };
            if !is_ahead {
                return Ok(());
            }
        }
    }

    /// The union's key for the row above in `current`; none if it is in an entry that the tree below has
    /// too, which is then skipped.
    fn current_union_key(&mut self) -> Result<Option<Vec<u8>>> {
        let key = &self.current.key;
        if let Some(entry) = &self.above_only
            && key.starts_with(&entry.above)
        {
            return self.shift_below(entry, key).map(Some);
        }
        let at = self.root.above.len();
        let mut union_key = self.root.union_key.clone();
        let Some(entry) = self.union.first_entry(self.root.node, key, at) else {
            union_key.extend_from_slice(&key[at..]);
            return Ok(Some(union_key));
        };
        union_key.extend_from_slice(&key[at..entry.list]);
        if self.union.is_below(key, &entry, &union_key)? {
            let prefix = key[..entry.end].to_vec();
            self.skip_above(&prefix)?;
            return Ok(None);
        }
        union_key.extend(self.union.shifted(&key[entry.list..entry.end])?);
        let entry = SharedRoot {
            union_key,
            above: key[..entry.end].to_vec(),
            node: Some(entry.node),
        };
        let complete = self.shift_below(&entry, key)?;
        self.above_only = Some(entry);
        Ok(Some(complete))
    }

    /// The union's key for content of an entry that only the tree above has.
    fn shift_below(&self, within: &SharedRoot, key: &[u8]) -> Result<Vec<u8>> {
        let mut union_key = within.union_key.clone();
        let (mut parent, mut at) = (within.node, within.above.len());
        while let Some(entry) = self.union.first_entry(parent, key, at) {
            union_key.extend_from_slice(&key[at..entry.list]);
            union_key.extend(self.union.shifted(&key[entry.list..entry.end])?);
            (parent, at) = (Some(entry.node), entry.end);
        }
        union_key.extend_from_slice(&key[at..]);
        Ok(union_key)
    }

    /// Moves the scan above past an entry.
    fn skip_above(&mut self, entry: &[u8]) -> Result<()> {
        match (self.direction, KeyRange::prefix(entry).end) {
            (Direction::Forward, Some(end)) => self.above.seek(&end)?,
            // At the entry's own key, the next row is already before it.
            (Direction::Backward, _) if self.current.key != entry => self.above.seek(entry)?,
            _ => {}
        }
        Ok(())
    }

    /// Moves the scan below past an entry.
    fn skip_below(&mut self, entry: &[u8]) -> Result<()> {
        let key = self.union.in_tree(entry, self.union.below.tree);
        match (self.direction, KeyRange::prefix(&key).end) {
            (Direction::Forward, Some(end)) => self.below.seek(&end)?,
            (Direction::Backward, _) if self.below_head.key != entry => {
                self.below.seek(&key)?;
                self.below.next()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the next row into `current`; false at the end.
    fn step(&mut self) -> Result<bool> {
        loop {
            if let Some(inner) = &mut self.inner {
                if let Some((key, value)) = inner.next()? {
                    self.current.set(key, value);
                    return Ok(true);
                }
                self.inner = None;
            }
            let order = match (self.below_head.is_present, self.above_head.is_present) {
                (false, false) => match self.at_last.take() {
                    Some((both, range)) => {
                        self.enter(both, range)?;
                        continue;
                    }
                    None => return Ok(false),
                },
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => self.below_head.key.cmp(&self.above_head.key),
            };
            let is_merge = self.below_head.is_present && self.above_head.is_present;
            let order = match self.direction {
                Direction::Backward if is_merge => order.reverse(),
                _ => order,
            };
            match (order, self.both.take()) {
                (Ordering::Greater, both) => {
                    self.both = both;
                    std::mem::swap(&mut self.current, &mut self.above_head);
                    self.advance_above_keeping_current()?;
                    return Ok(true);
                }
                (_, Some(both)) => {
                    let entry = KeyRange::prefix(&both.union_key);
                    self.skip_below(&both.union_key)?;
                    self.enter(both, entry.intersection(&self.rest))?;
                    self.advance_below()?;
                }
                (order, None) => {
                    self.take_below(order)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Takes the row below, merged with the row above if the keys are equal.
    fn take_below(&mut self, order: Ordering) -> Result<()> {
        if order != Ordering::Equal {
            std::mem::swap(&mut self.current, &mut self.below_head);
            return self.advance_below();
        }
        let (below, above) = (&self.below_head, &self.above_head);
        let merged = self
            .union
            .merge_at(&below.key, &below.value, &above.value)?;
        let key = below.key.clone();
        self.advance_below()?;
        self.advance_above()?;
        self.current.set(&key, &merged);
        Ok(())
    }

    /// As [`Self::advance_above`], but keeps `current`.
    fn advance_above_keeping_current(&mut self) -> Result<()> {
        let taken = std::mem::take(&mut self.current);
        self.advance_above()?;
        self.current = taken;
        Ok(())
    }
}

impl Cursor for UnionCursor<'_> {
    fn next(&mut self) -> EngineResult<Option<(&[u8], &[u8])>> {
        match self.step().map_err(engine)? {
            true => Ok(Some((&self.current.key, &self.current.value))),
            false => Ok(None),
        }
    }

    fn seek(&mut self, key: &[u8]) -> EngineResult<()> {
        let range = self.range.remaining_from(key, self.direction);
        let whole = std::mem::replace(&mut self.range, KeyRange::all());
        let root = self.root.clone();
        *self = Self::open(self.union, root, range, self.direction).map_err(engine)?;
        self.range = whole;
        Ok(())
    }
}
