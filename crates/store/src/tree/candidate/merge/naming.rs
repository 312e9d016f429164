//! The changes of a candidate, from stored keys to named ones.
//!
//! An entry that the candidate moved was deleted at its old position and written at the new one, with
//! everything in it. By name it is where it was: what is left of the move is the position in its row
//! of the order index.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{NodeId, Schema};
use rustc_hash::FxHashSet;

use super::moves::{Moves, Repositioned};
use super::named::{Boundary, Named, Told, is_within};
use crate::error::Result;
use crate::overlay::Changes;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The nodes that are lists ordered by user, or have such below.
pub(super) struct Ordered(FxHashSet<NodeId>);

impl Ordered {
    /// Of a schema.
    pub fn of(schema: &Schema) -> Self {
        let mut found = FxHashSet::default();
        for node in schema.nodes().filter(|node| node.is_positional()) {
            let mut at = Some(node.id);
            while let Some(id) = at.filter(|&id| found.insert(id)) {
                at = schema.node(id).parent;
            }
        }
        Self(found)
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether keys below a boundary are other ones by name than in the store.
    pub fn is_below(&self, schema: &Schema, boundary: &Boundary) -> bool {
        match boundary.node {
            Some(node) if boundary.is_whole => self.0.contains(&node),
            Some(node) => {
                let mut children = schema.node(node).children.iter();
                children.any(|child| self.0.contains(child))
            }
            None => !self.0.is_empty(),
        }
    }
}

/// The smallest part of the tree that a range lies in.
pub(super) struct Span {
    pub around: Boundary,
    /// Whether the range is all of it.
    pub is_all: bool,
}

impl Span {
    /// Of a range of stored or of named keys.
    pub fn of(view: &Named<'_>, range: &KeyRange, told: Told) -> Option<Self> {
        let boundaries = view.boundaries(&range.start, told);
        let around = boundaries
            .into_iter()
            .rev()
            .find(|boundary| is_within(range, &range.start[..boundary.length]))?;
        let prefix = &range.start[..around.length];
        let whole = KeyRange::prefix(prefix);
        let is_start = range.start == whole.start || range.start == KeyRange::below(prefix).start;
        let is_all = is_start && range.end == whole.end;
        Some(Self { around, is_all })
    }
}

/// Finds the named keys of what a candidate changes.
pub(super) struct Naming<'a> {
    /// What the changes were made on.
    pub base: &'a Named<'a>,
    /// What they made of it.
    pub made: &'a Named<'a>,
    pub ordered: &'a Ordered,
    pub stored: &'a Changes,
}

impl Naming<'_> {
    /// The changes by name, and the stored keys that have none because what is around them is not
    /// known (any more).
    pub fn run(&self) -> Result<(Changes, Vec<Vec<u8>>)> {
        let mut named = Changes::default();
        let mut lost = Vec::new();
        for range in self.stored.cleared() {
            self.cleared(&range, &mut named)?;
        }
        // What was at a written key is gone from there, where it was deleted or its position was given
        // to another; it may be there again elsewhere.
        for (key, value) in self.stored.written() {
            match self.base.name(key)? {
                Some(name) if self.base.get(&name)?.is_some() => named.delete(name),
                None if value.is_none() => lost.push(key.to_vec()),
                _ => {}
            }
        }
        for (key, value) in self.stored.written() {
            let Some(value) = value else { continue };
            let Some(name) = self.made.name(key)? else {
                lost.push(key.to_vec());
                continue;
            };
            let is_cleared = named.is_cleared(&name);
            if !is_cleared && self.base.get(&name)?.as_deref() == Some(value) {
                named.forget(&name);
            } else {
                named.put(name, value.to_vec());
            }
        }
        self.forget_unmoved(&mut named)?;
        Ok((named, lost))
    }

    /// Leaves the entries that have another position and are where they were.
    fn forget_unmoved(&self, named: &mut Changes) -> Result<()> {
        let order = self.base.stored.tree.prefix(Subspace::Order);
        let mut entries = Vec::new();
        for (row, after) in named.written_in(&KeyRange::prefix(&order)) {
            let before = self.base.get(row)?;
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            if *before == *after {
                continue;
            }
            entries.push(Repositioned {
                entry: in_subspace(row, Subspace::Tree),
                before: Position::take(&mut &*before)?,
                after: Position::take(&mut &*after)?,
            });
        }
        let moves = Moves {
            before: self.base,
            after: self.made,
            entries,
        };
        for entry in moves.unmoved()? {
            let row = in_subspace(&entry, Subspace::Order);
            if let Some(before) = self.base.position(&entry)?
                && named.is_cleared(&row)
            {
                named.put(row, before);
            } else {
                named.forget(&row);
            }
        }
        Ok(())
    }

    fn cleared(&self, range: &KeyRange, named: &mut Changes) -> Result<()> {
        let Some(span) = Span::of(self.base, range, Told::ByPosition) else {
            return Ok(());
        };
        let prefix = &range.start[..span.around.length];
        let schema = self.base.stored.schema();
        if span.is_all && !self.is_still_there(prefix, &span.around)? {
            if let Some(name) = self.base.name(prefix)? {
                named.hide(&KeyRange::prefix(&name));
            }
            return Ok(());
        }
        if !span.is_all && !self.ordered.is_below(schema, &span.around) {
            if let Some(name) = self.base.name(prefix)? {
                named.hide(&with_prefix(range, prefix, &name));
            }
            return Ok(());
        }
        if !span.is_all && !span.around.is_whole {
            return self.cleared_children(range, &span.around, named);
        }
        self.cleared_rows(range, named)
    }

    /// A range over several children of a node: ranges that met were joined.
    fn cleared_children(
        &self,
        range: &KeyRange,
        around: &Boundary,
        named: &mut Changes,
    ) -> Result<()> {
        let prefix = &range.start[..around.length];
        if range.contains(prefix) {
            let own = KeyRange {
                start: prefix.to_vec(),
                end: Some(KeyRange::below(prefix).start),
            };
            self.cleared_rows(&own, named)?;
        }
        for part in self.base.children_in(range, around) {
            self.cleared(&part, named)?;
        }
        Ok(())
    }

    /// A range row by row, so that what is written again as it was is no change.
    fn cleared_rows(&self, range: &KeyRange, named: &mut Changes) -> Result<()> {
        let snapshot = self.base.stored.snapshot;
        let mut cursor = snapshot.scan(range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            if let Some(name) = self.base.name(key)? {
                named.delete(name);
            }
        }
        Ok(())
    }

    /// Whether the candidate still has the entry, or entries of the list, that it deleted at its old
    /// place.
    fn is_still_there(&self, prefix: &[u8], around: &Boundary) -> Result<bool> {
        let schema = self.base.stored.schema();
        let Some(node) = around.node.map(|node| schema.node(node)) else {
            return Ok(false);
        };
        if !self.base.is_indexed(node) {
            return Ok(false);
        }
        if around.is_whole {
            let entries = KeyRange::prefix(&in_subspace(prefix, Subspace::Tree));
            let mut written = self.stored.written_in(&entries);
            return Ok(written.any(|(_, value)| value.is_some()));
        }
        let entry = self.base.name(&in_subspace(prefix, Subspace::Tree))?;
        entry.map_or(Ok(false), |entry| Ok(self.made.position(&entry)?.is_some()))
    }
}

/// A range below one prefix as a range below another.
pub(super) fn with_prefix(range: &KeyRange, from: &[u8], to: &[u8]) -> KeyRange {
    let below = |key: &[u8]| [to, &key[from.len()..]].concat();
    let end = range.end.as_ref().filter(|end| end.starts_with(from));
    KeyRange {
        start: below(&range.start),
        end: end.map_or_else(|| KeyRange::prefix(to).end, |end| Some(below(end))),
    }
}
