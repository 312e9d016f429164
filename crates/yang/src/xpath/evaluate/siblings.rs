//! Siblings with predicates: `preceding-sibling::rule[a = current()/a]`.
//!
//! The entries that pass are found by the values that the predicates require, as on the `child` axis. All entries of
//! a list whose predicates have the same operands share the result: the earlier ones among them are found by a search
//! in one sorted set ([`super::value_cache`]), so that the position of each entry in its group is not counted again.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::cached_values::{CachedKind, CachedValue, Entries};
use super::evaluator::{CONTINUE, Env, Visitor};
use super::{Evaluator, Item};
use crate::instances::{Instances, Side};
use crate::schema::NodeId;
use crate::xpath::{Axis, Expr, PathStep, is_positional};

/// The side of a sibling axis.
pub(super) fn side_of(axis: Axis) -> Option<Side> {
    match axis {
        Axis::PrecedingSibling => Some(Side::Before),
        Axis::FollowingSibling => Some(Side::After),
        _ => None,
    }
}

/// A step from an entry to others of its list.
struct SiblingStep<'s, T: Instances> {
    side: Side,
    entry: &'s T::Inner,
    parent: T::Inner,
    list: NodeId,
}

impl<T: Instances> Evaluator<'_, T> {
    /// The siblings of an entry on a step, nearest first, found by the values that its predicates require; `None` if
    /// they require none.
    pub(super) fn siblings_by_value(
        &self,
        from: &Item<T>,
        step: &PathStep,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        let Some(sibling_step) = self.sibling_step(from, step) else {
            return Ok(None);
        };
        let known = self.known_values(sibling_step.list, &step.predicates, env)?;
        let mut entries = Vec::new();
        let mut is_ordered = true;
        let found = self.look_up(
            &sibling_step.parent,
            sibling_step.list,
            &known,
            &mut |item, _| {
                if let Item::Inner(entry) = item {
                    let order = self.data.compare_entries(&entry, sibling_step.entry);
                    is_ordered &= order.is_some();
                    if order == Some(sibling_step.side.order()) {
                        entries.push(entry);
                    }
                }
                Ok(CONTINUE)
            },
        )?;
        if found.is_none() || !is_ordered {
            return Ok(None);
        }
        self.sort_entries(&mut entries);
        if sibling_step.side == Side::Before {
            entries.reverse();
        }
        self.filter_entries(entries, step, env, visit).map(Some)
    }

    /// The number of siblings on the only step of a path, if other entries of the list share the same set.
    pub(super) fn count_siblings(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<u64>, T::Error> {
        let Expr::Path(path) = expr else {
            return Ok(None);
        };
        let ([step], false, false) = (&path.steps[..], path.is_absolute, self.is_cheap(expr))
        else {
            return Ok(None);
        };
        let Some(sibling_step) = self.sibling_step(env.item, step) else {
            return Ok(None);
        };
        if step.predicates.iter().any(is_positional) {
            return Ok(None);
        }
        let Some(inputs) = self.inputs_of_step(step, env)? else {
            return Ok(None);
        };
        let cached = self.shared(CachedKind::Siblings, expr, inputs, &|| {
            self.entries_passing(&sibling_step, step, env)
                .map(CachedValue::Entries)
        })?;
        let CachedValue::Entries(Some(entries)) = cached else {
            return Ok(None);
        };
        let order = |other: &T::Inner| self.data.compare_entries(other, sibling_step.entry);
        let earlier = entries.partition_point(|other| order(other) == Some(Ordering::Less));
        let count = match sibling_step.side {
            Side::Before => earlier,
            Side::After => {
                let itself = entries.get(earlier).map(order);
                let is_in = usize::from(itself == Some(Some(Ordering::Equal)));
                entries.len() - earlier - is_in
            }
        };
        Ok(Some(count as u64))
    }

    /// The step along a sibling axis, if it leads only to entries of the same list.
    fn sibling_step<'s>(&self, from: &'s Item<T>, step: &PathStep) -> Option<SiblingStep<'s, T>> {
        let side = side_of(step.axis)?;
        let entry = from.as_inner()?;
        let (list, parent) = (self.data.node(entry)?, self.data.parent(entry)?);
        let node = self.schema().node(list);
        let is_own = node.is_list()
            && self.is_in_scope(node)
            && self.only_child(&parent, &step.test) == Some(list);
        is_own.then_some(SiblingStep {
            side,
            entry,
            parent,
            list,
        })
    }

    /// All entries of a list that pass the predicates of a step, in order; `None` if the order is unknown.
    fn entries_passing(
        &self,
        sibling_step: &SiblingStep<'_, T>,
        step: &PathStep,
        env: &Env<'_, T>,
    ) -> Result<Option<Entries<T>>, T::Error> {
        let known = self.known_values(sibling_step.list, &step.predicates, env)?;
        let mut entries = Vec::new();
        let mut add = |item| {
            if let Item::Inner(entry) = item {
                entries.push(entry);
            }
            Ok(CONTINUE)
        };
        let found = self.look_up(
            &sibling_step.parent,
            sibling_step.list,
            &known,
            &mut |item, _| add(item),
        )?;
        if found.is_none() {
            let _ = self.instances(&sibling_step.parent, sibling_step.list, &mut add)?;
        }
        let mut passing = Vec::new();
        let _ = self.filter_entries(entries, step, env, &mut |item| {
            if let Item::Inner(entry) = item {
                passing.push(entry);
            }
            Ok(CONTINUE)
        })?;
        let is_ordered = passing.first().is_none_or(|first| {
            self.data
                .compare_entries(first, sibling_step.entry)
                .is_some()
        });
        self.sort_entries(&mut passing);
        Ok(is_ordered.then(|| passing.into()))
    }

    fn sort_entries(&self, entries: &mut [T::Inner]) {
        let order = |left: &T::Inner, right: &T::Inner| self.data.compare_entries(left, right);
        entries.sort_by(|left, right| order(left, right).unwrap_or(Ordering::Equal));
    }

    fn filter_entries(
        &self,
        entries: Vec<T::Inner>,
        step: &PathStep,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Result<ControlFlow<()>, T::Error> {
        let items = entries.into_iter().map(Item::Inner);
        self.pass(items, &step.predicates, env, visit)
    }
}

impl Side {
    /// The order of an entry on this side relative to its sibling.
    fn order(self) -> Ordering {
        match self {
            Self::Before => Ordering::Less,
            Self::After => Ordering::Greater,
        }
    }
}
