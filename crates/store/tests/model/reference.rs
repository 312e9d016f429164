//! The naive tree: vectors of nodes. Finding, comparing and removing in it.

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema, Value};

/// Whether two siblings are in different cases of one choice.
pub fn is_rival(schema: &Schema, one: NodeId, other: NodeId) -> bool {
    let (one, other) = (&schema.node(one).cases, &schema.node(other).cases);
    one.iter().any(|mine| {
        other
            .iter()
            .any(|theirs| mine.choice == theirs.choice && mine.case != theirs.case)
    })
}

pub fn is_leaf(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
    )
}

/// The identity of an entry of a list or leaf-list.
pub fn entry_keys(schema: &Schema, data: &DataNode) -> Vec<Value> {
    match data.value() {
        Some(value) => vec![value.clone()],
        None => data
            .keys(schema)
            .map(|keys| keys.into_iter().cloned().collect())
            .unwrap_or_default(),
    }
}

/// Whether a node has content that is stored.
pub fn has_content(schema: &Schema, data: &DataNode) -> bool {
    let is_np = schema.node(data.node).is_np_container();
    !is_np
        || data
            .children()
            .iter()
            .any(|child| has_content(schema, child))
}

/// Removes empty containers without presence.
pub fn prune(schema: &Schema, nodes: &mut Vec<DataNode>) {
    for node in nodes.iter_mut() {
        if let Content::Inner(children) = &mut node.content {
            prune(schema, children);
        }
    }
    nodes.retain(|node| has_content(schema, node));
}

pub fn children_mut(data: &mut DataNode) -> &mut Vec<DataNode> {
    match &mut data.content {
        Content::Inner(children) => children,
        _ => panic!("a leaf has no children"),
    }
}

/// The index of the instance of a step.
pub fn position(schema: &Schema, nodes: &[DataNode], node: NodeId, keys: &Keys) -> Option<usize> {
    let mut instances = (0..nodes.len()).filter(|&index| nodes[index].node == node);
    match keys {
        Keys::None => instances.next(),
        Keys::Position(at) => instances.nth(*at as usize - 1),
        Keys::Values(values) => {
            // Values of state leaf-lists do not identify a single entry.
            if schema.node(node).is_leaf_list() && !schema.node(node).is_config {
                return None;
            }
            instances.find(|&index| entry_keys(schema, &nodes[index]) == *values)
        }
    }
}

/// The nodes below the resource of a path; `None` if it does not exist. Containers without presence exist if
/// their parent does.
pub fn below<'t>(
    schema: &Schema,
    tree: &'t DataTree,
    path: &InstancePath,
) -> Option<&'t [DataNode]> {
    let mut nodes = tree.nodes.as_slice();
    for step in &path.steps {
        nodes = match position(schema, nodes, step.node, &step.keys) {
            Some(index) => nodes[index].children(),
            None if schema.node(step.node).is_np_container() => &[],
            None => return None,
        };
    }
    Some(nodes)
}

/// The instances of a path: several for a whole list.
pub fn find<'t>(
    schema: &Schema,
    tree: &'t DataTree,
    path: &InstancePath,
) -> Option<Vec<&'t DataNode>> {
    let (last, parent) = (path.steps.last()?, path.parent()?);
    let siblings = below(schema, tree, &parent)?;
    let node = schema.node(last.node);
    if last.keys == Keys::None && (node.is_list() || node.is_leaf_list()) {
        let all: Vec<_> = siblings
            .iter()
            .filter(|one| one.node == last.node)
            .collect();
        return (!all.is_empty()).then_some(all);
    }
    position(schema, siblings, last.node, &last.keys).map(|index| vec![&siblings[index]])
}
