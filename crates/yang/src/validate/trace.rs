//! The way back: from what changed to the places whose rules read it.

use std::hash::Hash;
use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::incremental::{Incremental, States};
use super::plan::Trigger;
use super::route::{Join, Leg, chain};
use crate::instances::{Indexed, Instances};
use crate::schema::{NodeId, Schema};
use crate::shortest::{Told, in_common};
use crate::value::Value;

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// Follows a leg of a trigger's route back from its end. A leaf is told by its holder.
    pub(super) fn trace<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        trigger: &Trigger,
        leg_index: usize,
        end: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let leg = &trigger.route.legs[leg_index];
        let is_leaf = leg.end(schema).is_some_and(|end| is_leaf_like(schema, end));
        // The places of the way down, the innermost first, and the place that it begins at.
        let inner = leg.down.len().saturating_sub(usize::from(is_leaf));
        let mut places = vec![end.clone()];
        for _ in 0..inner {
            match data.parent(&places[places.len() - 1]) {
                Some(parent) => places.push(parent),
                None => return Ok(()),
            }
        }
        let top = places[places.len() - 1].clone();
        if leg_index > 0 {
            return self.trace_jump(states, trigger, leg_index, &top);
        }
        let below = chain(
            schema,
            data.node(&top),
            states.new.plan.rule(trigger.rule).anchor,
        );
        let Some(below) = below else {
            // The anchor is above: a rule for all that is below it.
            return self.trace_above(states, trigger, &top);
        };
        if !below.iter().any(|&node| schema.node(node).is_list()) {
            let place = below
                .iter()
                .fold(top, |place, &node| data.container(&place, node));
            self.is_due(states, trigger.rule, place);
            return Ok(());
        }
        if !self.trace_joins(states, trigger, leg, &places)? {
            self.is_due(states, trigger.rule, top);
        }
        Ok(())
    }

    fn trace_above<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        trigger: &Trigger,
        place: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let anchor = states.new.plan.rule(trigger.rule).anchor;
        let mut at = Some(place.clone());
        while let Some(place) = at {
            if data.node(&place) == anchor {
                self.is_due(states, trigger.rule, place);
                return Ok(());
            }
            at = data.parent(&place);
        }
        Ok(())
    }

    /// Back through a `deref()`: from the targets at a place to the leafrefs with their values.
    fn trace_jump<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        trigger: &Trigger,
        leg_index: usize,
        top: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let leg = &trigger.route.legs[leg_index];
        let before = &trigger.route.legs[leg_index - 1];
        let (Some(target), Some(leafref)) = (leg.start, before.end(schema)) else {
            return Ok(());
        };
        let mut values = Vec::new();
        let way = chain(schema, data.node(top), Some(target));
        let holder_way = way.as_deref().and_then(<[NodeId]>::split_last);
        // Where the leg goes up no level, the leaf itself changed.
        let holder_way = holder_way.map_or(&[][..], |(_, holders)| holders);
        if holder_way.iter().any(|&node| schema.node(node).is_list()) {
            self.is_due(states, trigger.rule, data.root());
            return Ok(());
        }
        let holder = holder_way
            .iter()
            .fold(top.clone(), |place, &node| data.container(&place, node));
        for checker in [&states.old, &states.new] {
            values_at(checker, &holder, target, &mut values)?;
        }
        for value in values {
            let mut holders = Vec::new();
            let answer = data.find(&data.root(), leafref, &value, &mut |holder| {
                holders.push(holder);
                Ok(ControlFlow::Continue(()))
            })?;
            if answer == Indexed::No || is_default(schema, leafref, &value) {
                self.is_due(states, trigger.rule, data.root());
                return Ok(());
            }
            for holder in holders {
                self.trace(states, trigger, leg_index - 1, &holder)?;
            }
        }
        Ok(())
    }

    /// Finds the places of a rule through an equality in its expression; false where none helps.
    fn trace_joins<T: Instances<Inner = I>>(
        &mut self,
        states: &States<'_, T>,
        trigger: &Trigger,
        leg: &Leg,
        places: &[I],
    ) -> Result<bool, T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let anchor = states.new.plan.rule(trigger.rule).anchor;
        // Equalities with leaves around one place lead to places of one kind; the outermost are most.
        let Some(up) = leg.joins.iter().map(|join| join.up).min() else {
            return Ok(false);
        };
        let joins: SmallVec<[&Join; 2]> = leg.joins.iter().filter(|join| join.up == up).collect();
        let found = in_common(joins.len(), |which, limit, scopes| {
            joined_places(states, leg, joins[which], places, limit, scopes)
        })?;
        let Some(scopes) = found else {
            return Ok(false);
        };
        for scope in scopes {
            let place = match chain(schema, data.node(&scope), anchor) {
                Some(below) if !below.iter().any(|&node| schema.node(node).is_list()) => below
                    .iter()
                    .fold(scope, |place, &node| data.container(&place, node)),
                Some(_) => scope,
                None => {
                    self.trace_above(states, trigger, &scope)?;
                    continue;
                }
            };
            self.is_due(states, trigger.rule, place);
        }
        Ok(true)
    }
}

/// The places that an equality leads to from an entry that changed: those whose leaf holds what the
/// leaf of the entry holds, or held.
fn joined_places<T: Instances>(
    states: &States<'_, T>,
    leg: &Leg,
    join: &Join,
    places: &[T::Inner],
    limit: usize,
    scopes: &mut Vec<T::Inner>,
) -> Result<Told, T::Error> {
    let data = states.new.data;
    let schema = data.schema();
    // `places` begins with the end of the way, or the holder of the leaf at its end.
    let inner = places.len() - 1;
    let is_own_value = is_leaf_like(schema, leg.down[join.depth]);
    let level = (inner + usize::from(is_own_value)).checked_sub(join.depth + 1);
    let entry = level.and_then(|level| places.get(level));
    let (Some(entry), Some((&leaf, containers)), Some(&operand)) =
        (entry, join.leaf.split_last(), join.down.last())
    else {
        return Ok(Told::Nothing);
    };
    let holder = containers
        .iter()
        .fold(entry.clone(), |place, &node| data.container(&place, node));
    let mut values = Vec::new();
    for checker in [&states.old, &states.new] {
        values_at(checker, &holder, leaf, &mut values)?;
    }
    let within = match join.up <= leg.up {
        true => places[inner].clone(),
        false => data.root(),
    };
    let levels = join.down.len() - 1;
    let mut told = Told::All;
    for value in values {
        if is_default(schema, operand, &value) {
            return Ok(Told::Nothing);
        }
        let answer = data.find(&within, operand, &value, &mut |holder| {
            if scopes.len() >= limit {
                told = Told::Part;
                return Ok(ControlFlow::Break(()));
            }
            scopes.extend(super::target::climb(data, &holder, levels));
            Ok(ControlFlow::Continue(()))
        })?;
        if answer == Indexed::No {
            return Ok(Told::Nothing);
        }
    }
    Ok(told)
}

/// The values of a leaf or leaf-list in a place, as far as it exists; each once.
fn values_at<T: Instances>(
    checker: &super::checker::Checker<'_, T>,
    holder: &T::Inner,
    node: NodeId,
    values: &mut Vec<Value>,
) -> Result<(), T::Error> {
    if !checker.evaluator.is_accessible(holder)? {
        return Ok(());
    }
    let mut add = |value| {
        if !values.contains(&value) {
            values.push(value);
        }
    };
    if checker.schema().node(node).is_leaf_list() {
        return checker.evaluator.values(holder, node, &mut |value, _| {
            add(value);
            Ok(ControlFlow::Continue(()))
        });
    }
    if let Some((value, _)) = checker.evaluator.leaf(holder, node)? {
        add(value);
    }
    Ok(())
}

fn is_default(schema: &Schema, node: NodeId, value: &Value) -> bool {
    let leaf = schema.node(node).as_value();
    leaf.is_some_and(|leaf| leaf.defaults.contains(value))
}

/// Whether instances of a node are told by the place that holds them.
fn is_leaf_like(schema: &Schema, node: NodeId) -> bool {
    use crate::schema::NodeKind;
    matches!(
        schema.node(node).kind,
        NodeKind::Leaf(_) | NodeKind::LeafList(_) | NodeKind::AnyData | NodeKind::AnyXml
    )
}
