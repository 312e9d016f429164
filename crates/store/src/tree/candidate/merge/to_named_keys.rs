//! Converts the changes of a candidate from stored to named keys.
//!
//! A moved entry was deleted at its old position and written with its content at the new one. Under its
//! name it is unchanged: of the move only the position in its row of the order index remains.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{NodeId, Schema};
use rustc_hash::FxHashSet;

use super::moves::{Moves, Repositioned};
use super::named_state::{Boundary, EntryIdentity, NamedState, is_within};
use crate::error::Result;
use crate::overlay::Changes;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The nodes that are lists ordered by user or contain one.
pub(super) struct UserOrderedNodes(FxHashSet<NodeId>);

impl UserOrderedNodes {
    /// Collects the nodes of a schema.
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

    /// Whether named keys below a boundary differ from stored ones.
    pub fn is_below(&self, schema: &Schema, boundary: &Boundary) -> bool {
        match boundary.node {
            Some(node) if boundary.is_list_prefix => self.0.contains(&node),
            Some(node) => {
                let mut children = schema.node(node).children.iter();
                children.any(|child| self.0.contains(child))
            }
            None => !self.0.is_empty(),
        }
    }
}

/// The smallest subtree that contains a range.
pub(super) struct Span {
    /// The prefix of the subtree.
    pub boundary: Boundary,
    /// Whether the range is the whole subtree.
    pub is_all: bool,
}

impl Span {
    /// Of a range of stored or named keys.
    pub fn of(view: &NamedState<'_>, range: &KeyRange, identity: EntryIdentity) -> Option<Self> {
        let boundaries = view.boundaries(&range.start, identity);
        let boundary = boundaries
            .into_iter()
            .rev()
            .find(|boundary| is_within(range, &range.start[..boundary.length]))?;
        let prefix = &range.start[..boundary.length];
        let whole = KeyRange::prefix(prefix);
        let is_start =
            range.start == whole.start || range.start == KeyRange::strictly_below(prefix).start;
        let is_all = is_start && range.end == whole.end;
        Some(Self { boundary, is_all })
    }
}

/// Converts the changes of a candidate to named keys.
pub(super) struct ToNamedKeys<'a> {
    /// The base of the changes.
    pub base: &'a NamedState<'a>,
    /// The candidate: the base with the changes.
    pub candidate: &'a NamedState<'a>,
    pub ordered: &'a UserOrderedNodes,
    pub stored: &'a Changes,
}

impl ToNamedKeys<'_> {
    /// Returns the changes by named keys, and the stored keys without a name because an enclosing entry is
    /// missing in the base.
    pub fn run(&self) -> Result<(Changes, Vec<Vec<u8>>)> {
        let mut named = Changes::default();
        let mut lost = Vec::new();
        for range in self.stored.cleared() {
            self.cleared(&range, &mut named)?;
        }
        // A written key replaces the node that the base has there: it was deleted, or its position was
        // given to another entry. It may be written again under another key.
        for (key, value) in self.stored.written() {
            match self.base.name(key)? {
                Some(name) if self.base.get(&name)?.is_some() => named.delete(name),
                None if value.is_none() => lost.push(key.to_vec()),
                _ => {}
            }
        }
        for (key, value) in self.stored.written() {
            let Some(value) = value else { continue };
            let Some(name) = self.candidate.name(key)? else {
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

    /// Removes the entries with a changed position but the same place in the order.
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
            after: self.candidate,
            certain: None,
            entries: &entries,
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
        let Some(span) = Span::of(self.base, range, EntryIdentity::ByPosition) else {
            return Ok(());
        };
        let prefix = &range.start[..span.boundary.length];
        let schema = self.base.stored.schema();
        if span.is_all && !self.is_still_there(prefix, &span.boundary)? {
            if let Some(name) = self.base.name(prefix)? {
                named.hide(&KeyRange::prefix(&name));
            }
            return Ok(());
        }
        if !span.is_all && !self.ordered.is_below(schema, &span.boundary) {
            if let Some(name) = self.base.name(prefix)? {
                named.hide(&with_prefix(range, prefix, &name));
            }
            return Ok(());
        }
        if !span.is_all && !span.boundary.is_list_prefix {
            return self.cleared_children(range, &span.boundary, named);
        }
        self.cleared_rows(range, named)
    }

    /// A range over several children of a node, joined from adjacent ranges.
    fn cleared_children(
        &self,
        range: &KeyRange,
        boundary: &Boundary,
        named: &mut Changes,
    ) -> Result<()> {
        let prefix = &range.start[..boundary.length];
        if range.contains(prefix) {
            let own = KeyRange {
                start: prefix.to_vec(),
                end: Some(KeyRange::strictly_below(prefix).start),
            };
            self.cleared_rows(&own, named)?;
        }
        for part in self.base.children_in(range, boundary) {
            self.cleared(&part, named)?;
        }
        Ok(())
    }

    /// A range row by row, so that rows rewritten with their old value are no change.
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

    /// Whether an entry, or an entry of a list, that was deleted at its old position still exists in the
    /// candidate.
    fn is_still_there(&self, prefix: &[u8], boundary: &Boundary) -> Result<bool> {
        let schema = self.base.stored.schema();
        let Some(node) = boundary.node.map(|node| schema.node(node)) else {
            return Ok(false);
        };
        if !self.base.is_indexed(node) {
            return Ok(false);
        }
        if boundary.is_list_prefix {
            let entries = KeyRange::prefix(&in_subspace(prefix, Subspace::Tree));
            let mut written = self.stored.written_in(&entries);
            return Ok(written.any(|(_, value)| value.is_some()));
        }
        let entry = self.base.name(&in_subspace(prefix, Subspace::Tree))?;
        entry.map_or(Ok(false), |entry| {
            Ok(self.candidate.position(&entry)?.is_some())
        })
    }
}

/// Replaces the prefix of a range.
pub(super) fn with_prefix(range: &KeyRange, from: &[u8], to: &[u8]) -> KeyRange {
    let below = |key: &[u8]| [to, &key[from.len()..]].concat();
    let end = range.end.as_ref().filter(|end| end.starts_with(from));
    KeyRange {
        start: below(&range.start),
        end: end.map_or_else(|| KeyRange::prefix(to).end, |end| Some(below(end))),
    }
}
