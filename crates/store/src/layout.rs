//! How the nodes of one schema are numbered in keys.

use espalier_yang::{NodeId, NodeKind, Schema};

use crate::keys::LocalId;

const UNKNOWN: NodeId = NodeId(u32::MAX);

/// Local ids of every data node of a schema, both ways.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    ids: Vec<LocalId>,
    children: Vec<Vec<NodeId>>,
    roots: Vec<NodeId>,
}

impl Layout {
    /// A layout for a schema of this many nodes, to be filled with [`Self::assign`].
    pub fn new(nodes: usize) -> Self {
        Self {
            ids: vec![LocalId(u32::MAX); nodes],
            children: vec![Vec::new(); nodes],
            roots: Vec::new(),
        }
    }

    /// Numbers a node.
    pub fn assign(&mut self, parent: Option<NodeId>, node: NodeId, id: LocalId) {
        self.ids[node.0 as usize] = id;
        let siblings = match parent {
            Some(parent) => &mut self.children[parent.0 as usize],
            None => &mut self.roots,
        };
        let index = id.0 as usize;
        if siblings.len() <= index {
            siblings.resize(index + 1, UNKNOWN);
        }
        siblings[index] = node;
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
        let siblings = parent.map_or(&self.roots, |parent| &self.children[parent.0 as usize]);
        siblings.iter().copied().filter(|&node| node != UNKNOWN)
    }

    /// The child of `parent` with a local id; none where the schema no longer has it.
    pub fn child(&self, parent: Option<NodeId>, id: LocalId) -> Option<NodeId> {
        let siblings = parent.map_or(&self.roots, |parent| &self.children[parent.0 as usize]);
        siblings
            .get(id.0 as usize)
            .copied()
            .filter(|&node| node != UNKNOWN)
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
