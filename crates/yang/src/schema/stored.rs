//! The stored form of a schema: parts that are decoded one by one.
//!
//! Part 0 is the head: everything but the nodes. Each further part has up to [`CHUNK_NODES`] nodes. All are in
//! `postcard` format, derived from the types themselves, so that no field can be omitted. Only the program that wrote
//! the form can read it ([`CODE_DIGEST`]): the store checks the digest, and that the bytes are unchanged.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::id_bounds::IdBounds;
use super::model::{index_identities, index_modules};
use super::node_table::{CHUNK_NODES, ChildNames, NodeTable, StoredNodeTable};
use crate::schema::{
    Choice, Identity, Module, ModuleId, Mount, Node, NodeId, NodeKind, Schema, Status, Type,
};

/// A digest of the code that compiles schemas and of the built-in modules: two programs with the same digest compile
/// the same modules to the same schema.
pub const CODE_DIGEST: &str = env!("ESPALIER_CODE_DIGEST");

/// The error of writing or reading a stored form.
#[derive(Debug, Error)]
#[error("the stored form of a schema: {0}")]
pub struct StoredFormError(&'static str);

impl StoredFormError {
    pub(crate) fn new(reason: &'static str) -> Self {
        Self(reason)
    }
}

/// The parts of a stored schema. The schema keeps them for its lifetime and reads a part when one of its nodes is first
/// accessed, so reading must not fail.
pub trait SchemaParts: Send + Sync {
    /// The part with an index; `None` if there is none.
    fn part(&self, index: usize) -> Option<Vec<u8>>;
}

#[derive(Serialize, Deserialize)]
struct Head<'a> {
    modules: Cow<'a, [Module]>,
    identities: Cow<'a, [Identity]>,
    choices: Cow<'a, [Choice]>,
    own_modules: usize,
    mounts: Cow<'a, [Mount]>,
    roots: Cow<'a, [NodeId]>,
    operations: Cow<'a, [NodeId]>,
    notifications: Cow<'a, [NodeId]>,
    /// The names of `roots`, `operations` and `notifications`, in order.
    top_names: Vec<Box<str>>,
    /// The slot of each node in the chunks.
    slots: Vec<u32>,
}

/// Decoded nodes.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) nodes: Vec<Node>,
    /// The children of each, by name.
    pub(super) names: Vec<ChildNames>,
}

/// A chunk as it is stored; borrowed for writing.
#[derive(Serialize, Deserialize)]
struct StoredChunk<T, N, S> {
    /// The distinct types of leaves and leaf-lists.
    types: Vec<T>,
    /// The type index of each leaf and leaf-list, in order.
    leaf_types: Vec<u32>,
    nodes: Vec<N>,
    /// The names of the children of each node, in order.
    child_names: Vec<Vec<S>>,
}

impl Schema {
    /// Converts the schema to its stored form.
    ///
    /// # Errors
    /// If a number exceeds what the form can represent.
    pub fn to_parts(&self) -> Result<Vec<Vec<u8>>, StoredFormError> {
        // Field by field: a new field must be stored, or derived from the others on reading.
        let Self {
            modules,
            nodes,
            identities,
            choices,
            own_modules,
            mounts,
            roots,
            operations,
            notifications,
            module_names: _,
            module_namespaces: _,
            identity_names: _,
            top_names: _,
        } = self;
        let order = self.in_sibling_order();
        let mut slots = vec![0; nodes.len()];
        for (slot, id) in (0..).zip(&order) {
            slots[id.0 as usize] = slot;
        }
        let top = [roots, operations, notifications].into_iter().flatten();
        let head = Head {
            modules: modules.into(),
            identities: identities.into(),
            choices: choices.into(),
            own_modules: *own_modules,
            mounts: mounts.into(),
            roots: roots.into(),
            operations: operations.into(),
            notifications: notifications.into(),
            top_names: top.map(|&id| self.node(id).name.clone()).collect(),
            slots,
        };
        // The bounds are first: the rest is checked against them.
        let mut parts = vec![encode(&(self.bounds(), head))?];
        for ids in order.chunks(CHUNK_NODES) {
            parts.push(encode(&self.chunk_of(ids))?);
        }
        Ok(parts)
    }

    /// Loads a schema from its stored form. Nodes are decoded on first access.
    ///
    /// # Errors
    /// If the head is invalid.
    pub fn from_parts(parts: Arc<dyn SchemaParts>) -> Result<Self, StoredFormError> {
        let head = parts
            .part(0)
            .ok_or(StoredFormError("the head is missing"))?;
        let (bounds, _): (IdBounds, &[u8]) = postcard::take_from_bytes(&head)
            .map_err(|_| StoredFormError("the bounds are missing"))?;
        let (_, head): (IdBounds, Head<'static>) = bounds.decode(|| decode(&head))?;
        let (module_names, module_namespaces) = index_modules(&head.modules);
        let identity_names = index_identities(&head.identities);
        let cases = head.choices.iter().map(|choice| choice.cases.len());
        let nodes = StoredNodeTable::new(head.slots, (bounds, cases.collect()), parts);
        let top = [&head.roots, &head.operations, &head.notifications];
        let top = top.into_iter().flat_map(|ids| ids.iter().copied());
        let top_names = head.top_names.into_iter().zip(top).collect();
        let schema = Self {
            modules: head.modules.into_owned(),
            identities: head.identities.into_owned(),
            choices: head.choices.into_owned(),
            own_modules: head.own_modules,
            mounts: head.mounts.into_owned(),
            roots: head.roots.into_owned(),
            operations: head.operations.into_owned(),
            notifications: head.notifications.into_owned(),
            nodes: NodeTable::Stored(
                nodes.ok_or(StoredFormError("the slots are not a permutation"))?,
            ),
            module_names,
            module_namespaces,
            identity_names,
            top_names,
        };
        if schema.bounds() == bounds && schema.own_modules <= schema.modules.len() {
            return Ok(schema);
        }
        Err(StoredFormError("the bounds do not match"))
    }

    /// The numbers of modules, identities and nodes.
    pub(crate) fn bounds(&self) -> IdBounds {
        IdBounds {
            modules: self.modules.len() as u32,
            identities: self.identities.len() as u32,
            nodes: self.nodes.len() as u32,
        }
    }

    /// All nodes, siblings next to each other, each before its descendants.
    fn in_sibling_order(&self) -> Vec<NodeId> {
        let top = [&self.roots, &self.operations, &self.notifications];
        let mut order: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        order.extend(top.into_iter().flatten());
        let mut open: Vec<NodeId> = order.iter().rev().copied().collect();
        while let Some(id) = open.pop() {
            let children = &self.node(id).children;
            order.extend(children);
            open.extend(children.iter().rev());
        }
        order
    }

    fn chunk_of(&self, ids: &[NodeId]) -> StoredChunk<&Type, &Node, &str> {
        let mut chunk = StoredChunk {
            types: Vec::new(),
            leaf_types: Vec::new(),
            nodes: Vec::with_capacity(ids.len()),
            child_names: Vec::with_capacity(ids.len()),
        };
        let mut type_indexes: FxHashMap<*const Type, u32> = FxHashMap::default();
        for &id in ids {
            let node = self.node(id);
            if let Some(value) = node.as_value() {
                let index = type_indexes.entry(Arc::as_ptr(&value.value_type));
                chunk.leaf_types.push(*index.or_insert_with(|| {
                    chunk.types.push(&*value.value_type);
                    (chunk.types.len() - 1) as u32
                }));
            }
            chunk.nodes.push(node);
            let children = node.children.iter();
            let names = children.map(|&child| &*self.node(child).name);
            chunk.child_names.push(names.collect());
        }
        chunk
    }
}

impl Chunk {
    /// Placeholder nodes that no lookup finds.
    pub(super) fn placeholder(nodes: usize) -> Self {
        let node = Node {
            id: NodeId(0),
            kind: NodeKind::AnyData,
            name: "".into(),
            module: ModuleId(0),
            parent: None,
            children: Vec::new(),
            cases: Vec::new(),
            is_config: false,
            is_mandatory: false,
            status: Status::Obsolete,
            description: None,
            musts: Vec::new(),
            whens: Vec::new(),
            extensions: Vec::new(),
        };
        Self {
            nodes: vec![node; nodes],
            names: vec![ChildNames::default(); nodes],
        }
    }
}

/// Decodes the nodes of a part; `None` if it is not a chunk of this number of nodes.
pub(super) fn decode_chunk(part: &[u8], nodes: usize) -> Option<Chunk> {
    let mut stored: StoredChunk<Type, Node, Box<str>> = decode(part).ok()?;
    if stored.nodes.len() != nodes || stored.child_names.len() != nodes {
        return None;
    }
    let types: Vec<Arc<Type>> = stored.types.into_iter().map(Arc::new).collect();
    let mut leaf_types = stored.leaf_types.into_iter();
    let mut names = Vec::with_capacity(nodes);
    for (node, child_names) in stored.nodes.iter_mut().zip(stored.child_names) {
        if let NodeKind::Leaf(value) | NodeKind::LeafList(value) = &mut node.kind {
            value.value_type = Arc::clone(types.get(leaf_types.next()? as usize)?);
        }
        let children = node.children.iter().copied();
        names.push(child_names.into_iter().zip(children).collect());
    }
    Some(Chunk {
        nodes: stored.nodes,
        names,
    })
}

/// Encodes a part of a stored form, or data that is stored with it.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, StoredFormError> {
    postcard::to_allocvec(value).map_err(|_| StoredFormError("encoding failed"))
}

/// Decodes what [`encode`] wrote; trailing bytes are an error.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, StoredFormError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(StoredFormError("the bytes are malformed")),
    }
}
