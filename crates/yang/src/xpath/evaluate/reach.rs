//! The positions of a name in the schema, so that `//name` does not search elsewhere.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Evaluator;
use crate::instances::Instances;
use crate::schema::{Node, NodeId, NodeKind, Schema};
use crate::xpath::NodeTest;

/// The matches of the tests used so far.
pub(super) type Reaches = FxHashMap<NodeTest, Rc<Reach>>;

/// The schema nodes that pass a test, and the ancestors of such nodes.
#[derive(Debug)]
pub(super) enum Reach {
    /// All nodes.
    All,
    /// Every leaf: `text()`.
    Leaves,
    /// The nodes that pass, and the nodes that contain such nodes.
    Some {
        matches: FxHashSet<NodeId>,
        inside: FxHashSet<NodeId>,
    },
}

impl Reach {
    fn of(schema: &Schema, test: &NodeTest) -> Self {
        let (module, name) = match test {
            NodeTest::Node | NodeTest::AnyName => return Self::All,
            NodeTest::Text => return Self::Leaves,
            NodeTest::Name(module, name) => (module.as_deref(), Some(&**name)),
            NodeTest::AnyNameIn(module) => (Some(&**module), None),
            NodeTest::Comment | NodeTest::ProcessingInstruction(_) => return Self::none(),
        };
        let wanted_module = module.map(|module| schema.module_by_name(module));
        if wanted_module == Some(None) {
            return Self::none();
        }
        let is_wanted = |node: &&Node| {
            name.is_none_or(|name| *node.name == *name)
                && wanted_module
                    .flatten()
                    .is_none_or(|module| node.module == module)
                && !matches!(node.kind, NodeKind::Input | NodeKind::Output)
        };
        let mut matches = FxHashSet::default();
        let mut inside = FxHashSet::default();
        for node in schema.nodes().filter(is_wanted) {
            matches.insert(node.id);
            let mut above = node.parent;
            while let Some(id) = above.filter(|id| inside.insert(*id)) {
                above = schema.node(id).parent;
            }
        }
        Self::Some { matches, inside }
    }

    fn none() -> Self {
        Self::Some {
            matches: FxHashSet::default(),
            inside: FxHashSet::default(),
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
    pub(super) fn is_inside(&self, node: &Node) -> bool {
        match self {
            Self::All => !node.children.is_empty(),
            Self::Leaves => true,
            Self::Some { inside, .. } => inside.contains(&node.id),
        }
    }

    /// Returns whether a schema node or a descendant may pass.
    pub(super) fn contains(&self, id: NodeId) -> bool {
        match self {
            Self::All | Self::Leaves => true,
            Self::Some { matches, inside } => matches.contains(&id) || inside.contains(&id),
        }
    }
}

impl<T: Instances> Evaluator<'_, T> {
    /// The matches of a test.
    pub(super) fn reach(&self, test: &NodeTest) -> Rc<Reach> {
        if let Some(reach) = self.reaches.borrow().get(test) {
            return Rc::clone(reach);
        }
        let reach = Rc::new(Reach::of(self.schema(), test));
        self.reaches
            .borrow_mut()
            .insert(test.clone(), Rc::clone(&reach));
        reach
    }
}
