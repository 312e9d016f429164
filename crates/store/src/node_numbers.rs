//! The numbers of a schema's nodes in keys.

use espalier_yang::{NodeId, NodeKind, Schema};
use serde::{Deserialize, Serialize};

use crate::keys::LocalId;

/// No node has this number.
const UNKNOWN: NodeId = NodeId(u32::MAX);

/// Local ids of every data node of a schema, both ways.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    ids: Vec<LocalId>,
    /// For each node (last: the root), the start of its slice of `children`; then the end of the last slice.
    starts: Vec<u32>,
    /// The children of all nodes; each node is at the index of its local id, gaps are [`UNKNOWN`].
    children: Vec<NodeId>,
}

impl Layout {
    /// The layout of a schema whose data nodes have these local ids, in the order of the schema.
    pub fn new(schema: &Schema, ids: Vec<LocalId>) -> Self {
        let mut layout = Self {
            ids,
            starts: Vec::with_capacity(schema.nodes().len() + 2),
            children: Vec::new(),
        };
        for node in schema.nodes() {
            layout.place(&node.children);
        }
        layout.place(schema.roots());
        layout.starts.push(layout.children.len() as u32);
        layout
    }

    /// Whether its numbers are in the valid range for a schema.
    pub fn is_of(&self, schema: &Schema) -> bool {
        let nodes = schema.nodes().len();
        let children = |&child: &NodeId| child == UNKNOWN || (child.0 as usize) < nodes;
        self.ids.len() == nodes
            && self.starts.len() == nodes + 2
            && self.starts.is_sorted()
            && self.starts.last() == Some(&(self.children.len() as u32))
            && self.children.iter().all(children)
    }

    /// The local ids for a schema with this many nodes, all unassigned.
    pub fn unknown_ids(nodes: usize) -> Vec<LocalId> {
        vec![LocalId(u32::MAX); nodes]
    }

    fn place(&mut self, siblings: &[NodeId]) {
        let start = self.children.len();
        self.starts.push(start as u32);
        for &node in siblings {
            let id = self.id(node).0;
            if id != u32::MAX {
                let index = start + id as usize;
                if self.children.len() <= index {
                    self.children.resize(index + 1, UNKNOWN);
                }
                self.children[index] = node;
            }
        }
    }

    /// The local id of a data node.
    pub fn id(&self, node: NodeId) -> LocalId {
        self.ids[node.0 as usize]
    }

    /// The local ids of all nodes, in the order of the schema.
    pub fn id_bytes(&self) -> Vec<u8> {
        let ids = self.ids.iter();
        ids.flat_map(|id| id.0.to_le_bytes()).collect()
    }

    /// The data nodes below `parent`, in the order of their local ids.
    pub fn children(&self, parent: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        let siblings = self.siblings(parent).iter().copied();
        siblings.filter(|&node| node != UNKNOWN)
    }

    /// The child of `parent` with a local id; `None` if the schema no longer has it.
    pub fn child(&self, parent: Option<NodeId>, id: LocalId) -> Option<NodeId> {
        let child = self.siblings(parent).get(id.0 as usize).copied();
        child.filter(|&node| node != UNKNOWN)
    }

    fn siblings(&self, parent: Option<NodeId>) -> &[NodeId] {
        let index = parent.map_or(self.ids.len(), |parent| parent.0 as usize);
        &self.children[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Whether instances of a node are data of a datastore (not operations or notifications).
pub(crate) fn is_data(schema: &Schema, node: NodeId) -> bool {
    matches!(
        schema.node(node).kind,
        NodeKind::Container { .. }
            | NodeKind::List(_)
            | NodeKind::Leaf(_)
            | NodeKind::LeafList(_)
            | NodeKind::AnyData
            | NodeKind::AnyXml
    )
}
