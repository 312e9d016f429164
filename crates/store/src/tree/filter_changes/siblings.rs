//! The edits between two lists of siblings.

use std::collections::BTreeSet;

use espalier_yang::data::{Content, DataNode};
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::{is_named, is_ordered_by_user};
use crate::tree::changes::Point;
use crate::tree::changes::moved_entries;

/// A change of what a filter selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredEdit {
    /// The node.
    pub target: InstancePath,
    /// What happened to it.
    pub change: FilteredChange,
}

/// What happened to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilteredChange {
    /// It is selected now, with this content.
    Create(DataNode),
    /// It is not selected any more.
    Delete,
    /// An entry of a list or leaf-list ordered by user is selected now; its place is among the selected entries.
    Insert(DataNode, Point),
    /// The entry has another place among the selected ones.
    Move(Point),
    /// It has another content: a leaf, or a node with entries that no path can name.
    Replace(DataNode),
}

/// Entries that no path can name differ: their parent must be replaced.
pub(super) struct Unnamed;

/// Collects the edits between two states.
pub(super) struct Comparer<'a> {
    schema: &'a Schema,
    pub edits: Vec<FilteredEdit>,
}

/// The siblings with one schema node, before and after.
type Both<'a, 'n> = (&'a [&'n DataNode], &'a [&'n DataNode]);

impl<'a> Comparer<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            edits: Vec::new(),
        }
    }

    /// Compares the children of one node. The deletions of a list come first, then the other edits, in an order in which they
    /// can be applied.
    pub fn siblings(
        &mut self,
        parent: &InstancePath,
        before: &[DataNode],
        after: &[DataNode],
    ) -> Result<(), Unnamed> {
        let (before, after) = (by_node(before), by_node(after));
        let nodes: BTreeSet<NodeId> = before.keys().chain(after.keys()).copied().collect();
        for node in nodes {
            let before = before.get(&node).map_or(&[][..], Vec::as_slice);
            let after = after.get(&node).map_or(&[][..], Vec::as_slice);
            let both = (before, after);
            if !is_named(self.schema, node) {
                match before == after {
                    true => continue,
                    false => return Err(Unnamed),
                }
            }
            match self.schema.node(node).kind {
                NodeKind::List(_) | NodeKind::LeafList(_) => self.entries(parent, node, both)?,
                _ => self.single(parent, node, both),
            }
        }
        Ok(())
    }

    fn edit(&mut self, target: InstancePath, change: FilteredChange) {
        self.edits.push(FilteredEdit { target, change });
    }

    /// A node with one instance.
    fn single(&mut self, parent: &InstancePath, node: NodeId, (before, after): Both<'_, '_>) {
        let is_there = |node: &&&DataNode| has_content(self.schema, node);
        let before = before.first().filter(is_there);
        let after = after.first().filter(is_there);
        let path = parent.child(node, Keys::None);
        match (before, after) {
            (None, None) => {}
            (Some(_), None) => self.edit(path, FilteredChange::Delete),
            (None, Some(after)) => self.edit(path, FilteredChange::Create((*after).clone())),
            (Some(before), Some(after)) => self.same(&path, before, after),
        }
    }

    /// A node that exists before and after.
    fn same(&mut self, path: &InstancePath, before: &DataNode, after: &DataNode) {
        match (&before.content, &after.content) {
            (Content::Inner(old), Content::Inner(new)) => {
                let begin = self.edits.len();
                if self.siblings(path, old, new).is_err() {
                    self.edits.truncate(begin);
                    self.edit(path.clone(), FilteredChange::Replace(after.clone()));
                }
            }
            (old, new) if old == new => {}
            _ => self.edit(path.clone(), FilteredChange::Replace(after.clone())),
        }
    }

    /// The entries of a list or leaf-list with keys.
    fn entries(
        &mut self,
        parent: &InstancePath,
        node: NodeId,
        (before, after): Both<'_, '_>,
    ) -> Result<(), Unnamed> {
        let keyed = |nodes: &[&DataNode]| -> Vec<Keys> {
            nodes.iter().map(|one| one.instance(self.schema)).collect()
        };
        let (old_keys, new_keys) = (keyed(before), keyed(after));
        if old_keys.contains(&Keys::None) || new_keys.contains(&Keys::None) {
            return Err(Unnamed);
        }
        let new: FxHashSet<&Keys> = new_keys.iter().collect();
        for keys in old_keys.iter().filter(|keys| !new.contains(keys)) {
            self.edit(parent.child(node, keys.clone()), FilteredChange::Delete);
        }
        let old: FxHashMap<&Keys, &DataNode> =
            old_keys.iter().zip(before.iter().copied()).collect();
        let moved = match is_ordered_by_user(self.schema, node) {
            true => Some(moved_entries(&old_keys, &new_keys)),
            false => None,
        };
        let mut previous: Option<&Keys> = None;
        for (keys, entry) in new_keys.iter().zip(after) {
            let path = parent.child(node, keys.clone());
            let point = || match previous {
                Some(keys) => Point::After(keys.clone()),
                None => Point::First,
            };
            match (old.get(keys), &moved) {
                (None, None) => self.edit(path, FilteredChange::Create((*entry).clone())),
                (None, Some(_)) => {
                    self.edit(path, FilteredChange::Insert((*entry).clone(), point()));
                }
                (Some(before), moved) => {
                    if moved.as_ref().is_some_and(|moved| moved.contains(keys)) {
                        self.edit(path.clone(), FilteredChange::Move(point()));
                    }
                    self.same(&path, before, entry);
                }
            }
            previous = Some(keys);
        }
        Ok(())
    }
}

fn by_node(nodes: &[DataNode]) -> FxHashMap<NodeId, Vec<&DataNode>> {
    let mut all: FxHashMap<NodeId, Vec<&DataNode>> = FxHashMap::default();
    for node in nodes {
        all.entry(node.node).or_default().push(node);
    }
    all
}

/// Whether a node is more than an empty container without presence.
pub(super) fn has_content(schema: &Schema, node: &DataNode) -> bool {
    let is_container = schema.node(node.node).is_np_container();
    let mut children = node.children().iter();
    !is_container || children.any(|child| has_content(schema, child))
}
