//! Validation of a change: only the rules that read changed data are checked.
//!
//! A change fires the triggers of the changed node: each rule that reads the node is scheduled for the instances to
//! which the reverse route leads. `when`s come first, in their order, because their removals are further changes;
//! then every other scheduled rule is checked once.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::checker::Checker;
use super::leafref_target::climb;
use super::plan::{RuleId, RuleKind, ValidationPlan};
use super::referrers::RemovedTargets;
use super::reverse_trace::{NearestSibling, TracedJoins};
use super::route::chain;
use crate::error::Errors;
use crate::instances::Instances;
use crate::schema::{NodeId, NodeKind, Schema};
use crate::value::Value;
use crate::xpath::evaluate::{Item, Limits, Scope};

/// One change of the data.
#[derive(Clone, Debug)]
pub enum Change<I> {
    /// A list entry or container with presence was created.
    Created(I),
    /// A list entry or container with presence was deleted.
    Deleted(I),
    /// A leaf was created, deleted or set to another value. `anydata` and `anyxml` count as leaves with the value
    /// [`Value::Empty`].
    Leaf {
        /// Its parent.
        holder: I,
        /// The leaf.
        node: NodeId,
        /// The old value.
        old: Option<Value>,
        /// The new value.
        new: Option<Value>,
    },
    /// A leaf-list entry was created.
    ValueCreated {
        /// Its parent.
        holder: I,
        /// The leaf-list.
        node: NodeId,
        /// The value.
        value: Value,
    },
    /// A leaf-list entry was deleted.
    ValueDeleted {
        /// Its parent.
        holder: I,
        /// The leaf-list.
        node: NodeId,
        /// The value.
        value: Value,
    },
}

/// A node that must be removed because its `when` became false (RFC 7950 §8.2).
#[derive(Clone, Debug)]
pub enum Removal<I> {
    /// A container or list entry.
    Inner(I),
    /// A leaf.
    Leaf(I, NodeId),
    /// A leaf-list entry.
    Value(I, NodeId, Value),
}

impl std::ops::AddAssign for ValidationCost {
    fn add_assign(&mut self, other: Self) {
        self.checks += other.checks;
        self.fallbacks += other.fallbacks;
        self.visits += other.visits;
    }
}

/// The work done by a validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidationCost {
    /// Rules checked, each at one instance.
    pub checks: u64,
    /// The number of times no reverse route led from a change to the instances of a rule, so that all instances of
    /// the rule in some subtree were checked.
    pub fallbacks: u64,
    /// Nodes visited by expressions, and results returned by indexes.
    pub visits: u64,
}

/// A scheduled check: a rule at an instance of its anchor, or at all instances of its anchor below.
type ScheduledCheck<I> = (RuleId, I, Option<Value>);

/// The state before a change and the proposed state.
pub struct StatePair<'a, T: Instances> {
    pub(super) old: Checker<'a, T>,
    pub(super) new: Checker<'a, T>,
}

impl<'a, T: Instances> StatePair<'a, T> {
    /// Creates a pair of two states of one tree.
    pub fn new(plan: &'a ValidationPlan, old: &'a T, new: &'a T, limits: Limits) -> Self {
        Self {
            old: Checker::new(old, plan, limits, Scope::Config),
            new: Checker::new(new, plan, limits, Scope::Config),
        }
    }
}

impl<T: Instances> std::fmt::Debug for StatePair<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatePair").finish_non_exhaustive()
    }
}

/// The validation of one change. The caller reports each change with [`Self::changed`].
#[derive(Debug)]
pub struct Incremental<I> {
    pub(super) whens: BTreeMap<u32, FxHashSet<(RuleId, I)>>,
    /// `when`s that are evaluated: later ones do not affect them.
    pub(super) evaluated: FxHashSet<(RuleId, I)>,
    pub(super) scheduled: FxHashSet<ScheduledCheck<I>>,
    fired: FxHashSet<(NodeId, I)>,
    pub(super) removed: RemovedTargets<I>,
    /// The joins that were already traced.
    pub(super) traced_joins: FxHashSet<TracedJoins<I>>,
    /// The most recent nearest sibling in this state.
    pub(super) nearest: Option<NearestSibling<I>>,
    errors: Errors,
    pub(super) effort: ValidationCost,
}

impl<I: Clone + Eq + Hash + std::fmt::Debug> Default for Incremental<I> {
    fn default() -> Self {
        Self {
            whens: BTreeMap::new(),
            evaluated: FxHashSet::default(),
            scheduled: FxHashSet::default(),
            fired: FxHashSet::default(),
            removed: RemovedTargets::default(),
            traced_joins: FxHashSet::default(),
            nearest: None,
            errors: Errors::new(),
            effort: ValidationCost::default(),
        }
    }
}

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// Creates a validation without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a change. `states` must contain all changes so far.
    pub fn changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        change: &Change<I>,
    ) -> Result<(), T::Error> {
        for &rule in &states.new.plan.unbounded_rules {
            self.schedule(states, rule, states.new.data.root());
        }
        match change {
            Change::Created(place) => self.inner_changed(states, place),
            Change::Deleted(place) => {
                self.inner_changed(states, place)?;
                match states.new.data.is_stored(place)? {
                    true => self.paths_removed_within(states, place),
                    false => Ok(()),
                }
            }
            Change::Leaf {
                holder,
                node,
                old,
                new,
            } => self.leaf_changed(states, holder, *node, (old.as_ref(), new.as_ref())),
            Change::ValueCreated {
                holder,
                node,
                value,
            } => self.value_changed(states, holder, *node, value),
            Change::ValueDeleted {
                holder,
                node,
                value,
            } => {
                self.value_changed(states, holder, *node, value)?;
                self.path_removed(states, *node, holder, Some(value))?;
                self.target_removed(states, *node, holder, value);
                Ok(())
            }
        }
    }

    fn inner_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        place: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let Some(node) = data.node(place) else {
            return Ok(());
        };
        self.fire(states, node, place)?;
        self.schedule_own_rules(states, node, place);
        self.children_changed(states, node, place)?;
        match data.parent(place) {
            Some(parent) => self.child_changed(states, node, &parent),
            None => Ok(()),
        }
    }

    fn leaf_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        holder: &I,
        node: NodeId,
        (old, new): (Option<&Value>, Option<&Value>),
    ) -> Result<(), T::Error> {
        self.fire(states, node, holder)?;
        self.schedule_own_rules(states, node, holder);
        self.unique_changed(states, node, holder);
        let default = states.new.schema().node(node).as_value();
        let default = default.and_then(|leaf| leaf.defaults.first());
        if let Some(value) = old.or(default) {
            self.target_removed(states, node, holder, value);
        }
        match old.is_some() != new.is_some() {
            true => self.child_changed(states, node, holder),
            false => Ok(()),
        }
    }

    fn value_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        holder: &I,
        node: NodeId,
        value: &Value,
    ) -> Result<(), T::Error> {
        self.fire_triggers(states, node, holder)?;
        let plan = states.new.plan;
        let leaf_list = states.new.schema().node(node).as_value();
        let defaults = leaf_list.map_or(&[][..], |node| &node.defaults);
        for &rule in &plan.own_rules[node.0 as usize] {
            // References are checked value by value: a leaf-list may be long.
            match plan.rule(rule).kind {
                RuleKind::Reference if defaults.is_empty() => {
                    self.scheduled
                        .insert((rule, holder.clone(), Some(value.clone())));
                }
                _ => self.schedule_at_anchor(states, rule, holder),
            }
        }
        // The defaults are in use if there is no entry.
        for default in defaults {
            self.path_removed(states, node, holder, Some(default))?;
            self.target_removed(states, node, holder, default);
        }
        self.child_changed(states, node, holder)
    }

    /// Schedules the checks for a created or deleted child: the required children of its parent, and the choice that
    /// contains the child.
    fn child_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        child: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let (mut child, mut place) = (child, place.clone());
        loop {
            self.schedule_required_children(states, &place);
            if let Some(case) = schema.node(child).cases.first() {
                self.choice_changed(states, case.choice, &place)?;
            }
            // A container without presence counts as data of its case if it has content.
            let Some(around) = data
                .node(&place)
                .filter(|&node| schema.node(node).is_np_container())
            else {
                return Ok(());
            };
            for &rule in &states.new.plan.own_rules[around.0 as usize] {
                if states.new.plan.rule(rule).kind == RuleKind::When {
                    self.schedule_at_anchor(states, rule, &place);
                }
            }
            let Some(parent) = data.parent(&place) else {
                return Ok(());
            };
            (child, place) = (around, parent);
        }
    }

    pub(super) fn schedule_required_children<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        place: &I,
    ) {
        let content = states
            .new
            .plan
            .required_children(states.new.data.node(place));
        if let Some(rule) = content.and_then(|content| content.rule) {
            self.scheduled.insert((rule, place.clone(), None));
        }
    }

    /// Another case of a choice may be selected: the defaults in it may change.
    fn choice_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        choice: u32,
        place: &I,
    ) -> Result<(), T::Error> {
        let schema = states.new.schema();
        for &sibling in children(schema, states.new.data.node(place)) {
            let cases = &schema.node(sibling).cases;
            if cases.iter().any(|case| case.choice == choice) {
                self.default_changed(states, sibling, place)?;
            }
        }
        Ok(())
    }

    /// Fires the nodes that may appear or disappear in an instance without being stored.
    fn children_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        node: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        for &child in children(states.new.schema(), Some(node)) {
            self.default_changed(states, child, place)?;
        }
        Ok(())
    }

    pub(super) fn default_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        child: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        let plan = states.new.plan;
        let schema = states.new.schema();
        let index = child.0 as usize;
        if !plan.affects_rules[index] && !plan.has_rules[index] {
            return Ok(());
        }
        let node = schema.node(child);
        if let NodeKind::Leaf(value) | NodeKind::LeafList(value) = &node.kind {
            if !value.defaults.is_empty() {
                self.fire(states, child, place)?;
                self.schedule_own_rules(states, child, place);
                self.unique_changed(states, child, place);
                for default in &value.defaults {
                    self.target_removed(states, child, place, default);
                }
            }
        } else if node.is_np_container() {
            let container = states.new.data.container(place, child);
            self.fire(states, child, &container)?;
            self.schedule_own_rules(states, child, &container);
            self.children_changed(states, child, &container)?;
        }
        Ok(())
    }

    /// Schedules the rules on the instances of a node itself; for a leaf, `place` is its parent.
    fn schedule_own_rules<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        node: NodeId,
        place: &I,
    ) {
        for &rule in &states.new.plan.own_rules[node.0 as usize] {
            self.schedule_at_anchor(states, rule, place);
        }
    }

    /// Schedules a rule on an instance, at the anchor above it.
    fn schedule_at_anchor<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        rule: RuleId,
        place: &I,
    ) {
        let compiled = states.new.plan.rule(rule);
        let data = states.new.data;
        let holds_leaf = compiled.node != data.node(place);
        let levels = compiled.chain.len() - usize::from(holds_leaf && !compiled.chain.is_empty());
        if let Some(anchor) = climb(data, place, levels) {
            self.schedule(states, rule, anchor);
        }
    }

    pub(super) fn schedule<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        rule: RuleId,
        at: I,
    ) {
        let compiled = states.new.plan.rule(rule);
        if compiled.kind == RuleKind::When {
            let when = (rule, at);
            if !self.evaluated.contains(&when) {
                self.whens.entry(compiled.rank).or_default().insert(when);
            }
        } else {
            self.scheduled.insert((rule, at, None));
        }
    }

    fn unique_changed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        leaf: NodeId,
        holder: &I,
    ) {
        let plan = states.new.plan;
        let data = states.new.data;
        for &(list, index) in plan.uniques.get(&leaf).into_iter().flatten() {
            let nodes = chain(data.schema(), Some(list), Some(leaf)).unwrap_or_default();
            let rules = plan.own_rules[list.0 as usize].iter().copied();
            let mut rules = rules.filter(|&rule| plan.rule(rule).kind == RuleKind::Unique(index));
            let entry = climb(data, holder, nodes.len().saturating_sub(1));
            if let Some((rule, entry)) = rules.next().zip(entry) {
                self.scheduled.insert((rule, entry, None));
            }
        }
    }

    /// Schedules every rule that reads a node, at the end of the reverse route. For a leaf, `place` is its parent.
    fn fire<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        node: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        self.path_removed(states, node, place, None)?;
        self.fire_triggers(states, node, place)
    }

    fn fire_triggers<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        node: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        let plan = states.new.plan;
        let triggers = &plan.triggers[node.0 as usize];
        if triggers.is_empty() || !self.fired.insert((node, place.clone())) {
            return Ok(());
        }
        for trigger in triggers {
            let last = trigger.route.segments.len() - 1;
            self.trace(states, trigger, last, place)?;
        }
        Ok(())
    }

    pub(super) fn take_errors<T: Instances<Inner = I>>(&mut self, states: &mut StatePair<'_, T>) {
        self.errors.append(std::mem::take(&mut states.new.errors));
        let evaluators = [&states.old.evaluator, &states.new.evaluator];
        let visits = evaluators.map(|evaluator| evaluator.take_visits());
        self.effort.visits += visits.iter().sum::<u64>();
    }

    /// The existing instances of a rule's anchor at or below an instance.
    pub(super) fn anchors<T: Instances<Inner = I>>(
        &mut self,
        checker: &Checker<'_, T>,
        rule: RuleId,
        scope: &I,
    ) -> Result<Vec<I>, T::Error> {
        let anchor = checker.plan.rule(rule).anchor;
        let from = checker.data.node(scope);
        let mut places = Vec::new();
        if !checker.evaluator.is_accessible(scope)? {
            return Ok(places);
        }
        if from == anchor {
            places.push(scope.clone());
            return Ok(places);
        }
        let below = chain(checker.schema(), from, anchor).unwrap_or_default();
        let is_list = |&node: &NodeId| checker.schema().node(node).is_list();
        if below.iter().any(is_list) {
            self.effort.fallbacks += 1;
        }
        checker.instances(scope, &below, &mut |item| {
            if let Item::Inner(place) = item {
                places.push(place);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(places)
    }

    /// Checks all scheduled rules.
    ///
    /// # Errors
    /// Read errors; violations are in the result.
    pub fn finish<T: Instances<Inner = I>>(
        mut self,
        states: &mut StatePair<'_, T>,
    ) -> Result<(Errors, ValidationCost), T::Error> {
        self.schedule_referrers(states)?;
        let mut wide: FxHashMap<RuleId, FxHashSet<I>> = FxHashMap::default();
        let plan = states.new.plan;
        for (rule, scope, _) in &self.scheduled {
            if states.new.data.node(scope) != plan.rule(*rule).anchor {
                wide.entry(*rule).or_default().insert(scope.clone());
            }
        }
        let scheduled = std::mem::take(&mut self.scheduled);
        for (rule, scope, value) in scheduled {
            if let Some(scopes) = wide.get(&rule)
                && is_within(states.new.data, &scope, scopes)
            {
                continue;
            }
            for place in self.anchors(&states.new, rule, &scope)? {
                self.effort.checks += 1;
                states.new.check(rule, &place, value.as_ref())?;
            }
        }
        self.take_errors(states);
        self.errors.sort();
        Ok((self.errors, self.effort))
    }
}

/// Returns whether an instance is below another instance of a set.
pub(super) fn is_within<T: Instances>(
    data: &T,
    place: &T::Inner,
    scopes: &FxHashSet<T::Inner>,
) -> bool {
    let mut at = data.parent(place);
    while let Some(place) = at {
        if scopes.contains(&place) {
            return true;
        }
        at = data.parent(&place);
    }
    false
}

pub(super) fn children(schema: &Schema, node: Option<NodeId>) -> &[NodeId] {
    node.map_or(schema.roots(), |node| &schema.node(node).children)
}
