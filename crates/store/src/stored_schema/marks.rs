//! Precomputed properties of the subtree of each schema node.

use espalier_yang::schema::Node;
use espalier_yang::{NodeId, Schema};
use serde::{Deserialize, Serialize};

/// Answers questions about whole subtrees of a schema without a walk.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marks {
    /// For each node, whether its subtree (with the node itself) contains state.
    pub state: Vec<bool>,
    /// For each node, whether its subtree (with the node itself) contains a list or leaf-list kept in order.
    pub order: Vec<bool>,
}

impl Marks {
    /// The flags of a schema.
    pub fn of(schema: &Schema) -> Self {
        Self {
            state: nodes_with(schema, |node| !node.is_config),
            order: nodes_with(schema, Node::is_positional),
        }
    }
}

/// For each node, whether a node of its subtree satisfies a condition.
fn nodes_with(schema: &Schema, is_such: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut such = vec![false; schema.nodes().len()];
    // Parents come before their children, so in reverse order all children are done.
    for index in (0..such.len()).rev() {
        let node = schema.node(NodeId(index as u32));
        such[index] = is_such(node) || node.children.iter().any(|child| such[child.0 as usize]);
    }
    such
}
