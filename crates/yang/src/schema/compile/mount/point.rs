//! A node with a mount point, while schemas are mounted there.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::absolute_paths::ParentReference;
use super::graft::Graft;
use crate::schema::{Choice, ModuleId, NodeId, Schema, Secrecy, Type};

/// The schemas that have a node, choice or `must`: their numbers, ascending.
pub(super) type Owners = Vec<usize>;

/// A node with a mount point.
pub(super) struct Point<'s> {
    pub(super) schema: &'s mut Schema,
    pub(super) node: NodeId,
    pub(super) references: Vec<ParentReference>,
    /// The number of mounted schemas.
    pub(super) schemas: usize,
    /// The first mounted node and choice.
    pub(super) first_node: usize,
    pub(super) first_choice: usize,
    /// The mounted nodes by parent, module and name.
    pub(super) named: FxHashMap<(NodeId, ModuleId, Box<str>), NodeId>,
    /// By the number of a mounted node.
    pub(super) nodes: Vec<NodeOwners>,
    /// By the number of a mounted choice.
    pub(super) choices: Vec<Owners>,
    /// Whether the mount point is in a subtree whose values are secret.
    pub(super) secrecy: Secrecy,
}

/// The schemas that have a node and its constraints.
#[derive(Default)]
pub(super) struct NodeOwners {
    pub(super) node: Owners,
    /// For each `must` of the node.
    pub(super) musts: Vec<Owners>,
    /// The types of a leaf or leaf-list.
    pub(super) types: Vec<(Arc<Type>, Owners)>,
}

impl<'s> Point<'s> {
    /// A node at which nothing is mounted yet.
    pub(super) fn new(
        schema: &'s mut Schema,
        node: NodeId,
        references: &[Box<str>],
    ) -> Result<Self, String> {
        let references = references.iter();
        let references = references
            .map(|text| ParentReference::parse(text, schema))
            .collect::<Result<_, _>>()?;
        let mut above = std::iter::successors(Some(node), |&id| schema.node(id).parent);
        let is_secret = above.any(|id| {
            let mut extensions = schema.node(id).extensions.iter();
            extensions.any(|(name, _)| **name == *"ietf-netconf-acm:default-deny-all")
        });
        Ok(Self {
            first_node: schema.nodes.len(),
            first_choice: schema.choices.len(),
            schema,
            node,
            references,
            schemas: 0,
            named: FxHashMap::default(),
            nodes: Vec::new(),
            choices: Vec::new(),
            secrecy: match is_secret {
                true => Secrecy::Secret,
                false => Secrecy::Open,
            },
        })
    }

    /// Mounts a schema, without the top-level nodes of some modules; returns the other top-level nodes.
    pub(super) fn add(
        &mut self,
        mounted: &Schema,
        without: &[Box<str>],
    ) -> Result<Vec<NodeId>, String> {
        let roots = Graft::new(self, mounted, without)?.copy()?;
        self.schemas += 1;
        Ok(roots)
    }

    /// The child of a node that is mounted too, or of the mount point.
    pub(super) fn mounted_child(
        &self,
        parent: NodeId,
        module: ModuleId,
        name: &str,
    ) -> Option<NodeId> {
        self.named.get(&(parent, module, name.into())).copied()
    }

    /// The choice of an earlier schema that is the same.
    pub(super) fn mounted_choice(&self, choice: &Choice) -> Option<usize> {
        if self.schemas == 0 {
            return None;
        }
        let others = self.schema.choices.iter().enumerate();
        let mut others = others.skip(self.first_choice);
        let found = others.find(|(_, other)| {
            (other.parent, other.module, &other.name)
                == (choice.parent, choice.module, &choice.name)
        });
        found.map(|(index, _)| index)
    }
}
