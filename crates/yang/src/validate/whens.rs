//! Evaluation of `when`s: removes nodes whose `when` became false, and rejects new nodes whose `when` is false.

use std::hash::Hash;

use rustc_hash::FxHashSet;

use super::checker::{stored_instances, when_error};
use super::incremental::{Incremental, Removal, StatePair, is_within};
use crate::instances::Instances;
use crate::schema::{Node, NodeId, NodeKind};
use crate::xpath::evaluate::Item;

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// Returns whether `when`s remain to be evaluated.
    pub fn has_whens(&self) -> bool {
        !self.whens.is_empty()
    }

    /// Evaluates the next `when`s and returns the nodes to remove. The caller removes them and reports each removal to
    /// [`Self::changed`].
    pub fn evaluate_whens<T: Instances<Inner = I>>(
        &mut self,
        states: &mut StatePair<'_, T>,
    ) -> Result<Vec<Removal<I>>, T::Error> {
        let mut removals = Vec::new();
        // A removed node may have been the nearest sibling.
        self.nearest = None;
        let Some((_, whens)) = self.whens.pop_first() else {
            return Ok(removals);
        };
        self.evaluated.extend(whens.iter().cloned());
        for (rule, scope) in whens {
            let compiled = states.new.plan.rule(rule);
            let Some(node) = compiled.node else {
                continue;
            };
            for holder in self.anchors(&states.new, rule, &scope)? {
                self.effort.checks += 1;
                self.evaluate_when(states, node, &holder, &mut removals)?;
            }
        }
        self.reject_new_within(states, &removals)?;
        Ok(removals)
    }

    /// Rejects new nodes in a node to be removed if their own `when` is false too (RFC 7950 §8.3.2): the removal
    /// would hide the error.
    fn reject_new_within<T: Instances<Inner = I>>(
        &mut self,
        states: &mut StatePair<'_, T>,
        removals: &[Removal<I>],
    ) -> Result<(), T::Error> {
        let places = removals.iter().filter_map(|removal| match removal {
            Removal::Inner(place) => Some(place.clone()),
            Removal::Leaf(..) | Removal::Value(..) => None,
        });
        let places: FxHashSet<I> = places.collect();
        if places.is_empty() {
            return Ok(());
        }
        // The `when`s of new nodes are scheduled at exactly those instances.
        for (rule, holder) in self.whens.values().flatten() {
            let data = states.new.data;
            if !places.contains(holder) && !is_within(data, holder, &places) {
                continue;
            }
            let rule = states.new.plan.rule(*rule);
            let Some(node) = rule.node.filter(|_| data.node(holder) == rule.anchor) else {
                continue;
            };
            let node = data.schema().node(node);
            self.effort.checks += 1;
            let Some(when) = states.new.failing_when(node, holder)? else {
                continue;
            };
            for item in stored_instances(data, node, holder)? {
                if !existed_before(states, node, holder, &item)? {
                    states.new.report(&item, when_error(node, when))?;
                }
            }
        }
        self.take_errors(states);
        Ok(())
    }

    fn evaluate_when<T: Instances<Inner = I>>(
        &mut self,
        states: &mut StatePair<'_, T>,
        id: NodeId,
        holder: &I,
        removals: &mut Vec<Removal<I>>,
    ) -> Result<(), T::Error> {
        let node = states.new.schema().node(id);
        let failing = states.new.failing_when(node, holder)?;
        // The `when`s of enclosing choices precede its own: if another one fails first, that may not affect the node,
        // but a choice.
        let is_changed = match states.old.evaluator.is_accessible(holder)? {
            true => {
                let before = states.old.failing_when(node, holder)?;
                before.map(std::ptr::from_ref) != failing.map(std::ptr::from_ref)
            }
            false => failing.is_none(),
        };
        if is_changed {
            self.schedule_required_children(states, holder);
            self.default_changed(states, id, holder)?;
        }
        let Some(when) = failing else {
            return Ok(());
        };
        for item in stored_instances(states.new.data, node, holder)? {
            if !existed_before(states, node, holder, &item)? {
                states.new.report(&item, when_error(node, when))?;
                continue;
            }
            removals.push(match item {
                Item::Inner(place) => Removal::Inner(place),
                Item::Leaf(leaf) | Item::Text(leaf) if node.is_leaf_list() => {
                    Removal::Value(leaf.holder, id, leaf.value)
                }
                Item::Leaf(leaf) | Item::Text(leaf) => Removal::Leaf(leaf.holder, id),
            });
        }
        self.take_errors(states);
        Ok(())
    }
}

/// Returns whether a stored instance of a node existed before the change; for a leaf, with the same value.
fn existed_before<T: Instances>(
    states: &StatePair<'_, T>,
    node: &Node,
    holder: &T::Inner,
    item: &Item<T>,
) -> Result<bool, T::Error> {
    let leaf = match item {
        Item::Inner(place) => return Ok(counterpart(states, place)?.is_some()),
        Item::Leaf(leaf) | Item::Text(leaf) => leaf,
    };
    let Some(before) = counterpart(states, holder)? else {
        return Ok(false);
    };
    match node.is_leaf_list() {
        true => states.old.data.has_value(&before, node.id, &leaf.value),
        false => Ok(states.old.data.leaf(&before, node.id)?.as_ref() == Some(&leaf.value)),
    }
}

/// The instance in the old state that corresponds to a stored one, by its keys: an `ordered-by user` entry may have
/// moved, and another may be at its old position.
fn counterpart<T: Instances>(
    states: &StatePair<'_, T>,
    place: &T::Inner,
) -> Result<Option<T::Inner>, T::Error> {
    let (new, old) = (states.new.data, states.old.data);
    let (Some(id), Some(parent)) = (new.node(place), new.parent(place)) else {
        return Ok(Some(place.clone()));
    };
    let Some(parent) = counterpart(states, &parent)? else {
        return Ok(None);
    };
    let before = match &new.schema().node(id).kind {
        NodeKind::List(list) => {
            let mut keys = Vec::new();
            for &key in &list.keys {
                keys.extend(new.leaf(place, key)?);
            }
            return old.entry(&parent, id, &keys);
        }
        _ => old.container(&parent, id),
    };
    Ok(old.is_stored(&before)?.then_some(before))
}
