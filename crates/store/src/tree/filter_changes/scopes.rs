//! The instances whose selected part a change can affect.

use espalier_yang::{InstancePath, Keys, NodeId, Schema, Step};
use rustc_hash::FxHashMap;

use super::tracked_filter::TrackedFilter;
use crate::tree::changes::{ChangeKind, NodeChange};
use crate::tree::filter::{PlanId, is_leaf};

/// The maximum number of instances that are compared one by one; beyond it, everything that the filter selects is compared.
pub const FILTERED_SCOPES_MAX: usize = 20_000;

/// Who reads what a filter selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderAccess {
    /// No access rule hides anything.
    Unrestricted,
    /// Access rules apply: whether an entry is shown can depend on anything below it.
    Restricted,
}

/// The instances whose selected part changes can affect.
#[derive(Debug)]
pub struct ChangedScopes<'f> {
    filter: &'f TrackedFilter,
    access: ReaderAccess,
    scopes: Vec<Scope>,
    /// The places of the scopes, by their paths.
    by_path: FxHashMap<InstancePath, usize>,
    is_everything: bool,
}

/// An instance whose selected part is compared.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub path: InstancePath,
    /// The number of steps of `path` to instances that are there only if something below them is selected.
    pub passages: usize,
    /// Whether it may have another place in its list.
    pub is_moved: bool,
}

impl<'f> ChangedScopes<'f> {
    /// None yet.
    pub fn new(filter: &'f TrackedFilter, access: ReaderAccess) -> Self {
        Self {
            filter,
            access,
            scopes: Vec::new(),
            by_path: FxHashMap::default(),
            is_everything: false,
        }
    }

    /// Everything that the filter selects.
    pub fn everything(filter: &'f TrackedFilter) -> Self {
        Self {
            is_everything: true,
            ..Self::new(filter, ReaderAccess::Unrestricted)
        }
    }

    /// Whether the changes so far cannot affect what is selected.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty() && !self.is_everything
    }

    /// Whether everything is compared, so that further changes need not be added.
    pub fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// The filter.
    pub fn filter(&self) -> &'f TrackedFilter {
        self.filter
    }

    pub(super) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Adds a change of a node, in the schema of the filter.
    pub fn add(&mut self, change: &NodeChange) {
        if self.is_everything || self.is_covered(&change.path) {
            return;
        }
        match scope_of(self.filter, self.access, &change.path) {
            Affected::Nothing => {}
            Affected::Everything => self.is_everything = true,
            Affected::Scope(scope) => self.add_scope(Scope {
                is_moved: change.kind == ChangeKind::Moved && scope.path == change.path,
                ..scope
            }),
        }
    }

    fn add_scope(&mut self, scope: Scope) {
        if let Some(&place) = self.by_path.get(&scope.path) {
            self.scopes[place].is_moved |= scope.is_moved;
            return;
        }
        if self.scopes.len() >= FILTERED_SCOPES_MAX {
            self.is_everything = true;
            return;
        }
        self.by_path.insert(scope.path.clone(), self.scopes.len());
        self.scopes.push(scope);
    }

    /// Whether a scope contains a node.
    fn is_covered(&self, path: &InstancePath) -> bool {
        if self.scopes.is_empty() {
            return false;
        }
        let mut prefix = InstancePath::root();
        // A move of the node itself is to be noted.
        let parents = path.steps.len().saturating_sub(1);
        path.steps[..parents].iter().any(|step| {
            prefix.steps.push(step.clone());
            self.by_path.contains_key(&prefix)
        })
    }
}

/// What a change can affect.
enum Affected {
    Nothing,
    Everything,
    Scope(Scope),
}

/// What a change of a node can affect.
fn scope_of(filter: &TrackedFilter, access: ReaderAccess, path: &InstancePath) -> Affected {
    let plan = filter.plan();
    if filter.is_evaluated() || plan.roots().iter().any(|&id| has_conditions(filter, id)) {
        return match is_reached(filter, access, path) {
            true => Affected::Everything,
            false => Affected::Nothing,
        };
    }
    let schema = filter.schema();
    let scope = |length: usize, passages: usize| {
        Affected::Scope(addressable(schema, path, length, passages))
    };
    // What is not selected can still decide whether the entry that contains it is shown.
    let beyond = |index: usize| match shown_entry(schema, access, &path.steps[..index]) {
        Some(length) => scope(length, length - 1),
        None => Affected::Nothing,
    };
    let mut active: Vec<PlanId> = plan.roots().to_vec();
    for (index, step) in path.steps.iter().enumerate() {
        if active.iter().any(|&id| plan.node(id).selects) {
            return scope(path.steps.len(), index.saturating_sub(1));
        }
        if is_leaf(&schema.node(step.node).kind) {
            let is_named = active.iter().any(|&id| plan.names_leaf(id, step.node));
            return match is_named {
                true => scope(index + 1, index),
                false => beyond(index),
            };
        }
        active = next_nodes(filter, &active, step);
        if active.is_empty() {
            return beyond(index);
        }
        if active.iter().any(|&id| has_conditions(filter, id)) {
            return scope(index + 1, index);
        }
    }
    // A node that leads to others, or that is selected whole.
    scope(path.steps.len(), path.steps.len().saturating_sub(1))
}

/// Whether the plan of an evaluated filter reads a node, or something below it.
fn is_reached(filter: &TrackedFilter, access: ReaderAccess, path: &InstancePath) -> bool {
    let (plan, schema) = (filter.plan(), filter.schema());
    let is_shown = |index: usize| shown_entry(schema, access, &path.steps[..index]).is_some();
    let mut active: Vec<PlanId> = plan.roots().to_vec();
    for (index, step) in path.steps.iter().enumerate() {
        let is_whole = |&id: &PlanId| plan.node(id).selects || has_conditions(filter, id);
        if active.iter().any(is_whole) {
            return true;
        }
        if is_leaf(&schema.node(step.node).kind) {
            let is_named = active.iter().any(|&id| plan.names_leaf(id, step.node));
            return is_named || is_shown(index);
        }
        active = next_nodes(filter, &active, step);
        if active.is_empty() {
            return is_shown(index);
        }
    }
    true
}

/// The number of steps to the innermost instance whose presence access rules can make depend on what is below it.
fn shown_entry(schema: &Schema, access: ReaderAccess, steps: &[Step]) -> Option<usize> {
    let is_instance = |step: &Step| !schema.node(step.node).is_np_container();
    match access {
        ReaderAccess::Unrestricted => None,
        ReaderAccess::Restricted => steps.iter().rposition(is_instance).map(|index| index + 1),
    }
}

fn next_nodes(filter: &TrackedFilter, active: &[PlanId], step: &Step) -> Vec<PlanId> {
    let plan = filter.plan();
    let children = active
        .iter()
        .flat_map(|&id| plan.children_of(id, step.node));
    children.filter(|&id| plan.may_be(id, &step.keys)).collect()
}

fn has_conditions(filter: &TrackedFilter, id: PlanId) -> bool {
    !filter.plan().node(id).conditions.is_empty()
}

/// The first steps of a path, up to the last one that a path can name: entries without keys belong to their parent.
fn addressable(schema: &Schema, path: &InstancePath, length: usize, passages: usize) -> Scope {
    let steps = &path.steps[..length];
    let unnamed = steps.iter().position(|step| !is_named(schema, step.node));
    let length = unnamed.unwrap_or(length);
    Scope {
        path: InstancePath {
            steps: steps[..length].to_vec(),
        },
        passages: passages.min(length.saturating_sub(1)),
        is_moved: false,
    }
}

/// Whether keys name each instance of a node.
pub(super) fn is_named(schema: &Schema, node: NodeId) -> bool {
    let node = schema.node(node);
    match node.is_leaf_list() {
        true => node.is_config || !node.is_positional(),
        false => !node.is_list() || !node.keys().is_empty(),
    }
}

/// Whether a node is a list or leaf-list whose entries have the order of the user.
pub(super) fn is_ordered_by_user(schema: &Schema, node: NodeId) -> bool {
    schema.node(node).is_positional() && is_named(schema, node)
}

/// The path of all entries of the list of an entry.
pub(super) fn whole_list(path: &InstancePath) -> InstancePath {
    let mut list = path.clone();
    if let Some(step) = list.steps.last_mut() {
        step.keys = Keys::None;
    }
    list
}
