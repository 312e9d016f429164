//! The schema as a whole: modules, nodes, identities, mount points.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::node_table::{ChildNames, NodeTable};
use crate::schema::{CaseChoice, Constraint, Node, NodeId, Status};

/// The id of a module: an index into one [`Schema`] value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ModuleId(pub u16);

/// The id of an identity: an index into one [`Schema`] value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct IdentityId(pub u32);

/// A YANG module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Its name.
    pub name: Box<str>,
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its prefix.
    pub prefix: Box<str>,
    /// Its latest revision.
    pub revision: Option<Box<str>>,
    /// Whether its nodes are implemented (false: imported for its definitions only).
    pub is_implemented: bool,
    /// Submodules: name and revision.
    pub submodules: Vec<(Box<str>, Option<Box<str>>)>,
    /// The names of the enabled features.
    pub features: Vec<Box<str>>,
    /// Names of the modules that deviate this one.
    pub deviated_by: Vec<Box<str>>,
    /// Names of the metadata annotations that it defines (RFC 7952 §3).
    pub annotations: Vec<Box<str>>,
}

/// An identity and its derived identities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The module that defines it.
    pub module: ModuleId,
    /// Its name.
    pub name: Box<str>,
    /// Every identity derived from it, directly or not, without itself; sorted.
    pub derived: Vec<IdentityId>,
}

/// A `choice` (RFC 7950 §7.9). It has no data of its own: the nodes of its cases refer to it in [`Node::cases`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// Its name.
    pub name: Box<str>,
    /// The module of its namespace.
    pub module: ModuleId,
    /// The data node that contains it; `None` at the top level.
    pub parent: Option<NodeId>,
    /// The enclosing choices, outermost first.
    pub enclosing: Vec<CaseChoice>,
    /// `mandatory true`.
    pub is_mandatory: bool,
    /// `config true`.
    pub is_config: bool,
    /// `default`: the index of the case.
    pub default_case: Option<u32>,
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// Its own and inherited `when` statements; levels count from `parent`.
    pub whens: Vec<Constraint>,
    /// `status`.
    pub status: Status,
    /// `description`.
    pub description: Option<Box<str>>,
}

/// A `case` of a choice, or the implicit case of a shorthand (RFC 7950 §7.9.2).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Its name.
    pub name: Box<str>,
    /// The module of its namespace.
    pub module: ModuleId,
}

/// A node with a mount point, and the schemas of its instances. The mounted top-level nodes are children of the node,
/// operations among them as actions (RFC 8528 §5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mount {
    /// The container or list.
    pub node: NodeId,
    /// The label: the argument of `yangmnt:mount-point`.
    pub label: Box<str>,
    /// The leaf whose value is the name of the schema; `None` if all instances have the same (`shared-schema`).
    pub selector: Option<NodeId>,
    /// The `parent-reference`s of a shared schema.
    pub parent_references: Vec<Box<str>>,
    /// The schemas: exactly one if there is no selector.
    pub schemas: Vec<MountedSchema>,
}

/// A mounted schema.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MountedSchema {
    /// The value of the selector; empty for a shared schema.
    pub name: Box<str>,
    /// Its modules, without those of schemas mounted inside.
    pub modules: Vec<Module>,
    /// The top-level nodes, as children of the node with the mount point.
    pub roots: Vec<NodeId>,
}

/// Modules by name or by namespace.
pub(super) type ModuleIndex = FxHashMap<Box<str>, ModuleId>;

/// Identities of all modules by name.
pub(super) type IdentityIndex = FxHashMap<Box<str>, SmallVec<[IdentityId; 1]>>;

/// Indexes modules by name and by namespace. Of several revisions, the index has the implemented one, otherwise the
/// latest; `modules` are sorted by name and revision.
pub(super) fn index_modules(modules: &[Module]) -> (ModuleIndex, ModuleIndex) {
    let (mut names, mut namespaces) = (ModuleIndex::default(), ModuleIndex::default());
    for (index, module) in modules.iter().enumerate() {
        let id = ModuleId(index as u16);
        let other: Option<&ModuleId> = names.get(&module.name);
        let is_implemented = other.is_some_and(|id| modules[usize::from(id.0)].is_implemented);
        if module.is_implemented || !is_implemented {
            names.insert(module.name.clone(), id);
            namespaces.insert(module.namespace.clone(), id);
        }
    }
    (names, namespaces)
}

/// Indexes identities by name.
pub(super) fn index_identities(identities: &[Identity]) -> IdentityIndex {
    let mut names = IdentityIndex::default();
    for (id, identity) in (0..).map(IdentityId).zip(identities) {
        names.entry(identity.name.clone()).or_default().push(id);
    }
    names
}

/// A compiled set of modules. Immutable; shared by reference or `Arc`.
#[derive(Debug, Default)]
pub struct Schema {
    pub(crate) modules: Vec<Module>,
    /// The modules after these are in mounted schemas only.
    pub(super) own_modules: usize,
    pub(super) nodes: NodeTable,
    pub(crate) identities: Vec<Identity>,
    pub(crate) choices: Vec<Choice>,
    pub(super) mounts: Vec<Mount>,
    pub(crate) roots: Vec<NodeId>,
    pub(crate) operations: Vec<NodeId>,
    pub(crate) notifications: Vec<NodeId>,
    pub(super) module_names: ModuleIndex,
    pub(super) module_namespaces: ModuleIndex,
    pub(super) identity_names: IdentityIndex,
    pub(super) top_names: ChildNames,
}

impl Schema {
    /// The node with an id of this schema.
    ///
    /// # Panics
    /// If the id is of another schema.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id)
    }

    /// Every node, each after its parent.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        (0..self.nodes.len()).map(|index| self.nodes.get(NodeId(index as u32)))
    }

    /// The top-level data nodes.
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// The RPCs.
    pub fn operations(&self) -> &[NodeId] {
        &self.operations
    }

    /// The top-level notifications.
    pub fn notifications(&self) -> &[NodeId] {
        &self.notifications
    }

    /// The modules. A module that only mounted schemas have is last, and stands for all revisions of it there.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The modules without those of mounted schemas.
    pub fn own_modules(&self) -> &[Module] {
        &self.modules[..self.own_modules]
    }

    /// The mount points that have a schema, outer ones first.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The module with an id of this schema.
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[usize::from(id.0)]
    }

    /// The implemented module with a name.
    pub fn module_by_name(&self, name: &str) -> Option<ModuleId> {
        self.module_names.get(name).copied()
    }

    /// The implemented module with a namespace.
    pub fn module_by_namespace(&self, namespace: &str) -> Option<ModuleId> {
        self.module_namespaces.get(namespace).copied()
    }

    /// The identity with an id of this schema.
    pub fn identity(&self, id: IdentityId) -> &Identity {
        &self.identities[id.0 as usize]
    }

    /// The identity with a module and name.
    pub fn identity_by_name(&self, module: ModuleId, name: &str) -> Option<IdentityId> {
        let named = self.identity_names.get(name)?.iter().copied();
        named
            .into_iter()
            .find(|&id| self.identity(id).module == module)
    }

    /// Every definition of an identity: mounted schemas may derive other identities from it.
    pub fn identities_by_name<'a>(
        &'a self,
        module: ModuleId,
        name: &str,
    ) -> impl Iterator<Item = &'a Identity> {
        let named = self.identity_names.get(name).into_iter().flatten();
        let identities = named.map(|&id| self.identity(id));
        identities.filter(move |identity| identity.module == module)
    }

    /// The choices, indexed by [`crate::schema::CaseChoice`].
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The child of `parent` (for `None`: a top-level data node, RPC or notification) with this name in the namespace
    /// of `module`.
    pub fn child(&self, parent: Option<NodeId>, module: ModuleId, name: &str) -> Option<NodeId> {
        self.named(parent, name)
            .find(|&id| self.node(id).module == module)
    }

    /// The children of `parent` with this name, in any namespace.
    pub fn named<'a>(
        &'a self,
        parent: Option<NodeId>,
        name: &str,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let names = parent.map_or(&self.top_names, |id| self.nodes.names(id));
        names.get(name).iter().copied()
    }

    /// The names of the children of `parent` (not of choices and cases), unordered.
    pub fn child_names(&self, parent: Option<NodeId>) -> impl Iterator<Item = &str> {
        let names = parent.map_or(&self.top_names, |id| self.nodes.names(id));
        names.iter()
    }

    /// The name as RFC 7951 §4 writes it in `parent`: with the module's name if the namespace differs from the
    /// parent's.
    pub fn qualified_name(&self, id: NodeId) -> String {
        let node = self.node(id);
        match node.parent {
            Some(parent) if self.node(parent).module == node.module => node.name.to_string(),
            _ => format!("{}:{}", self.module(node.module).name, node.name),
        }
    }

    /// The schema path, as in `/ietf-interfaces:interfaces/interface/name`.
    pub fn path(&self, id: NodeId) -> String {
        let above = self
            .node(id)
            .parent
            .map(|parent| self.path(parent))
            .unwrap_or_default();
        format!("{above}/{}", self.qualified_name(id))
    }
}
