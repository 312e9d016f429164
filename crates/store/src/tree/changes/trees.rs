//! Compares two data trees in memory by node.

use std::collections::HashMap;

use espalier_yang::data::{Content, DataNode};
use espalier_yang::schema::Ordering;
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema};
use rustc_hash::FxHashSet;

use super::moved_entries::moved_entries;
use super::node_change::{ChangeKind, Content as ChangedContent, NodeChange, Point};

/// A change from one tree to another.
#[derive(Clone, Debug)]
pub struct TreeChange<'d> {
    /// The change.
    pub change: NodeChange,
    /// The node in the old tree, with its descendants; none if it was created.
    pub old: Option<&'d DataNode>,
    /// The node in the new tree; none if it was deleted.
    pub new: Option<&'d DataNode>,
}

/// Calls `emit` for the changes from one tree to another, in the order of the schema. The trees are normalised.
pub fn each_tree_change<'d>(
    schema: &Schema,
    old: &'d [DataNode],
    new: &'d [DataNode],
    emit: &mut dyn FnMut(TreeChange<'d>),
) {
    Comparison { schema, emit }.siblings(&InstancePath::root(), old, new);
}

struct Comparison<'s, 'e, 'd> {
    schema: &'s Schema,
    emit: &'e mut dyn FnMut(TreeChange<'d>),
}

/// The instances of one schema node among siblings, with what distinguishes them.
type Instances<'d> = Vec<(Keys, &'d DataNode)>;

impl<'d> Comparison<'_, '_, 'd> {
    fn siblings(&mut self, parent: &InstancePath, old: &'d [DataNode], new: &'d [DataNode]) {
        let mut nodes: Vec<NodeId> = old.iter().chain(new).map(|node| node.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let old = self.instances(node, old);
            let new = self.instances(node, new);
            self.instances_of(parent, node, &old, &new);
        }
    }

    fn instances(&self, node: NodeId, siblings: &'d [DataNode]) -> Instances<'d> {
        let found = siblings.iter().filter(|one| one.node == node);
        let is_positional = self.has_positions(node);
        found
            .zip(1_u64..)
            .map(|(one, position)| match is_positional {
                true => (Keys::Position(position), one),
                false => (one.instance(self.schema), one),
            })
            .collect()
    }

    fn instances_of(
        &mut self,
        parent: &InstancePath,
        node: NodeId,
        old: &Instances<'d>,
        new: &Instances<'d>,
    ) {
        let old_places: HashMap<&Keys, usize> = places(old);
        let new_places: HashMap<&Keys, usize> = places(new);
        for (keys, one) in old {
            if !new_places.contains_key(keys) {
                let path = parent.child(node, keys.clone());
                self.subtree(&path, one, ChangeKind::Deleted, None, false);
            }
        }
        let is_ordered = self.is_ordered_by_user(node);
        let moved = match is_ordered {
            true => moved_entries(keys_of(old), keys_of(new)),
            false => FxHashSet::default(),
        };
        let mut previous: Option<&Keys> = None;
        for (keys, one) in new {
            let path = parent.child(node, keys.clone());
            let point = || previous.map_or(Point::First, |keys| Point::After(keys.clone()));
            match old_places.get(keys) {
                None => {
                    let after = is_ordered.then(point);
                    self.subtree(&path, one, ChangeKind::Created, after, false);
                }
                Some(&old_place) => {
                    if moved.contains(keys) {
                        let change = NodeChange {
                            after: Some(point()),
                            ..change(&path, ChangeKind::Moved)
                        };
                        let old = Some(old[old_place].1);
                        (self.emit)(TreeChange {
                            change,
                            old,
                            new: Some(*one),
                        });
                    }
                    self.both(&path, old[old_place].1, one);
                }
            }
            previous = Some(keys);
        }
    }

    /// Compares two instances with the same path.
    fn both(&mut self, path: &InstancePath, old: &'d DataNode, new: &'d DataNode) {
        match (&old.content, &new.content) {
            (Content::Inner(old), Content::Inner(new)) => self.siblings(path, old, new),
            (before, now) if before != now => {
                let change = NodeChange {
                    old: content(before),
                    new: content(now),
                    ..change(path, ChangeKind::Modified)
                };
                (self.emit)(TreeChange {
                    change,
                    old: Some(old),
                    new: Some(new),
                });
            }
            _ => {}
        }
    }

    /// A node that is only in one of the trees, with its descendants.
    fn subtree(
        &mut self,
        path: &InstancePath,
        node: &'d DataNode,
        kind: ChangeKind,
        after: Option<Point>,
        is_nested: bool,
    ) {
        let found = self.schema.node(node.node);
        // A container without presence is only there for its children.
        let is_reported = !found.is_np_container();
        if is_reported {
            let value = content(&node.content);
            let nodes = |is_there: bool| is_there.then_some(node);
            let is_deleted = kind == ChangeKind::Deleted;
            let (old, new) = match is_deleted {
                true => (value, None),
                false => (None, value),
            };
            let change = NodeChange {
                is_nested,
                old,
                new,
                after,
                ..change(path, kind)
            };
            (self.emit)(TreeChange {
                change,
                old: nodes(is_deleted),
                new: nodes(!is_deleted),
            });
        }
        let children = node.children();
        let nodes = distinct(children);
        for child in nodes {
            // Keys are in the path.
            if found.keys().contains(&child) {
                continue;
            }
            let is_ordered = self.is_ordered_by_user(child);
            let mut previous: Option<Keys> = None;
            for (keys, one) in self.instances(child, children) {
                let point = previous.clone().map_or(Point::First, Point::After);
                let after = (is_ordered && kind == ChangeKind::Created).then_some(point);
                let path = path.child(child, keys.clone());
                self.subtree(&path, one, kind, after, is_nested || is_reported);
                previous = Some(keys);
            }
        }
    }

    /// Whether the user decides the order of the entries, which have keys.
    fn is_ordered_by_user(&self, node: NodeId) -> bool {
        if self.has_positions(node) {
            return false;
        }
        let node = self.schema.node(node);
        let ordering = match &node.kind {
            NodeKind::List(list) => list.ordering,
            NodeKind::LeafList(list) => list.ordering,
            _ => return false,
        };
        ordering == Ordering::User
    }

    /// Whether nothing but their positions distinguishes the entries of a list or leaf-list.
    fn has_positions(&self, node: NodeId) -> bool {
        let node = self.schema.node(node);
        match &node.kind {
            NodeKind::List(list) => list.keys.is_empty(),
            NodeKind::LeafList(_) => !node.is_config,
            _ => false,
        }
    }
}

fn places<'i>(instances: &'i Instances<'_>) -> HashMap<&'i Keys, usize> {
    keys_of(instances).zip(0..).collect()
}

fn keys_of<'i>(instances: &'i Instances<'_>) -> impl Iterator<Item = &'i Keys> {
    instances.iter().map(|(keys, _)| keys)
}

fn distinct(nodes: &[DataNode]) -> Vec<NodeId> {
    let mut ids: Vec<NodeId> = nodes.iter().map(|node| node.node).collect();
    ids.dedup();
    ids
}

fn change(path: &InstancePath, kind: ChangeKind) -> NodeChange {
    NodeChange {
        path: path.clone(),
        kind,
        is_nested: false,
        old: None,
        new: None,
        after: None,
    }
}

fn content(content: &Content) -> Option<ChangedContent> {
    match content {
        Content::Value(value) => Some(ChangedContent::Value(value.clone())),
        Content::Any(json) => Some(ChangedContent::Any(json.as_str().into())),
        Content::Inner(_) | Content::Bare => None,
    }
}
