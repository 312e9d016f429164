//! Applies a diff to a naive tree.

use espalier_store::{ChangeKind, ChangedContent, Diff, NodeChange, Point};
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{Keys, NodeId, Schema, Step, Value};

use crate::reference::{children_mut, position};

/// The tree with the changes of a diff.
pub fn applied(schema: &Schema, tree: &DataTree, diff: &Diff) -> DataTree {
    let changes: Vec<NodeChange> = diff.changes().collect();
    let mut nodes = tree.nodes.clone();
    let depths = changes.iter().map(|change| change.path.steps.len());
    for depth in 1..=depths.max().unwrap_or(0) {
        let here = changes
            .iter()
            .filter(|change| change.path.steps.len() == depth);
        let is_deletion = |change: &&NodeChange| change.kind == ChangeKind::Deleted;
        let (deletions, others): (Vec<_>, Vec<_>) = here.partition(is_deletion);
        for change in deletions.into_iter().rev().filter(|one| !one.is_nested) {
            let (siblings, step) = place(schema, &mut nodes, change);
            let index = instance(schema, siblings, step);
            let gone = siblings.remove(index.unwrap_or_else(|| panic!("{change:?}")));
            assert_eq!(gone.value(), value(change.old.as_ref()), "{change:?}");
        }
        for change in others {
            make(schema, &mut nodes, change);
        }
    }
    DataTree { nodes }
}

fn value(content: Option<&ChangedContent>) -> Option<&Value> {
    match content {
        Some(ChangedContent::Value(value)) => Some(value),
        _ => None,
    }
}

/// The siblings of a change's node. Containers without presence on the path are created.
fn place<'t, 'c>(
    schema: &Schema,
    mut nodes: &'t mut Vec<DataNode>,
    change: &'c NodeChange,
) -> (&'t mut Vec<DataNode>, &'c Step) {
    let (last, around) = change.path.steps.split_last().expect("a node");
    for step in around {
        let index = match position(schema, nodes, step.node, &step.keys) {
            Some(index) => index,
            None => {
                assert!(schema.node(step.node).is_np_container(), "{change:?}");
                nodes.push(DataNode::new(step.node, Content::Inner(Vec::new())));
                nodes.len() - 1
            }
        };
        nodes = children_mut(&mut nodes[index]);
    }
    (nodes, last)
}

/// Entries of state leaf-lists have positions, which `position` looks for.
fn instance(schema: &Schema, siblings: &[DataNode], step: &Step) -> Option<usize> {
    position(schema, siblings, step.node, &step.keys)
}

fn make(schema: &Schema, nodes: &mut Vec<DataNode>, change: &NodeChange) {
    let (siblings, step) = place(schema, nodes, change);
    let found = instance(schema, siblings, step);
    let content = |content: Option<&ChangedContent>| match content {
        Some(ChangedContent::Value(value)) => Content::Value(value.clone()),
        Some(ChangedContent::Any(json)) => Content::Any(json.to_string()),
        None => Content::Inner(keys(schema, step)),
    };
    match change.kind {
        ChangeKind::Created => {
            let is_by_position = matches!(step.keys, Keys::Position(_));
            assert!(found.is_none() || is_by_position, "{change:?}");
            let new = DataNode::new(step.node, content(change.new.as_ref()));
            let at = new_index(schema, siblings, change);
            siblings.insert(at, new);
        }
        ChangeKind::Modified => {
            let node = &mut siblings[found.unwrap_or_else(|| panic!("{change:?}"))];
            assert_eq!(node.content, content(change.old.as_ref()), "{change:?}");
            assert_ne!(change.old, change.new, "{change:?}");
            node.content = content(change.new.as_ref());
        }
        ChangeKind::Moved => {
            let moved = siblings.remove(found.unwrap_or_else(|| panic!("{change:?}")));
            let at = new_index(schema, siblings, change);
            siblings.insert(at, moved);
        }
        ChangeKind::Deleted => unreachable!(),
    }
}

fn keys(schema: &Schema, step: &Step) -> Vec<DataNode> {
    match &step.keys {
        Keys::Values(values) => {
            let names: &[NodeId] = schema.node(step.node).keys();
            let leaves = names.iter().zip(values);
            leaves
                .map(|(&name, value)| DataNode::new(name, Content::Value(value.clone())))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The index of a new or moved entry.
fn new_index(schema: &Schema, siblings: &[DataNode], change: &NodeChange) -> usize {
    let step = change.path.steps.last().expect("a node");
    let mut instances = (0..siblings.len()).filter(|&index| siblings[index].node == step.node);
    let node = schema.node(step.node);
    match (&change.after, &step.keys) {
        (Some(Point::First), _) => instances.next().unwrap_or(siblings.len()),
        (Some(Point::After(keys)), _) => {
            let before = position(schema, siblings, step.node, keys);
            before.unwrap_or_else(|| panic!("{change:?}")) + 1
        }
        (None, Keys::Position(at)) => {
            let index = instances.nth(*at as usize - 1);
            index.unwrap_or(siblings.len())
        }
        (None, _) => {
            assert!(!node.is_positional() || !node.is_config, "{change:?}");
            siblings.len()
        }
    }
}
