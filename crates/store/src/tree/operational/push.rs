//! Pushes data into the operational state datastore.

use std::borrow::Cow;

use espalier_yang::data::{Annotation, Content, DataNode, DataTree, Operation};
use espalier_yang::{InstancePath, Keys, Schema, Step};

use crate::tree::edit::{Edit, Request};

/// Converts edits to edits from the root. Ancestors of pushed data may exist only in the configuration, so
/// they are pushed as well.
pub(in crate::tree) fn edits_from_root<'e>(schema: &Schema, edits: &'e [Edit]) -> Cow<'e, [Edit]> {
    let is_from_root =
        |edit: &Edit| edit.at.is_root() || !matches!(edit.request, Request::Tree(..));
    if edits.iter().all(is_from_root) {
        return Cow::Borrowed(edits);
    }
    let converted = edits.iter().map(|edit| match &edit.request {
        Request::Tree(tree, operation) => {
            from_root(schema, &edit.at, tree, *operation).unwrap_or_else(|| edit.clone())
        }
        _ => edit.clone(),
    });
    Cow::Owned(converted.collect())
}

/// Converts an edit below a resource to one from the root; none if entries on the path have no keys.
fn from_root(
    schema: &Schema,
    at: &InstancePath,
    tree: &DataTree,
    operation: Operation,
) -> Option<Edit> {
    let mut nodes = tree.nodes.clone();
    for node in &mut nodes {
        if node.operation().is_none() {
            node.annotations.push(Annotation::Operation(operation));
        }
    }
    for step in at.steps.iter().rev() {
        let mut children = key_leaves(schema, step)?;
        children.append(&mut nodes);
        nodes.push(DataNode::new(step.node, Content::Inner(children)));
    }
    Some(Edit::merge(InstancePath::root(), DataTree { nodes }))
}

/// The key leaves of the entry of a step.
fn key_leaves(schema: &Schema, step: &Step) -> Option<Vec<DataNode>> {
    let keys = schema.node(step.node).keys();
    let values = match &step.keys {
        Keys::None if !schema.node(step.node).is_list() => &[][..],
        Keys::Values(values) if values.len() == keys.len() => values,
        _ => return None,
    };
    let pairs = keys.iter().zip(values);
    Some(
        pairs
            .map(|(&key, value)| DataNode::new(key, Content::Value(value.clone())))
            .collect(),
    )
}
