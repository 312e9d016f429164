//! The plan of a filter.

use std::collections::HashMap;

use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, Value};

use crate::error::Result;

/// The maximum number of nodes of a plan: the elements of a subtree filter with all nodes of their names, or the nodes
/// that an XPath expression selects.
pub const FILTER_PLAN_NODES_MAX: usize = 1_000_000;

/// The number of a node in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::tree) struct PlanId(u32);

/// The instances that a plan node stands for, in their parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::tree) enum Instance {
    /// Those with these keys: all entries for no keys, and those that begin with these values for a list in the order of
    /// its keys.
    Keys(Keys),
    /// The one with this key in the tree.
    TreeKey(Box<[u8]>),
}

impl Instance {
    /// Every instance.
    pub const ALL: Self = Self::Keys(Keys::None);
}

/// A condition on the leaves and leaf-lists of an instance: one of them has the value that it has here. Never true
/// without any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tree) struct ContentCondition(pub Vec<(NodeId, Value)>);

/// The part of a plan for some instances of a schema node.
#[derive(Clone, Debug)]
pub(in crate::tree) struct PlanNode {
    /// The schema node; `None` for the datastore.
    pub node: Option<NodeId>,
    pub instance: Instance,
    /// The conditions, which must all hold for an instance.
    pub conditions: Vec<ContentCondition>,
    /// Whether such an instance is selected with everything below it.
    pub selects: bool,
    /// The containers, lists and leaf-lists below, sorted by node.
    pub children: Vec<(NodeId, PlanId)>,
    /// The selected leaves below, sorted by node; with a value, the leaf is selected if it has that.
    pub leaves: Vec<(NodeId, Option<Value>)>,
}

/// What a filter selects.
#[derive(Clone, Debug, Default)]
pub(in crate::tree) struct Plan {
    nodes: Vec<PlanNode>,
    /// The nodes for the datastore, whose selections are united.
    roots: Vec<PlanId>,
    /// Children without conditions, which are shared.
    shared: HashMap<(PlanId, NodeId, Instance), PlanId>,
}

impl Plan {
    /// A plan that selects everything.
    pub fn everything() -> Self {
        let mut plan = Self::default();
        if let Ok(root) = plan.add_root(Vec::new()) {
            plan.select(root);
        }
        plan
    }

    /// A plan that selects everything at and below a path. A last step without keys stands for all entries.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`].
    pub fn of_path(path: &InstancePath) -> Result<Self> {
        let mut plan = Self::default();
        let mut id = plan.add_root(Vec::new())?;
        for step in &path.steps {
            id = plan.child(id, step.node, Instance::Keys(step.keys.clone()))?;
        }
        plan.select(id);
        Ok(plan.sorted())
    }

    /// Replaces the instances that a node stands for.
    pub fn set_instance(&mut self, id: PlanId, instance: Instance) {
        self.nodes[id.0 as usize].instance = instance;
    }

    /// The nodes for the datastore.
    pub fn roots(&self) -> &[PlanId] {
        &self.roots
    }

    /// All nodes.
    pub fn nodes(&self) -> &[PlanNode] {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, id: PlanId) -> &PlanNode {
        &self.nodes[id.0 as usize]
    }

    /// The nodes for a child of the instances of a node.
    pub fn children_of(&self, id: PlanId, node: NodeId) -> impl Iterator<Item = PlanId> + '_ {
        let children = &self.node(id).children;
        let first = children.partition_point(|(other, _)| *other < node);
        let same = children[first..]
            .iter()
            .take_while(move |(other, _)| *other == node);
        same.map(|(_, child)| *child)
    }

    /// Whether a leaf of the instances of a node is selected; no value stands for `anydata` and `anyxml`.
    pub fn selects_leaf(&self, id: PlanId, leaf: NodeId, value: Option<&Value>) -> bool {
        let leaves = &self.node(id).leaves;
        let first = leaves.partition_point(|(other, _)| *other < leaf);
        let mut same = leaves[first..]
            .iter()
            .take_while(|(other, _)| *other == leaf);
        same.any(|(_, wanted)| wanted.is_none() || wanted.as_ref() == value)
    }

    /// Whether a leaf of the instances of a node is selected if it has the right value.
    pub fn names_leaf(&self, id: PlanId, leaf: NodeId) -> bool {
        let leaves = &self.node(id).leaves;
        leaves
            .binary_search_by_key(&leaf, |(other, _)| *other)
            .is_ok()
    }

    /// Adds a node for the datastore.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`].
    pub fn add_root(&mut self, conditions: Vec<ContentCondition>) -> Result<PlanId> {
        let id = self.push(None, Instance::ALL, conditions)?;
        self.roots.push(id);
        Ok(id)
    }

    /// Adds a node below another, with conditions.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`].
    pub fn add_child(
        &mut self,
        parent: PlanId,
        node: NodeId,
        instance: Instance,
        conditions: Vec<ContentCondition>,
    ) -> Result<PlanId> {
        let id = self.push(Some(node), instance, conditions)?;
        self.nodes[parent.0 as usize].children.push((node, id));
        Ok(id)
    }

    /// The node without conditions for some instances below another; added if there is none.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`].
    pub fn child(&mut self, parent: PlanId, node: NodeId, instance: Instance) -> Result<PlanId> {
        let place = (parent, node, instance);
        if let Some(&id) = self.shared.get(&place) {
            return Ok(id);
        }
        let id = self.add_child(parent, node, place.2.clone(), Vec::new())?;
        self.shared.insert(place, id);
        Ok(id)
    }

    /// Selects the instances of a node with everything below them.
    pub fn select(&mut self, id: PlanId) {
        self.nodes[id.0 as usize].selects = true;
    }

    /// Selects a leaf of the instances of a node, only if it has a value if one is given.
    pub fn select_leaf(&mut self, id: PlanId, leaf: NodeId, value: Option<Value>) {
        self.nodes[id.0 as usize].leaves.push((leaf, value));
    }

    /// Sorts the plan, after its last change.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.shared = HashMap::new();
        for node in &mut self.nodes {
            node.children.sort_by_key(|(child, _)| *child);
            node.leaves.sort_by_key(|(leaf, _)| *leaf);
            node.leaves.dedup();
        }
        self
    }

    fn push(
        &mut self,
        node: Option<NodeId>,
        instance: Instance,
        conditions: Vec<ContentCondition>,
    ) -> Result<PlanId> {
        if self.nodes.len() >= FILTER_PLAN_NODES_MAX {
            let message = format!(
                "the filter selects by more than {FILTER_PLAN_NODES_MAX} nodes (FILTER_PLAN_NODES_MAX)"
            );
            return Err(DataError::new(ErrorTag::TooBig, message).into());
        }
        let id = PlanId(self.nodes.len() as u32);
        self.nodes.push(PlanNode {
            node,
            instance,
            conditions,
            selects: false,
            children: Vec::new(),
            leaves: Vec::new(),
        });
        Ok(id)
    }
}
