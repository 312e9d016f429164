//! References to removed nodes: leafrefs by value, instance identifiers by path.
//!
//! Changes only record what was removed. Referrers are searched for once, when the change is complete: a target whose
//! value still exists elsewhere has no referrer to check, and if more targets were removed than there are references
//! of a kind, all references are read instead of being searched for one by one.

use std::hash::Hash;
use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::incremental::{Incremental, StatePair, children};
use super::plan::RuleId;
use crate::instances::{Indexed, Instances};
use crate::path::{InstancePath, Keys};
use crate::schema::{ModuleNames, NodeId, NodeKind, Schema, Type, TypeKind};
use crate::value::Value;
use crate::xpath::evaluate::Item;

// Looked up once per commit, not for each deleted node: docs/decisions/0020.
/// The maximum number of lookups before all references of a kind are read instead.
const LOOKUPS_MAX: usize = 16;

/// The removed nodes that references may refer to, as far as the change has been reported.
#[derive(Debug)]
pub(super) struct RemovedTargets<I> {
    /// By leafref: the path that led to the target, the node from which that path descends, and the removed value.
    targets: FxHashMap<NodeId, FxHashSet<(Option<usize>, I, Value)>>,
    /// Nodes that instance identifiers may refer to: the node itself, or the leaf in it, or one value of the
    /// leaf-list in it.
    paths: FxHashSet<(NodeId, I, Option<Value>)>,
}

impl<I> Default for RemovedTargets<I> {
    fn default() -> Self {
        Self {
            targets: FxHashMap::default(),
            paths: FxHashSet::default(),
        }
    }
}

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// Records that a value that leafrefs may refer to was removed from a node.
    pub(super) fn target_removed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        target: NodeId,
        holder: &I,
        value: &Value,
    ) {
        let (plan, data) = (states.new.plan, states.new.data);
        let referrers = &plan.referrers[target.0 as usize];
        for &leafref in referrers {
            let value = as_leafref_value(data.schema(), leafref, value);
            let paths = plan.targets.get(&leafref).map_or(&[][..], Vec::as_slice);
            let mut starts = Vec::new();
            for (index, (_, path)) in paths.iter().enumerate() {
                if path.end() == Some(target)
                    && let Some(from) = path.start_above(data, holder)
                {
                    starts.push((Some(index), from));
                }
            }
            // A union member whose path can only be evaluated may lead there from anywhere.
            if starts.len() < referrers.iter().filter(|other| **other == leafref).count() {
                starts.push((None, data.root()));
            }
            let starts = starts.into_iter();
            let removed = starts.map(|(path, from)| (path, from, value.clone()));
            self.removed
                .targets
                .entry(leafref)
                .or_default()
                .extend(removed);
        }
    }

    /// Records that a node that instance identifiers may refer to may be removed; for a leaf-list, `value` if it is
    /// given.
    pub(super) fn path_removed<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        node: NodeId,
        place: &I,
        value: Option<&Value>,
    ) -> Result<(), T::Error> {
        if !states.new.plan.instance_identifiers.is_empty()
            && states.old.evaluator.is_accessible(place)?
        {
            self.removed
                .paths
                .insert((node, place.clone(), value.cloned()));
        }
        Ok(())
    }

    /// Records instance identifiers to nodes in an entry that another one replaced. Nodes that are equal in both are
    /// not reported as changes, yet their path is different.
    pub(super) fn paths_removed_within<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        place: &I,
    ) -> Result<(), T::Error> {
        if states.new.plan.instance_identifiers.is_empty() {
            return Ok(());
        }
        let (old, schema) = (states.old.data, states.old.schema());
        for &child in children(schema, old.node(place)) {
            let mut places = Vec::new();
            match &schema.node(child).kind {
                NodeKind::List(_) => old.entries(place, child, &mut |entry| {
                    places.push(entry);
                    Ok(ControlFlow::Continue(()))
                })?,
                NodeKind::Container { .. } => {
                    places.extend(states.old.evaluator.container(place, child)?);
                }
                _ => self.path_removed(states, child, place, None)?,
            }
            for place in &places {
                self.path_removed(states, child, place, None)?;
                self.paths_removed_within(states, place)?;
            }
        }
        Ok(())
    }

    /// Schedules the checks of all references to removed nodes.
    pub(super) fn schedule_referrers<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
    ) -> Result<(), T::Error> {
        let plan = states.new.plan;
        let removed = std::mem::take(&mut self.removed);
        for (leafref, targets) in removed.targets {
            let Some(&rule) = plan.references.get(&leafref) else {
                continue;
            };
            if self.schedule_all(states, leafref, rule, targets.len())? {
                continue;
            }
            for (path, from, value) in targets {
                self.schedule_leafrefs(states, (leafref, rule), path, &from, &value)?;
            }
        }
        let mut searched = Vec::new();
        for &rule in &plan.instance_identifiers {
            if let Some(leaf) = plan.rule(rule).node
                && !removed.paths.is_empty()
                && !self.schedule_all(states, leaf, rule, removed.paths.len())?
            {
                searched.push((leaf, rule));
            }
        }
        if searched.is_empty() {
            return Ok(());
        }
        for (node, place, value) in removed.paths {
            for path in paths_of(states, node, &place, value)? {
                for &(leaf, rule) in &searched {
                    let Some((root, name)) = name_for(states, leaf, &path)? else {
                        continue;
                    };
                    if self.is_referred(states, leaf, &root, &name)?
                        && states.new.evaluator.resolve(&path)?.is_none()
                    {
                        self.schedule_holders(states, (leaf, rule), &root, &name)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a reference below a node may have a value.
    fn is_referred<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        leaf: NodeId,
        within: &I,
        value: &Value,
    ) -> Result<bool, T::Error> {
        if is_default(states, leaf, value) {
            return Ok(true);
        }
        self.effort.visits += 1;
        let mut is_referred = false;
        let indexed = states.new.data.find(within, leaf, value, &mut |_| {
            is_referred = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_referred || indexed == Indexed::No)
    }

    /// Schedules the checks of all references of a leaf, if these are not more than the lookups.
    fn schedule_all<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        leaf: NodeId,
        rule: RuleId,
        lookups: usize,
    ) -> Result<bool, T::Error> {
        let data = states.new.data;
        let has_default = data.schema().node(leaf).as_value();
        if lookups < LOOKUPS_MAX || has_default.is_some_and(|node| !node.defaults.is_empty()) {
            return Ok(false);
        }
        let mut nodes_with_value = Vec::new();
        let mut are_all = true;
        let indexed = data.nodes_with_value(leaf, &mut |holder| {
            are_all = nodes_with_value.len() < lookups;
            nodes_with_value.push(holder);
            Ok(match are_all {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        self.effort.visits += nodes_with_value.len() as u64;
        let is_complete = indexed == Indexed::Yes && are_all;
        if is_complete {
            self.scheduled.extend(
                nodes_with_value
                    .into_iter()
                    .map(|holder| (rule, holder, None)),
            );
        }
        Ok(is_complete)
    }

    /// Schedules the checks of the leafrefs with a value, if their target no longer exists.
    fn schedule_leafrefs<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        (leafref, rule): (NodeId, RuleId),
        path: Option<usize>,
        from: &I,
        value: &Value,
    ) -> Result<(), T::Error> {
        if !self.is_referred(states, leafref, from, value)? {
            return Ok(());
        }
        let path = path.and_then(|index| states.new.plan.targets.get(&leafref)?.get(index));
        if let Some((_, path)) = path
            && path.has_target_below(&states.new.evaluator, from, leafref, value)?
        {
            return Ok(());
        }
        self.schedule_holders(states, (leafref, rule), from, value)
    }

    /// Schedules the checks of all instances of a leaf with a reference.
    fn schedule_holders<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        (leaf, rule): (NodeId, RuleId),
        within: &I,
        value: &Value,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let scheduled = &mut self.scheduled;
        let before = scheduled.len();
        let indexed = data.find(within, leaf, value, &mut |holder| {
            scheduled.insert((rule, holder, Some(value.clone())));
            Ok(ControlFlow::Continue(()))
        })?;
        self.effort.visits += 1 + (scheduled.len() - before) as u64;
        if indexed == Indexed::No || is_default(states, leaf, value) {
            self.scheduled.insert((rule, data.root(), None));
        }
        Ok(())
    }
}

/// The value of an instance-identifier of a leaf for the node at a path, and the node below which it has this meaning;
/// `None` if the node has no name there.
fn name_for<T: Instances>(
    states: &StatePair<'_, T>,
    leaf: NodeId,
    path: &InstancePath,
) -> Result<Option<(T::Inner, Value)>, T::Error> {
    let schema = states.new.schema();
    let value_type = schema.node(leaf).as_value().map(|leaf| &leaf.value_type);
    let Some(mount_point) = value_type.and_then(|of| root_of(of)) else {
        let name = path.to_instance_identifier(schema);
        let root = states.new.data.root();
        return Ok(Some((root, Value::InstanceIdentifier(name.into()))));
    };
    let mut steps = path.steps.iter();
    let Some(depth) = steps.position(|step| step.node == mount_point) else {
        return Ok(None);
    };
    let (above, below) = path.steps.split_at(depth + 1);
    let [above, below] = [above, below].map(|steps| InstancePath {
        steps: steps.to_vec(),
    });
    let place = states.new.evaluator.resolve(&above)?;
    let place = place.as_ref().and_then(Item::as_inner);
    Ok(place.filter(|_| !below.is_root()).map(|place| {
        let name = below.to_instance_identifier(schema);
        (place.clone(), Value::InstanceIdentifier(name.into()))
    }))
}

/// The node with the mount point at which the instance-identifiers of a type start.
fn root_of(of: &Type) -> Option<NodeId> {
    match &of.kind {
        TypeKind::InstanceIdentifier { root, .. } => *root,
        TypeKind::Union(members) => members.iter().find_map(root_of),
        _ => None,
    }
}

/// A target value as the leafref stores it: in a union, the first member that accepts the text decides.
fn as_leafref_value(schema: &Schema, leafref: NodeId, value: &Value) -> Value {
    let node = schema.node(leafref);
    let of = node.as_value().map(|leaf| &leaf.value_type);
    let Some(of) = of.filter(|of| matches!(of.kind, TypeKind::Union(_))) else {
        return value.clone();
    };
    let names = ModuleNames {
        leaf_module: node.module,
    };
    let parsed = of.parse(schema, &value.to_string(), &names);
    parsed.unwrap_or_else(|_| value.clone())
}

fn is_default<T: Instances>(states: &StatePair<'_, T>, leaf: NodeId, value: &Value) -> bool {
    let leaf = states.new.schema().node(leaf).as_value();
    leaf.is_some_and(|leaf| leaf.defaults.contains(value))
}

/// The old paths of a node: for a leaf-list, of all values if none is given.
fn paths_of<T: Instances>(
    states: &StatePair<'_, T>,
    node: NodeId,
    place: &T::Inner,
    value: Option<Value>,
) -> Result<Vec<InstancePath>, T::Error> {
    let data = states.old.data;
    let schema = data.schema();
    let path = data.path(place)?;
    let mut names = Vec::new();
    if data.node(place) == Some(node) {
        names.push(path);
    } else if let Some(value) = value {
        names.push(path.child(node, Keys::Values(vec![value])));
    } else if schema.node(node).is_leaf_list() {
        // Defaults too: they are no longer in use once there is an entry.
        states.old.evaluator.values(place, node, &mut |value, _| {
            names.push(path.child(node, Keys::Values(vec![value])));
            Ok(ControlFlow::Continue(()))
        })?;
    } else {
        names.push(path.child(node, Keys::None));
    }
    Ok(names)
}
