//! Reverse tracing: from changed data to the instances whose rules read it.

use std::cmp::Ordering;
use std::hash::Hash;
use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::incremental::{Incremental, StatePair};
use super::plan::Trigger;
use super::route::{Join, Segment, chain};
use crate::index_intersection::{Fetched, intersect};
use crate::instances::{Indexed, Instances, Side};
use crate::schema::{NodeId, Schema};
use crate::value::Value;

impl<I: Clone + Eq + Hash + std::fmt::Debug> Incremental<I> {
    /// Follows a segment of a trigger's route in reverse, from its end. For a leaf, `place` is its parent.
    pub(super) fn trace<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        segment_index: usize,
        end: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let segment = &trigger.route.segments[segment_index];
        let is_leaf = segment
            .end(schema)
            .is_some_and(|end| is_leaf_like(schema, end));
        // The ancestors on the way down, innermost first, and the node at which it starts.
        let inner = segment.down.len().saturating_sub(usize::from(is_leaf));
        let mut places = vec![end.clone()];
        for _ in 0..inner {
            match data.parent(&places[places.len() - 1]) {
                Some(parent) => places.push(parent),
                None => return Ok(()),
            }
        }
        let top = places[places.len() - 1].clone();
        if segment_index > 0 {
            return self.trace_deref(states, trigger, segment_index, &top);
        }
        let below = chain(
            schema,
            data.node(&top),
            states.new.plan.rule(trigger.rule).anchor,
        );
        let Some(below) = below else {
            // The anchor is above: one rule for everything below it.
            return self.trace_above(states, trigger, &top);
        };
        if !below.iter().any(|&node| schema.node(node).is_list()) {
            let place = below
                .iter()
                .fold(top, |place, &node| data.container(&place, node));
            self.schedule(states, trigger.rule, place);
            return Ok(());
        }
        if let Some(side) = segment.nearest
            && let Some(entry) = inner.checked_sub(1).and_then(|index| places.get(index))
        {
            return self.trace_nearest(states, trigger, entry, side.opposite());
        }
        if !self.trace_joins(states, trigger, segment, &places)? {
            self.schedule(states, trigger.rule, top);
        }
        Ok(())
    }

    /// Traces from a changed entry to the entry that has it as its nearest sibling. After a deletion, the nearest
    /// sibling of that entry is now the one nearest to the old position, or a new one there.
    fn trace_nearest<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        entry: &I,
        side: Side,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let cached = self.nearest.take().filter(|last| last.side == side);
        let cached = match cached {
            Some(last) if last.is_nearest_of(states, entry)? => Some(last.nearest),
            _ => None,
        };
        let nearest = match cached {
            Some(nearest) => nearest,
            None => {
                self.effort.visits += 1;
                let mut nearest = None;
                let indexed = data.adjacent_entries(entry, side, &mut |entry| {
                    nearest = Some(entry);
                    Ok(ControlFlow::Break(()))
                })?;
                match indexed {
                    Indexed::Yes => nearest,
                    Indexed::No => data.parent(entry),
                }
            }
        };
        self.nearest = Some(NearestSibling {
            side,
            entry: entry.clone(),
            nearest: nearest.clone(),
        });
        match nearest {
            Some(place) => self.schedule_around(states, trigger, place),
            None => Ok(()),
        }
    }

    /// Schedules a rule at the anchor that contains a node, or at the anchors in the node.
    fn schedule_around<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        scope: I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let anchor = states.new.plan.rule(trigger.rule).anchor;
        let place = match chain(schema, data.node(&scope), anchor) {
            Some(below) if !below.iter().any(|&node| schema.node(node).is_list()) => below
                .iter()
                .fold(scope, |place, &node| data.container(&place, node)),
            Some(_) => scope,
            None => return self.trace_above(states, trigger, &scope),
        };
        self.schedule(states, trigger.rule, place);
        Ok(())
    }

    fn trace_above<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        place: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let anchor = states.new.plan.rule(trigger.rule).anchor;
        let mut at = Some(place.clone());
        while let Some(place) = at {
            if data.node(&place) == anchor {
                self.schedule(states, trigger.rule, place);
                return Ok(());
            }
            at = data.parent(&place);
        }
        Ok(())
    }

    /// Traces through a `deref()`: from the targets in a node to the leafrefs with their values.
    fn trace_deref<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        segment_index: usize,
        top: &I,
    ) -> Result<(), T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        let segment = &trigger.route.segments[segment_index];
        let before = &trigger.route.segments[segment_index - 1];
        let (Some(target), Some(leafref)) = (segment.start, before.end(schema)) else {
            return Ok(());
        };
        let mut values = Vec::new();
        let nodes = chain(schema, data.node(top), Some(target));
        let holder_nodes = nodes.as_deref().and_then(<[NodeId]>::split_last);
        // If the segment goes up no level, the leaf itself changed.
        let holder_nodes = holder_nodes.map_or(&[][..], |(_, nodes_with_value)| nodes_with_value);
        if holder_nodes.iter().any(|&node| schema.node(node).is_list()) {
            self.schedule(states, trigger.rule, data.root());
            return Ok(());
        }
        let holder = holder_nodes
            .iter()
            .fold(top.clone(), |place, &node| data.container(&place, node));
        for checker in [&states.old, &states.new] {
            values_at(checker, &holder, target, &mut values)?;
        }
        for value in values {
            let mut nodes_with_value = Vec::new();
            let indexed = data.find(&data.root(), leafref, &value, &mut |holder| {
                nodes_with_value.push(holder);
                Ok(ControlFlow::Continue(()))
            })?;
            if indexed == Indexed::No || is_default(schema, leafref, &value) {
                self.schedule(states, trigger.rule, data.root());
                return Ok(());
            }
            for holder in nodes_with_value {
                self.trace(states, trigger, segment_index - 1, &holder)?;
            }
        }
        Ok(())
    }

    /// Finds the instances of a rule by an equality in its expression; returns false if no equality is usable.
    fn trace_joins<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        segment: &Segment,
        places: &[I],
    ) -> Result<bool, T::Error> {
        // Equalities with leaves in one ancestor lead to instances of one kind; the outermost lead to the most.
        let Some(up) = segment.joins.iter().map(|join| join.up).min() else {
            return Ok(false);
        };
        let joins: SmallVec<[&Join; 2]> =
            segment.joins.iter().filter(|join| join.up == up).collect();
        let mut keys = Vec::with_capacity(joins.len());
        for join in &joins {
            keys.push(JoinKey::of(states, segment, join, places)?);
        }
        // The old and the new content of an entry are two groups with different members.
        if let [Some(one)] = &keys[..]
            && one.values.len() > 1
        {
            for value in &one.values {
                let one = JoinKey {
                    within: one.within.clone(),
                    values: SmallVec::from_elem(value.clone(), 1),
                };
                if !self.trace_join_keys(states, trigger, segment, &joins, vec![Some(one)])? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        self.trace_join_keys(states, trigger, segment, &joins, keys)
    }

    fn trace_join_keys<T: Instances<Inner = I>>(
        &mut self,
        states: &StatePair<'_, T>,
        trigger: &Trigger,
        segment: &Segment,
        joins: &[&Join],
        keys: Vec<Option<JoinKey<I>>>,
    ) -> Result<bool, T::Error> {
        // Entries of one group lead to the same instances, so one trace is enough however many of them change.
        let step = (std::ptr::from_ref(segment) as usize, keys);
        if self.traced_joins.contains(&step) {
            return Ok(true);
        }
        let keys = &step.1;
        let found = intersect(joins.len(), |index, limit, scopes| match &keys[index] {
            Some(key) => joined_places(states, joins[index], key, limit, scopes),
            None => Ok(Fetched::NoIndex),
        })?;
        let Some(scopes) = found else {
            return Ok(false);
        };
        self.traced_joins.insert(step);
        self.effort.visits += scopes.len() as u64;
        for scope in scopes {
            self.schedule_around(states, trigger, scope)?;
        }
        Ok(true)
    }
}

/// The nearest remaining entry on one side of a changed entry. If many adjacent entries are deleted, it is the same
/// for all of them, and a search would pass all deleted ones.
#[derive(Debug)]
pub(super) struct NearestSibling<I> {
    side: Side,
    entry: I,
    nearest: Option<I>,
}

impl<I: Clone + Eq + Hash + std::fmt::Debug> NearestSibling<I> {
    /// Returns whether it is also the nearest entry of another one.
    fn is_nearest_of<T: Instances<Inner = I>>(
        &self,
        states: &StatePair<'_, T>,
        entry: &I,
    ) -> Result<bool, T::Error> {
        let (old, new) = (states.old.data, states.new.data);
        if new.parent(&self.entry) != new.parent(entry) || new.node(&self.entry) != new.node(entry)
        {
            return Ok(false);
        }
        if *entry == self.entry {
            return Ok(true);
        }
        let is_before =
            |left: &I, right: &I| new.compare_entries(left, right) == Some(Ordering::Less);
        match self.side {
            Side::After => Ok(is_before(&self.entry, entry)
                && self
                    .nearest
                    .as_ref()
                    .is_none_or(|nearest| is_before(entry, nearest))),
            // New entries between the two are scheduled by themselves.
            Side::Before => {
                let mut before = None;
                old.adjacent_entries(entry, Side::Before, &mut |other| {
                    before = Some(other);
                    Ok(ControlFlow::Break(()))
                })?;
                Ok(before.as_ref() == Some(&self.entry) && !new.is_stored(&self.entry)?)
            }
        }
    }
}

/// The key of a join lookup: a leaf with one of these values, below a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct JoinKey<I> {
    within: I,
    values: SmallVec<[Value; 2]>,
}

/// A segment, by its address in the plan, and the key of each of its joins.
pub(super) type TracedJoins<I> = (usize, Vec<Option<JoinKey<I>>>);

impl<I: Clone + Eq + Hash + std::fmt::Debug> JoinKey<I> {
    /// The key of a join for a changed entry: the old and new values of its leaf.
    fn of<T: Instances<Inner = I>>(
        states: &StatePair<'_, T>,
        segment: &Segment,
        join: &Join,
        places: &[I],
    ) -> Result<Option<Self>, T::Error> {
        let data = states.new.data;
        let schema = data.schema();
        // `places` begins with the end of the route, or with the parent of the leaf at its end.
        let inner = places.len() - 1;
        let is_own_value = is_leaf_like(schema, segment.down[join.depth]);
        let level = (inner + usize::from(is_own_value)).checked_sub(join.depth + 1);
        let entry = level.and_then(|level| places.get(level));
        let (Some(entry), Some((&leaf, containers))) = (entry, join.leaf.split_last()) else {
            return Ok(None);
        };
        let holder = containers
            .iter()
            .fold(entry.clone(), |place, &node| data.container(&place, node));
        let mut values = Vec::new();
        for checker in [&states.old, &states.new] {
            values_at(checker, &holder, leaf, &mut values)?;
        }
        let within = match join.up <= segment.up {
            true => places[inner].clone(),
            false => data.root(),
        };
        Ok(Some(Self {
            within,
            values: values.into(),
        }))
    }
}

/// The instances that a join leads to: those whose leaf has one of the values.
fn joined_places<T: Instances>(
    states: &StatePair<'_, T>,
    join: &Join,
    key: &JoinKey<T::Inner>,
    limit: usize,
    scopes: &mut Vec<T::Inner>,
) -> Result<Fetched, T::Error> {
    let data = states.new.data;
    let Some(&operand) = join.down.last() else {
        return Ok(Fetched::NoIndex);
    };
    let levels = join.down.len() - 1;
    let mut fetched = Fetched::Complete;
    for value in &key.values {
        if is_default(data.schema(), operand, value) {
            return Ok(Fetched::NoIndex);
        }
        let indexed = data.find(&key.within, operand, value, &mut |holder| {
            if scopes.len() >= limit {
                fetched = Fetched::Partial;
                return Ok(ControlFlow::Break(()));
            }
            scopes.extend(super::leafref_target::climb(data, &holder, levels));
            Ok(ControlFlow::Continue(()))
        })?;
        if indexed == Indexed::No {
            return Ok(Fetched::NoIndex);
        }
    }
    Ok(fetched)
}

/// The distinct values of a leaf or leaf-list in a node, if it exists.
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

/// Returns whether instances of a node are identified by their parent.
fn is_leaf_like(schema: &Schema, node: NodeId) -> bool {
    use crate::schema::NodeKind;
    matches!(
        schema.node(node).kind,
        NodeKind::Leaf(_) | NodeKind::LeafList(_) | NodeKind::AnyData | NodeKind::AnyXml
    )
}
