//! Stamps: the resources that a commit must stamp, and those that it must not.

use std::collections::BTreeMap;

use espalier_store::{Commit, Stamp, View};
use espalier_yang::data::{DataNode, DataTree, Operation};
use espalier_yang::{InstancePath, Keys, NodeKind, Schema};

use crate::edit::Change;
use crate::reference::{entry_keys, has_content};

/// Every resource that has its own stamp, by its path as text: containers, entries with keys, and the
/// datastore; with its content.
pub fn resources(schema: &Schema, tree: &DataTree) -> BTreeMap<String, (InstancePath, DataTree)> {
    let mut found = BTreeMap::new();
    walk(schema, &InstancePath::root(), &tree.nodes, &mut found);
    found
}

fn walk(
    schema: &Schema,
    path: &InstancePath,
    nodes: &[DataNode],
    found: &mut BTreeMap<String, (InstancePath, DataTree)>,
) {
    let content = DataTree {
        nodes: nodes.to_vec(),
    };
    found.insert(path.to_instance_identifier(schema), (path.clone(), content));
    let all = path
        .target()
        .map_or(schema.roots(), |node| &schema.node(node).children);
    for &id in all {
        let node = schema.node(id);
        let mut instances = nodes.iter().filter(|one| one.node == id).peekable();
        match &node.kind {
            NodeKind::Container { .. } => {
                let is_there = instances.peek().is_some_and(|one| has_content(schema, one));
                if is_there || node.is_np_container() {
                    let children = instances.next().map_or(&[][..], DataNode::children);
                    walk(schema, &path.child(id, Keys::None), children, found);
                }
            }
            NodeKind::List(list) if !list.keys.is_empty() => {
                for one in instances {
                    let keys = Keys::Values(entry_keys(schema, one));
                    walk(schema, &path.child(id, keys), one.children(), found);
                }
            }
            _ => {}
        }
    }
}

pub fn read(
    view: &View,
    resources: &BTreeMap<String, (InstancePath, DataTree)>,
) -> BTreeMap<String, Stamp> {
    let stamp = |(name, (path, _)): (&String, &(InstancePath, DataTree))| {
        (name.clone(), view.stamp(path).unwrap())
    };
    resources.iter().map(stamp).collect()
}

/// Compares the stamps before and after a commit.
pub fn compare(
    schema: &Schema,
    (old, old_stamps): (&DataTree, &BTreeMap<String, Stamp>),
    (new, new_stamps): (&DataTree, &BTreeMap<String, Stamp>),
    changes: &[Change],
    commit: Commit,
) {
    let (old, new) = (resources(schema, old), resources(schema, new));
    for (name, (path, content)) in &new {
        let stamp = new_stamps[name];
        let before = old.get(name);
        let is_same = before.is_some_and(|(_, before)| before.is_equivalent(content, schema));
        if !is_same {
            assert_eq!(stamp.version, commit.version, "{name} changed");
            assert_eq!(stamp.time, commit.time, "{name} changed");
        } else if !content.nodes.is_empty()
            && !changes.iter().any(|change| names(schema, change, path))
        {
            assert_eq!(stamp, old_stamps[name], "{name} was not touched");
        }
        assert!(stamp.version <= commit.version);
    }
}

/// Whether a change affects a resource, one of its descendants, or an ancestor that it replaces.
fn names(schema: &Schema, change: &Change, path: &InstancePath) -> bool {
    match change {
        Change::ReplaceAll(_) => true,
        Change::Delete(at) | Change::Remove(at) => meets(at, path),
        Change::Tree(at, tree, operation) => {
            let mut nodes = tree.nodes.iter();
            let is_around = path.steps.len() <= at.steps.len() && meets(at, path);
            is_around || nodes.any(|data| is_named(schema, at, data, *operation, path))
        }
    }
}

/// Whether one path is a prefix of the other, or both are equal.
fn meets(one: &InstancePath, other: &InstancePath) -> bool {
    let mut steps = one.steps.iter().zip(&other.steps);
    steps.all(|(one, other)| {
        one.node == other.node && (one.keys == other.keys || one.keys == Keys::None)
    })
}

fn is_named(
    schema: &Schema,
    at: &InstancePath,
    data: &DataNode,
    inherited: Operation,
    path: &InstancePath,
) -> bool {
    let keys = match entry_keys(schema, data) {
        keys if keys.is_empty() => Keys::None,
        keys => Keys::Values(keys),
    };
    let at = at.child(data.node, keys);
    let operation = data.operation().unwrap_or(inherited);
    let descends = matches!(operation, Operation::Merge | Operation::None);
    let mut children = data.children().iter();
    meets(&at, path)
        && (path.steps.len() <= at.steps.len()
            || !descends
            || children.any(|child| is_named(schema, &at, child, operation, path)))
}
