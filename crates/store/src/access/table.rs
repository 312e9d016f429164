//! The compiled rules of a user.

use espalier_yang::{InstancePath, Keys, NodeId};
use rustc_hash::FxHashMap;

use super::matching::{ActiveConditions, Condition, ConditionId, EntryKeys};
use super::rule::{AccessOperation, RuleEffect};

/// The number of access operations.
pub(super) const OPERATIONS: usize = AccessOperation::ALL.len();

/// What rules say about one node and operation, in the order of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Program {
    /// Rules that match: all entries, or those for which a condition holds.
    pub cases: Box<[(Option<ConditionId>, bool)]>,
    /// The result if none matches.
    pub default: bool,
}

/// Whether the result for a node and all its descendants is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Uniform {
    /// All are denied.
    Denied,
    /// All are allowed.
    Allowed,
    /// It depends on the node or its entry.
    Mixed,
}

impl Uniform {
    pub fn of(is_allowed: bool) -> Self {
        match is_allowed {
            true => Self::Allowed,
            false => Self::Denied,
        }
    }

    /// The result for both parts.
    pub fn and(self, other: Self) -> Self {
        match self == other {
            true => self,
            false => Self::Mixed,
        }
    }
}

/// What holds for the reading of a node and its descendants.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadBelow {
    /// If the parent is denied, and if it is allowed.
    pub any: [Uniform; 2],
    /// The same, if no condition holds for the instance. Mixed if one may hold for an entry below.
    pub no_condition: [Uniform; 2],
}

/// The decision on the node at a path.
pub(crate) struct Decision {
    pub is_allowed: bool,
    pub is_parent_allowed: bool,
    /// The conditions that hold for it.
    pub active: ActiveConditions,
}

// Not evaluated node by node, as the RFC describes it: docs/decisions/0066.
/// The access rules of a user for one schema. Immutable.
pub struct AccessTable {
    pub(super) programs: Vec<Program>,
    /// The programs of each node.
    pub(super) nodes: Vec<[u32; OPERATIONS]>,
    pub(super) read_below: Vec<ReadBelow>,
    /// Whether all data may be created, changed and deleted.
    pub(super) writes_all: bool,
    pub(super) reads_all: bool,
    pub(super) conditions: Vec<Condition>,
    /// The conditions on the entries of a list or leaf-list.
    pub(super) conditions_at: FxHashMap<NodeId, Vec<ConditionId>>,
}

impl AccessTable {
    /// Whether every node can be read.
    pub fn reads_all(&self) -> bool {
        self.reads_all
    }

    /// Whether every node can be created, changed and deleted.
    pub fn writes_all(&self) -> bool {
        self.writes_all
    }

    /// Whether an operation on the node at a path is allowed.
    ///
    /// A node below one that cannot be read can be read only if a rule permits it, not by default.
    pub fn allows(&self, operation: AccessOperation, path: &InstancePath) -> bool {
        self.decide(operation, path).is_allowed
    }

    /// What holds for reads of the node at a path and its descendants.
    pub(crate) fn reads_at(&self, path: &InstancePath) -> Uniform {
        let decided = self.decide(AccessOperation::Read, path);
        let is_parent_allowed = decided.is_parent_allowed;
        match path.steps.last() {
            None if self.reads_all => Uniform::Allowed,
            None => Uniform::Mixed,
            // Of a whole list, some entries may be named.
            Some(step) if step.keys == Keys::None && self.has_conditions_at(step.node) => {
                self.read_below(step.node, is_parent_allowed)
            }
            Some(step) => self.below_instance(step.node, &decided.active, is_parent_allowed),
        }
    }

    /// Decides on the node at a path, step by step.
    pub(crate) fn decide(&self, operation: AccessOperation, path: &InstancePath) -> Decision {
        let mut decision = Decision {
            is_allowed: true,
            is_parent_allowed: true,
            active: ActiveConditions::default(),
        };
        for (depth, step) in path.steps.iter().enumerate() {
            let keys = EntryKeys::Of(&step.keys);
            self.enter(&mut decision.active, depth, step.node, &keys);
            decision.is_parent_allowed = decision.is_allowed;
            decision.is_allowed = self.allows_node(
                operation,
                step.node,
                &decision.active,
                decision.is_parent_allowed,
            );
        }
        decision
    }

    /// Whether an operation on an instance is allowed, given the conditions that hold for it.
    pub(crate) fn allows_node(
        &self,
        operation: AccessOperation,
        node: NodeId,
        active: &ActiveConditions,
        is_parent_allowed: bool,
    ) -> bool {
        let program = self.program(operation, node);
        let decided = program
            .cases
            .iter()
            .find(|(condition, _)| condition.is_none_or(|condition| active.holds(condition)));
        match decided {
            Some(&(_, is_allowed)) => is_allowed,
            None => program.default && (is_parent_allowed || operation != AccessOperation::Read),
        }
    }

    fn program(&self, operation: AccessOperation, node: NodeId) -> &Program {
        let programs = &self.nodes[node.0 as usize];
        &self.programs[programs[operation as usize] as usize]
    }

    /// What holds for reads of all instances of a node and their descendants.
    pub(crate) fn read_below(&self, node: NodeId, is_parent_allowed: bool) -> Uniform {
        self.read_below[node.0 as usize].any[usize::from(is_parent_allowed)]
    }

    /// What holds for reads of an instance and its descendants, given the conditions that hold for it.
    pub(crate) fn below_instance(
        &self,
        node: NodeId,
        active: &ActiveConditions,
        is_parent_allowed: bool,
    ) -> Uniform {
        let below = &self.read_below[node.0 as usize];
        match active.is_empty() {
            true => below.no_condition[usize::from(is_parent_allowed)],
            false => below.any[usize::from(is_parent_allowed)],
        }
    }

    /// Records the conditions that hold for an entry, which is `depth` levels below the datastore.
    pub(crate) fn enter(
        &self,
        active: &mut ActiveConditions,
        depth: usize,
        node: NodeId,
        keys: &EntryKeys<'_>,
    ) {
        active.leave(depth);
        let Some(conditions) = self.conditions_at.get(&node) else {
            return;
        };
        for &id in conditions {
            let condition = &self.conditions[id.0 as usize];
            let is_reached = condition.outer.is_none_or(|outer| active.holds(outer));
            if is_reached && condition.matches(keys) {
                active.add(depth, id);
            }
        }
    }

    /// Whether a condition names entries of a list or leaf-list.
    pub(crate) fn has_conditions_at(&self, node: NodeId) -> bool {
        self.conditions_at.contains_key(&node)
    }
}

impl From<RuleEffect> for bool {
    fn from(effect: RuleEffect) -> Self {
        effect == RuleEffect::Permit
    }
}
