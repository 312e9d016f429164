//! Maps the nodes of an old schema to those of a new one.

use espalier_yang::schema::{InstanceIdentifierTargets, Node, SchemaPair};
use espalier_yang::{ModuleId, NodeId, NodeKind, Schema};

use crate::compiled_schema_set::Compiled;
use crate::node_numbers::is_data;

/// The nodes of an old schema in a new one.
#[derive(Debug)]
pub(crate) struct NodeMapping {
    /// The new node by the id of the old one.
    nodes: Vec<Option<NodeId>>,
    /// Whether a node and its descendants have the same storage format, by the id of the old one.
    same: Vec<bool>,
    is_same: bool,
}

impl NodeMapping {
    /// Between two schemas of one store. Nodes correspond if they have the same name, module and ancestors,
    /// regardless of their kind; their local id is then the same.
    pub fn between(old: &Compiled, new: &Compiled) -> Self {
        let nodes = matching(&old.schema, &new.schema);
        let unchanged = same_below(old, new, &nodes, InstanceIdentifierTargets::Unchanged);
        let roots = || data_roots(&old.schema);
        if roots().all(|root| unchanged[root.0 as usize]) {
            return Self {
                nodes,
                same: unchanged,
                is_same: true,
            };
        }
        let same = same_below(old, new, &nodes, InstanceIdentifierTargets::Changed);
        Self {
            nodes,
            same,
            is_same: false,
        }
    }

    /// From a schema to itself, so that every value is read again.
    pub fn identity(compiled: &Compiled) -> Self {
        let count = compiled.schema.nodes().len();
        Self {
            nodes: (0..count).map(|id| Some(NodeId(id as u32))).collect(),
            same: vec![false; count],
            is_same: false,
        }
    }

    /// The new node of an old one; none if it is removed.
    pub fn new_node(&self, old: NodeId) -> Option<NodeId> {
        self.nodes[old.0 as usize]
    }

    /// Whether an old node and its descendants have the same storage format in both schemas.
    pub fn is_same_below(&self, old: NodeId) -> bool {
        self.same[old.0 as usize]
    }

    /// Whether everything in the old schema has the same storage format in the new one.
    pub fn is_same(&self) -> bool {
        self.is_same
    }
}

fn data_roots(schema: &Schema) -> impl Iterator<Item = NodeId> + '_ {
    let roots = schema.roots().iter().copied();
    roots.filter(|&root| is_data(schema, root))
}

fn matching(old: &Schema, new: &Schema) -> Vec<Option<NodeId>> {
    let modules: Vec<Option<ModuleId>> = old
        .modules()
        .iter()
        .map(|module| new.module_by_name(&module.name))
        .collect();
    let mut nodes: Vec<Option<NodeId>> = Vec::with_capacity(old.nodes().len());
    // Nodes come after their parents.
    for node in old.nodes() {
        let parent = match node.parent {
            Some(parent) => nodes[parent.0 as usize].map(Some),
            None => Some(None),
        };
        let module = modules[usize::from(node.module.0)];
        let found = parent.zip(module).and_then(|(parent, module)| {
            let found = new.child(parent, module, &node.name)?;
            (is_data(old, node.id) && is_data(new, found)).then_some(found)
        });
        nodes.push(found);
    }
    nodes
}

fn same_below(
    old: &Compiled,
    new: &Compiled,
    nodes: &[Option<NodeId>],
    named_nodes: InstanceIdentifierTargets,
) -> Vec<bool> {
    let revisions = SchemaPair {
        old: &old.schema,
        new: &new.schema,
        named_nodes,
    };
    let mut same = vec![true; nodes.len()];
    for index in (0..nodes.len()).rev() {
        let node = old.schema.node(NodeId(index as u32));
        if !is_data(&old.schema, node.id) {
            continue;
        }
        same[index] = nodes[index].is_some_and(|found| {
            has_same_storage(&revisions, node, new.schema.node(found))
                && node.children.iter().all(|child| same[child.0 as usize])
        });
    }
    same
}

fn has_same_storage(revisions: &SchemaPair<'_>, old: &Node, new: &Node) -> bool {
    let alike = match (&old.kind, &new.kind) {
        (NodeKind::Container { presence: old }, NodeKind::Container { presence: new }) => {
            old == new
        }
        (NodeKind::List(_), NodeKind::List(_)) => {
            key_names(revisions.old, old).eq(key_names(revisions.new, new))
        }
        (NodeKind::Leaf(old), NodeKind::Leaf(new))
        | (NodeKind::LeafList(old), NodeKind::LeafList(new)) => {
            revisions.preserves_values(&old.value_type, &new.value_type)
        }
        (NodeKind::AnyData, NodeKind::AnyData) | (NodeKind::AnyXml, NodeKind::AnyXml) => true,
        _ => false,
    };
    alike
        && old.is_positional() == new.is_positional()
        && old.is_config == new.is_config
        && case_names(revisions.old, old).eq(case_names(revisions.new, new))
}

fn key_names<'s>(schema: &'s Schema, node: &'s Node) -> impl Iterator<Item = &'s str> {
    node.keys().iter().map(|&key| &*schema.node(key).name)
}

/// The choices and cases of a node, by name.
fn case_names<'s>(schema: &'s Schema, node: &'s Node) -> impl Iterator<Item = [&'s str; 4]> {
    node.cases.iter().map(|of| {
        let choice = &schema.choices()[of.choice as usize];
        let case = &choice.cases[of.case as usize];
        [
            &*choice.name,
            &*schema.module(choice.module).name,
            &*case.name,
            &*schema.module(case.module).name,
        ]
    })
}

/// Whether two nodes have the same kind of instances: a leaf is not a leaf-list, a list not a container.
pub(super) fn is_same_kind(old: &Node, new: &Node) -> bool {
    matches!(
        (&old.kind, &new.kind),
        (NodeKind::Container { .. }, NodeKind::Container { .. })
            | (NodeKind::List(_), NodeKind::List(_))
            | (NodeKind::Leaf(_), NodeKind::Leaf(_))
            | (NodeKind::LeafList(_), NodeKind::LeafList(_))
            | (
                NodeKind::AnyData | NodeKind::AnyXml,
                NodeKind::AnyData | NodeKind::AnyXml
            )
    )
}

/// Whether a node is a container with presence; the datastore is none.
pub(super) fn is_presence_container(schema: &Schema, node: Option<NodeId>) -> bool {
    let kind = node.map(|node| &schema.node(node).kind);
    matches!(kind, Some(NodeKind::Container { presence: true }))
}

/// The kind of a node, for messages.
pub(super) fn kind_name(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Container { .. } => "a container",
        NodeKind::List(_) => "a list",
        NodeKind::Leaf(_) => "a leaf",
        NodeKind::LeafList(_) => "a leaf-list",
        NodeKind::AnyData => "anydata",
        NodeKind::AnyXml => "anyxml",
        _ => "no data node",
    }
}
