//! The node table of a schema: fully in memory after a compilation, decoded on access if the schema is loaded from its
//! stored form.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::id_bounds::IdBounds;
use super::stored::{Chunk, SchemaParts, decode_chunk};
use crate::schema::{Node, NodeId};

/// The base-2 logarithm of the number of nodes per chunk.
const CHUNK_BITS: u32 = 8;

/// The index of the part with the first chunk.
const FIRST_PART: usize = 1;

/// The number of nodes per chunk; the last one may have fewer.
pub(super) const CHUNK_NODES: usize = 1 << CHUNK_BITS;

/// Children of one node by name: usually one per name, more if modules add nodes of the same name.
#[derive(Clone, Debug, Default)]
pub(super) struct ChildNames(FxHashMap<Box<str>, SmallVec<[NodeId; 1]>>);

impl ChildNames {
    /// The nodes with a name, in schema order.
    pub fn get(&self, name: &str) -> &[NodeId] {
        self.0.get(name).map_or(&[], |nodes| nodes.as_slice())
    }

    /// All names, unordered.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }
}

impl FromIterator<(Box<str>, NodeId)> for ChildNames {
    fn from_iter<I: IntoIterator<Item = (Box<str>, NodeId)>>(children: I) -> Self {
        let mut names = Self::default();
        for (name, id) in children {
            names.0.entry(name).or_default().push(id);
        }
        names
    }
}

/// Nodes by id, and the children of each by name.
#[derive(Debug)]
pub(super) enum NodeTable {
    /// All nodes and, after [`NodeTable::index`], the names of their children; both by id.
    Resident(Vec<Node>, Vec<ChildNames>),
    /// Chunks, each decoded at the first access to one of its nodes.
    Stored(StoredNodeTable),
}

impl Default for NodeTable {
    fn default() -> Self {
        Self::Resident(Vec::new(), Vec::new())
    }
}

impl NodeTable {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Resident(nodes, _) => nodes.len(),
            Self::Stored(stored) => stored.slots.len(),
        }
    }

    /// The node with an id.
    pub fn get(&self, id: NodeId) -> &Node {
        match self {
            Self::Resident(nodes, _) => &nodes[id.0 as usize],
            Self::Stored(stored) => {
                let (chunk, index) = stored.chunk(id);
                &chunk.nodes[index]
            }
        }
    }

    /// The children of a node, by name.
    pub fn names(&self, id: NodeId) -> &ChildNames {
        match self {
            Self::Resident(_, names) => &names[id.0 as usize],
            Self::Stored(stored) => {
                let (chunk, index) = stored.chunk(id);
                &chunk.names[index]
            }
        }
    }

    /// Appends a node. Only during compilation.
    pub fn push(&mut self, node: Node) {
        if let Self::Resident(nodes, _) = self {
            nodes.push(node);
        }
    }

    /// A mutable node. Only during compilation.
    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        match self {
            Self::Resident(nodes, _) => nodes.get_mut(id.0 as usize),
            Self::Stored(_) => None,
        }
    }

    /// Indexes the children of all nodes by name. Only during compilation.
    pub fn index(&mut self) {
        if let Self::Resident(nodes, names) = self {
            let child = |&id: &NodeId| (nodes[id.0 as usize].name.clone(), id);
            let all = nodes
                .iter()
                .map(|node| node.children.iter().map(child).collect());
            *names = all.collect();
        }
    }
}

/// Nodes in chunks with siblings next to each other, so that access to all children of a node decodes few chunks,
/// however many descendants each has. (By ids, the subtree of a child precedes its next sibling, except where schemas are
/// mounted.)
pub(super) struct StoredNodeTable {
    /// The slot of each node in the chunks.
    slots: Vec<u32>,
    chunks: Vec<OnceLock<Box<Chunk>>>,
    parts: Arc<dyn SchemaParts>,
    bounds: IdBounds,
    /// The number of cases of each choice.
    cases: Vec<usize>,
}

impl fmt::Debug for StoredNodeTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resident = self.chunks.iter().filter(|chunk| chunk.get().is_some());
        formatter
            .debug_struct("StoredNodeTable")
            .field("nodes", &self.slots.len())
            .field("chunks", &self.chunks.len())
            .field("resident", &resident.count())
            .finish()
    }
}

impl StoredNodeTable {
    /// Creates the table of a schema with these bounds and these case counts, from all parts but the first; `None` if
    /// `slots` is not a permutation.
    pub fn new(
        slots: Vec<u32>,
        (bounds, cases): (IdBounds, Vec<usize>),
        parts: Arc<dyn SchemaParts>,
    ) -> Option<Self> {
        let mut is_used = vec![false; slots.len()];
        for &slot in &slots {
            let used = is_used.get_mut(slot as usize)?;
            if std::mem::replace(used, true) {
                return None;
            }
        }
        let chunks = slots.len().div_ceil(CHUNK_NODES);
        Some(Self {
            slots,
            chunks: std::iter::repeat_with(OnceLock::new).take(chunks).collect(),
            parts,
            bounds,
            cases,
        })
    }

    fn chunk(&self, id: NodeId) -> (&Chunk, usize) {
        let slot = self.slots[id.0 as usize];
        let index = (slot >> CHUNK_BITS) as usize;
        let chunk = self.chunks[index].get_or_init(|| Box::new(self.decode(index)));
        (chunk, slot as usize % CHUNK_NODES)
    }

    #[cold]
    fn decode(&self, index: usize) -> Chunk {
        let nodes = (self.slots.len() - index * CHUNK_NODES).min(CHUNK_NODES);
        let part = self.parts.part(FIRST_PART + index);
        let decode = |part: Vec<u8>| self.bounds.decode(|| decode_chunk(&part, nodes));
        let decoded = part.and_then(decode);
        let decoded = decoded.filter(|chunk| self.is_valid(index, chunk));
        // The digest of the bytes was checked, so this only happens with forged bytes: the result is unnamed nodes,
        // which no lookup finds.
        decoded.unwrap_or_else(|| Chunk::placeholder(nodes))
    }

    /// Returns whether a chunk contains the expected nodes, each before its descendants, so that every walk up or down
    /// terminates.
    fn is_valid(&self, chunk: usize, decoded: &Chunk) -> bool {
        let first = chunk * CHUNK_NODES;
        let is_valid = |(index, node): (usize, &Node)| {
            let slot = self.slots.get(node.id.0 as usize);
            let case_of = |choice: u32| self.cases.get(choice as usize);
            slot.is_some_and(|&slot| slot as usize == first + index)
                && node.parent.is_none_or(|parent| parent < node.id)
                && node.children.iter().all(|&child| child > node.id)
                && node.keys().iter().all(|key| node.children.contains(key))
                && (node.cases.iter()).all(|case| {
                    case_of(case.choice).is_some_and(|&cases| (case.case as usize) < cases)
                })
        };
        decoded.nodes.iter().enumerate().all(is_valid)
    }
}
