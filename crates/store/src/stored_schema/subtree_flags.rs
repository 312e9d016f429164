//! Precomputed properties of the subtree of each schema node.

use espalier_yang::schema::Node;
use espalier_yang::{NodeId, Schema};
use serde::{Deserialize, Serialize};

/// Answers questions about whole subtrees of a schema without a walk.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubtreeFlags {
    /// For each node, whether its subtree (with the node itself) contains state.
    pub state: Vec<bool>,
    /// For each node, whether its subtree (with the node itself) contains a list or leaf-list kept in order.
    pub order: Vec<bool>,
}

impl SubtreeFlags {
    /// The flags of a schema.
    pub fn of(schema: &Schema) -> Self {
        Self {
            state: nodes_with(schema, |node| !node.is_config),
            order: nodes_with(schema, Node::is_positional),
        }
    }
}

/// For each node, whether a node of its subtree satisfies a condition.
fn nodes_with(schema: &Schema, is_match: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut matches = vec![false; schema.nodes().len()];
    // Parents come before their children, so in reverse order all children are done.
    for index in (0..matches.len()).rev() {
        let node = schema.node(NodeId(index as u32));
        matches[index] =
            is_match(node) || node.children.iter().any(|child| matches[child.0 as usize]);
    }
    matches
}
