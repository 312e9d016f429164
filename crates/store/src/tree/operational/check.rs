//! Checks the registration path and the data of providers, so that a faulty provider cannot break a read.

use espalier_yang::data::{Content, DataNode};
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, Schema};

/// Whether a path follows a schema.
pub(super) fn check_path(schema: &Schema, path: &InstancePath) -> Result<(), DataError> {
    let mut parent = None;
    for step in &path.steps {
        if !is_child(schema, parent, step.node) {
            let message = "the path does not follow the schema";
            return Err(DataError::new(ErrorTag::InvalidValue, message));
        }
        parent = Some(step.node);
    }
    Ok(())
}

/// Whether every node is in the schema, at its place.
pub(super) fn check_nodes(schema: &Schema, nodes: &[DataNode]) -> Result<(), DataError> {
    let mut stack: Vec<(Option<NodeId>, &[DataNode])> = vec![(None, nodes)];
    while let Some((parent, nodes)) = stack.pop() {
        for node in nodes {
            if !is_child(schema, parent, node.node) {
                let message =
                    "the provider returned a node that is not in the schema at this place";
                let error = DataError::new(ErrorTag::UnknownElement, message);
                return Err(match parent {
                    Some(parent) => error.at(schema.path(parent)),
                    None => error,
                });
            }
            stack.push((Some(node.node), node.children()));
        }
    }
    Ok(())
}

fn is_child(schema: &Schema, parent: Option<NodeId>, node: NodeId) -> bool {
    let is_in_range = (node.0 as usize) < schema.nodes().len();
    is_in_range && schema.node(node).parent == parent
}

/// Whether the data is only at a path, or leads to it.
pub(super) fn check_registered_path(
    schema: &Schema,
    nodes: &[DataNode],
    at: &InstancePath,
) -> Result<(), DataError> {
    let mut stack = vec![(nodes, 0)];
    while let Some((nodes, depth)) = stack.pop() {
        let Some(step) = at.steps.get(depth) else {
            continue;
        };
        for node in nodes {
            let leaf = schema.node(node.node).as_value();
            if depth > 0 && leaf.is_some_and(|leaf| leaf.is_key) {
                continue;
            }
            if node.node != step.node || !is_entry(schema, node, &step.keys) {
                let message = "the provider is not registered for this node";
                return Err(
                    DataError::new(ErrorTag::UnknownElement, message).at(schema.path(node.node))
                );
            }
            if let Content::Inner(children) = &node.content {
                stack.push((children, depth + 1));
            }
        }
    }
    Ok(())
}

/// Whether a node is the entry with the given keys.
fn is_entry(schema: &Schema, node: &DataNode, keys: &Keys) -> bool {
    match keys {
        Keys::None | Keys::Position(_) => true,
        Keys::Values(values) => match node.value() {
            Some(value) => values.first() == Some(value),
            None => node
                .keys(schema)
                .is_some_and(|keys| keys.into_iter().eq(values)),
        },
    }
}
