//! What refers to a node that changed: leafrefs by its value, instance identifiers by its name.

use std::hash::Hash;
use std::ops::ControlFlow;

use super::incremental::{Incremental, States, children};
use super::plan::RuleId;
use crate::instances::Instances;
use crate::schema::{NodeId, NodeKind};
use crate::value::Value;

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// A value that leafrefs may refer to is not in a place any more.
    pub(super) fn target_went<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        target: NodeId,
        value: &Value,
    ) -> Result<(), T::Error> {
        let plan = states.new.plan;
        for &leafref in &plan.referrers[target.0 as usize] {
            if let Some(&rule) = plan.references.get(&leafref) {
                self.holders(states, leafref, value, rule)?;
            }
        }
        Ok(())
    }

    /// The rule on references is due wherever a leaf holds a value.
    fn holders<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        leaf: NodeId,
        value: &Value,
        rule: RuleId,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let root = data.root();
        let due = &mut self.due;
        let answer = data.find(&root, leaf, value, &mut |holder| {
            due.insert((rule, holder, Some(value.clone())));
            Ok(ControlFlow::Continue(()))
        })?;
        let defaults = data.schema().node(leaf).as_value();
        let is_default = defaults.is_some_and(|node| node.defaults.contains(value));
        if answer == crate::instances::Indexed::No || is_default {
            self.due.insert((rule, root, None));
        }
        Ok(())
    }

    /// Instance identifiers that name a node which may have gone.
    pub(super) fn named_by_identifier<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        node: NodeId,
        place: &I,
    ) -> Result<(), T::Error> {
        let data = states.old.data;
        let schema = data.schema();
        let is_leaf = states.new.data.node(place) != Some(node);
        if !states.old.evaluator.is_accessible(place)? {
            return Ok(());
        }
        let path = data.path(place)?;
        let mut names = Vec::new();
        if !is_leaf {
            names.push(path);
        } else if schema.node(node).is_leaf_list() {
            // Defaults too: they are not in use any more once there is an entry.
            states.old.evaluator.values(place, node, &mut |value, _| {
                names.push(path.child(node, crate::path::Keys::Values(vec![value])));
                Ok(ControlFlow::Continue(()))
            })?;
        } else {
            names.push(path.child(node, crate::path::Keys::None));
        }
        for name in names {
            let value = Value::InstanceIdentifier(name.to_instance_identifier(schema).into());
            for &rule in &states.new.plan.instance_identifiers {
                if let Some(leaf) = states.new.plan.rule(rule).node {
                    self.holders(states, leaf, &value, rule)?;
                }
            }
        }
        Ok(())
    }

    /// Instance identifiers that name something in an entry that another took the place of. What is in
    /// both alike is no change, and told by nobody; yet it has another name.
    pub(super) fn named_within<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
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
                _ => self.named_by_identifier(states, child, place)?,
            }
            for place in &places {
                self.named_by_identifier(states, child, place)?;
                self.named_within(states, place)?;
            }
        }
        Ok(())
    }
}
