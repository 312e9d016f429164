//! The positions of a name in the schema, so that `//name` does not search elsewhere.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::schema::{Node, NodeId, NodeKind, Schema};
use crate::xpath::NodeTest;

/// The matches of the tests used so far.
pub(super) type SchemaMatchesCache = FxHashMap<NodeTest, Rc<SchemaMatches>>;

/// The schema nodes that pass a test, and the ancestors of such nodes.
#[derive(Debug)]
pub(super) enum SchemaMatches {
    /// All nodes.
    All,
    /// Every leaf: `text()`.
    Leaves,
    /// The nodes that pass, and the nodes that contain such nodes.
    Some {
        matches: FxHashSet<NodeId>,
        containers: FxHashSet<NodeId>,
    },
}

impl SchemaMatches {
    pub(super) fn of(schema: &Schema, test: &NodeTest) -> Self {
        let (module, name) = match test {
            NodeTest::Node | NodeTest::AnyName => return Self::All,
            NodeTest::Text => return Self::Leaves,
            NodeTest::Name(module, name) => (module.as_deref(), Some(&**name)),
            NodeTest::AnyNameIn(module) => (Some(&**module), None),
            NodeTest::Comment | NodeTest::ProcessingInstruction(_) => return Self::none(),
        };
        let module_id = module.map(|module| schema.module_by_name(module));
        if module_id == Some(None) {
            return Self::none();
        }
        let is_match_of = |node: &&Node| {
            name.is_none_or(|name| *node.name == *name)
                && module_id
                    .flatten()
                    .is_none_or(|module| node.module == module)
                && !matches!(node.kind, NodeKind::Input | NodeKind::Output)
        };
        let mut matches = FxHashSet::default();
        let mut containers = FxHashSet::default();
        for node in schema.nodes().filter(is_match_of) {
            matches.insert(node.id);
            let mut parent = node.parent;
            while let Some(id) = parent.filter(|id| containers.insert(*id)) {
                parent = schema.node(id).parent;
            }
        }
        Self::Some {
            matches,
            containers,
        }
    }

    fn none() -> Self {
        Self::Some {
            matches: FxHashSet::default(),
            containers: FxHashSet::default(),
        }
    }

    /// Returns whether a schema node passes. (Leaves pass `text()` by their content.)
    pub(super) fn is_match(&self, id: NodeId) -> bool {
        match self {
            Self::All => true,
            Self::Leaves => false,
            Self::Some { matches, .. } => matches.contains(&id),
        }
    }

    /// Returns whether a child of a schema node may pass.
    pub(super) fn may_contain(&self, node: &Node) -> bool {
        match self {
            Self::All => !node.children.is_empty(),
            Self::Leaves => true,
            Self::Some { containers, .. } => containers.contains(&node.id),
        }
    }

    /// Returns whether a schema node or a descendant may pass.
    pub(super) fn contains(&self, id: NodeId) -> bool {
        match self {
            Self::All | Self::Leaves => true,
            Self::Some {
                matches,
                containers,
            } => matches.contains(&id) || containers.contains(&id),
        }
    }
}
