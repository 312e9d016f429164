//! Converts key changes to node changes.

use espalier_keyspace::KeyRange;
use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, Keys, NodeId, Schema, Step};

use super::deltas::{Comparison, Delta, KeyPair};
use super::node_change::{ChangeKind, Content, NodeChange, Point};
use crate::error::Result;
use crate::fragment::{Packed, Reader, take_entry_value};
use crate::keys::{LocalId, take_local_id};
use crate::subspace::Subspace;
use crate::tree::locate::TreeState;
use crate::tree::read::skip_entry;

/// The callback for changes; it may move the contents out. An error ends the walk and is returned.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(&mut NodeChange) -> Result<()>;

/// Calls `visit` with each node that changed between two states, in document order.
pub(crate) fn each_node_change(comparison: Comparison<'_>, visit: Visit<'_>) -> Result<()> {
    let mut walk = Walk {
        comparison,
        change: NodeChange {
            path: InstancePath::root(),
            kind: ChangeKind::Modified,
            is_nested: false,
            old: None,
            new: None,
            after: None,
        },
        point: None,
        top_length: None,
        visit,
    };
    let root = KeyPair::both(&comparison.tree.prefix(Subspace::Tree));
    walk.compare_below(&root, None)
}

/// A container or list entry that encloses the current key.
struct Frame {
    node: NodeId,
    /// The length of its part of the key.
    length: usize,
}

/// A walk over the differing keys.
pub(super) struct Walk<'a, 'v> {
    pub comparison: Comparison<'a>,
    /// The current node's path is in it.
    pub change: NodeChange,
    /// The new place of the next reported entry.
    pub point: Option<Point>,
    /// The path length of the created or deleted subtree that encloses the current node.
    top_length: Option<usize>,
    pub visit: Visit<'v>,
}

impl<'a> Walk<'a, '_> {
    pub fn schema(&self) -> &'a Schema {
        &self.comparison.compiled.schema
    }

    /// Reports everything that differs at and below two keys of one node (none: the datastore) at the
    /// current path.
    pub fn compare_below(&mut self, sides: &KeyPair, node: Option<NodeId>) -> Result<()> {
        let outside = self.change.path.steps.len();
        let mut deltas = self.comparison.deltas(sides)?;
        let mut delta = Delta::default();
        let mut frames: Vec<Frame> = Vec::new();
        let mut previous: Vec<u8> = Vec::new();
        while deltas.next(&mut delta)? {
            while let Some(frame) = frames.last()
                && !delta.rest.starts_with(&previous[..frame.length])
            {
                frames.pop();
                self.change.path.steps.pop();
            }
            previous.clear();
            previous.extend_from_slice(&delta.rest);
            if let Some(ordered) = self.visit_key(sides, node, &delta, &mut frames)? {
                let list = sides.below(&delta.rest[..ordered.length]);
                self.ordered(&list, ordered.node)?;
                let end = KeyRange::prefix(&delta.rest[..ordered.length]).end;
                deltas.seek(end.as_deref())?;
            }
        }
        self.change.path.steps.truncate(outside);
        Ok(())
    }

    /// Visits one differing key. Returns the list if the key is in a list with a stored order.
    fn visit_key(
        &mut self,
        sides: &KeyPair,
        base: Option<NodeId>,
        delta: &Delta,
        frames: &mut Vec<Frame>,
    ) -> Result<Option<Frame>> {
        let layout = &self.comparison.compiled.layout;
        let (mut parent, mut at) = match frames.last() {
            Some(frame) => (Some(frame.node), frame.length),
            None => (base, 0),
        };
        while at < delta.rest.len() {
            let mut rest = &delta.rest[at..];
            let Some(child) = layout.child(parent, take_local_id(&mut rest)?) else {
                // A node that a model upgrade removed.
                return Ok(None);
            };
            let list = delta.rest.len() - rest.len();
            let node = self.schema().node(child);
            if node.is_positional() {
                return Ok(Some(Frame {
                    node: child,
                    length: list,
                }));
            }
            skip_entry(node, &mut rest)?;
            at = delta.rest.len() - rest.len();
            if node.is_leaf_list() {
                self.entry_value(child, delta)?;
                return Ok(None);
            }
            let own = delta.new.as_ref().or(delta.old.as_ref());
            let keys = match own.filter(|_| at == delta.rest.len()) {
                _ if !node.is_list() => Keys::None,
                Some(own) => keys_in(node, own)?,
                None => self.entry_keys(node, &sides.below(&delta.rest[..at]))?,
            };
            self.enter(Step { node: child, keys });
            frames.push(Frame {
                node: child,
                length: at,
            });
            parent = Some(child);
        }
        self.fragment(parent, delta)?;
        Ok(None)
    }

    /// The key values of a list entry, which exists on at least one side.
    fn entry_keys(&self, node: &Node, sides: &KeyPair) -> Result<Keys> {
        let states = [
            (self.comparison.after(), &sides.after),
            (self.comparison.before(), &sides.before),
        ];
        for (state, key) in states {
            if let Some(key) = key
                && let Some(keys) = stored_keys(state, node, key)?
            {
                return Ok(keys);
            }
        }
        Err(crate::Error::corrupt(
            "an entry on the path of a key is missing",
        ))
    }

    /// Reports an entry of a leaf-list ordered by system.
    fn entry_value(&mut self, node: NodeId, delta: &Delta) -> Result<()> {
        let (kind, value) = match (&delta.old, &delta.new) {
            (_, Some(new)) => (ChangeKind::Created, take_entry_value(new)?),
            (Some(old), None) => (ChangeKind::Deleted, take_entry_value(old)?),
            (None, None) => return Ok(()),
        };
        let keys = Keys::Values(vec![value.clone()]);
        let content = Some(Content::Value(value));
        let (old, new) = match kind {
            ChangeKind::Deleted => (content, None),
            _ => (None, content),
        };
        self.report_child(Step { node, keys }, kind, old, new)
    }

    /// Reports the fragment of the current node.
    fn fragment(&mut self, node: Option<NodeId>, delta: &Delta) -> Result<()> {
        let is_node = node.is_some_and(|node| !self.schema().node(node).is_np_container());
        match (&delta.old, &delta.new) {
            (None, Some(_)) if is_node => self.report(ChangeKind::Created, None, None)?,
            (Some(_), None) if is_node => self.report(ChangeKind::Deleted, None, None)?,
            _ => {}
        }
        let keys = node.map_or(0, |node| self.schema().node(node).keys().len());
        match (&delta.old, &delta.new) {
            (Some(old), None) => {
                for leaf in Reader::new(old).skip(keys) {
                    let (id, packed) = leaf?;
                    self.leaf(node, id, Some(packed), None)?;
                }
                Ok(())
            }
            (None, Some(new)) => {
                for leaf in Reader::new(new).skip(keys) {
                    let (id, packed) = leaf?;
                    self.leaf(node, id, None, Some(packed))?;
                }
                Ok(())
            }
            _ => self.leaves_of_both(node, keys, delta),
        }
    }

    /// Compares the leaves of the current node, without its keys; both states have the node.
    fn leaves_of_both(&mut self, node: Option<NodeId>, keys: usize, delta: &Delta) -> Result<()> {
        let leaves = |bytes: &Option<Vec<u8>>| -> Result<Vec<(LocalId, Packed)>> {
            Reader::new(bytes.as_deref().unwrap_or_default())
                .skip(keys)
                .collect()
        };
        let mut old = leaves(&delta.old)?.into_iter().peekable();
        let mut new = leaves(&delta.new)?.into_iter().peekable();
        loop {
            let next = [old.peek(), new.peek()].into_iter().flatten();
            let Some(id) = next.map(|(id, _)| *id).min() else {
                return Ok(());
            };
            let old = old.next_if(|(other, _)| *other == id);
            let new = new.next_if(|(other, _)| *other == id);
            self.leaf(node, id, old.map(|leaf| leaf.1), new.map(|leaf| leaf.1))?;
        }
    }

    fn leaf(
        &mut self,
        parent: Option<NodeId>,
        id: LocalId,
        old: Option<Packed>,
        new: Option<Packed>,
    ) -> Result<()> {
        let Some(node) = self.comparison.compiled.layout.child(parent, id) else {
            return Ok(());
        };
        let kind = match (&old, &new) {
            (Some(old), Some(new)) if old == new => return Ok(()),
            (Some(_), Some(_)) => ChangeKind::Modified,
            (None, _) => ChangeKind::Created,
            (_, None) => ChangeKind::Deleted,
        };
        let keys = Keys::None;
        let (old, new) = (old.map(Content::from), new.map(Content::from));
        self.report_child(Step { node, keys }, kind, old, new)
    }

    /// Steps into another child of the current node.
    pub fn enter(&mut self, step: Step) {
        self.change.path.steps.push(step);
        let length = self.change.path.steps.len();
        self.top_length = self.top_length.filter(|top| *top < length);
    }

    /// Reports a change of a child of the current node.
    pub fn report_child(
        &mut self,
        step: Step,
        kind: ChangeKind,
        old: Option<Content>,
        new: Option<Content>,
    ) -> Result<()> {
        self.enter(step);
        self.report(kind, old, new)?;
        self.change.path.steps.pop();
        Ok(())
    }

    /// Reports a change of the current node.
    pub fn report(
        &mut self,
        kind: ChangeKind,
        old: Option<Content>,
        new: Option<Content>,
    ) -> Result<()> {
        (self.change.kind, self.change.old, self.change.new) = (kind, old, new);
        self.change.after = self.point.take();
        self.change.is_nested = self.top_length.is_some();
        if self.top_length.is_none() && matches!(kind, ChangeKind::Created | ChangeKind::Deleted) {
            self.top_length = Some(self.change.path.steps.len());
        }
        (self.visit)(&mut self.change)
    }
}

/// The key values in the fragment of an entry; none if it does not exist.
pub(super) fn stored_keys(state: TreeState<'_>, node: &Node, key: &[u8]) -> Result<Option<Keys>> {
    let stored = state.snapshot.get(key)?;
    stored.map(|stored| keys_in(node, &stored)).transpose()
}

/// The key values in the stored row of an entry.
pub(crate) fn keys_in(node: &Node, stored: &[u8]) -> Result<Keys> {
    if node.is_leaf_list() {
        return Ok(Keys::Values(vec![take_entry_value(stored)?]));
    }
    let mut values = Vec::with_capacity(node.keys().len());
    for leaf in Reader::new(stored).take(node.keys().len()) {
        match leaf?.1 {
            Packed::Value(value) => values.push(value),
            Packed::Any(_) => return Err(crate::Error::corrupt("a key holds anydata")),
        }
    }
    Ok(Keys::Values(values))
}

impl From<Packed> for Content {
    fn from(packed: Packed) -> Self {
        match packed {
            Packed::Value(value) => Self::Value(value),
            Packed::Any(json) => Self::Any(json),
        }
    }
}
