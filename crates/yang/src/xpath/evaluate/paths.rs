//! Location paths (XPath 1.0 §2), one node at a time.
//!
//! As long as no step can visit a node twice, a path is a stream: each node goes through all steps before the next.
//! If a step could (`..` from several nodes, `descendant` from nested nodes), the nodes before it are collected into
//! a set first. before is made a set first.

use rustc_hash::FxHashSet;

use super::evaluator::{Env, GO_ON, STOP, Visitor};
use super::{Evaluator, Item};
use crate::instances::{Instances, Visit};
use crate::xpath::{Axis, LocationPath, NodeTest, PathStep};

/// The position of the nodes of a stream relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// At most one node.
    One,
    /// Distinct nodes on one level of the tree.
    Level,
    /// Distinct nodes.
    Any,
}

/// The order of the nodes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Document,
    Reverse,
    /// In document order if all are instances of one schema node.
    OfOneNode,
    Unknown,
}

/// The static properties of a node stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) spread: Spread,
    pub(super) order: Order,
}

impl Flow {
    pub(super) const ONE: Self = Self {
        spread: Spread::One,
        order: Order::Document,
    };

    /// A sorted set.
    pub(super) const SORTED: Self = Self {
        spread: Spread::Any,
        order: Order::Document,
    };

    const fn new(spread: Spread, order: Order) -> Self {
        Self { spread, order }
    }

    /// The properties after an axis; `None` if nodes might be visited twice.
    fn along(self, axis: Axis) -> Option<Self> {
        let Self { spread, order } = self;
        let is_one = spread == Spread::One;
        let is_sorted_level = spread != Spread::Any && order == Order::Document;
        Some(match axis {
            Axis::SelfNode => self,
            Axis::Attribute | Axis::Namespace => Self::ONE,
            Axis::Child if is_sorted_level => Self::new(Spread::Level, order),
            Axis::Child if order == Order::OfOneNode => self,
            Axis::Child => Self::new(spread, Order::Unknown),
            Axis::Parent if is_one => self,
            Axis::FollowingSibling if is_one => Self::new(Spread::Level, Order::Document),
            Axis::PrecedingSibling if is_one => Self::new(Spread::Level, Order::Reverse),
            Axis::Following if is_one => Self::new(Spread::Any, Order::Document),
            Axis::Ancestor | Axis::AncestorOrSelf | Axis::Preceding if is_one => {
                Self::new(Spread::Any, Order::Reverse)
            }
            Axis::Descendant | Axis::DescendantOrSelf if is_sorted_level => {
                Self::new(Spread::Any, Order::Document)
            }
            Axis::Descendant | Axis::DescendantOrSelf if spread == Spread::Level => {
                Self::new(Spread::Any, Order::Unknown)
            }
            _ => return None,
        })
    }

    /// The properties after `//` and a name.
    fn down(self) -> Option<Self> {
        let order = match self {
            Self {
                spread: Spread::Any,
                ..
            } => return None,
            Self {
                order: Order::Document,
                ..
            } => Order::OfOneNode,
            _ => Order::Unknown,
        };
        Some(Self::new(Spread::Any, order))
    }

    /// The properties of the sorted set of an axis that might visit nodes twice. Parents of a sorted level are sorted.
    fn after_set(self, axis: Axis) -> Self {
        let stays_level = matches!(
            axis,
            Axis::Parent | Axis::FollowingSibling | Axis::PrecedingSibling
        );
        if stays_level && self.spread == Spread::Level {
            Self::new(Spread::Level, Order::Document)
        } else {
            Self::SORTED
        }
    }

    /// The properties after a step, or after two steps that are evaluated as one.
    fn by(self, steps: &[PathStep]) -> Option<(Self, usize)> {
        match steps {
            [first, second, ..] if is_descent(first) && second.axis == Axis::Child => {
                Some((self.down()?, 2))
            }
            [first, ..] => Some((self.along(first.axis)?, 1)),
            [] => Some((self, 0)),
        }
    }
}

/// Returns whether a step is the abbreviated part of `//`.
pub(super) fn is_descent(step: &PathStep) -> bool {
    step.axis == Axis::DescendantOrSelf && step.test == NodeTest::Node && step.predicates.is_empty()
}

impl<T: Instances> Evaluator<'_, T> {
    /// Visits the distinct nodes of a path; returns the properties of the stream.
    pub(super) fn stream_path(
        &self,
        path: &LocationPath,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if path.is_absolute {
            let root = Item::Inner(self.data.root());
            self.stream_steps(&root, &path.steps, env, visit)
        } else {
            self.stream_steps(env.item, &path.steps, env, visit)
        }
    }

    /// Visits the distinct nodes that steps lead to from one node.
    pub(super) fn stream_steps(
        &self,
        from: &Item<T>,
        steps: &[PathStep],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let (count, flow) = streamed(Flow::ONE, steps);
        if count == steps.len() {
            return self.each(from, steps, env, visit);
        }
        let mut items = Vec::new();
        let _ = self.each(from, &steps[..count], env, &mut |item| {
            items.push(item);
            Ok(GO_ON)
        })?;
        self.stream_from(items, flow, &steps[count..], env, visit)
    }

    /// Visits the distinct nodes that steps lead to from several nodes.
    pub(super) fn stream_from(
        &self,
        mut items: Vec<Item<T>>,
        mut flow: Flow,
        mut steps: &[PathStep],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        loop {
            let (count, after) = streamed(flow, steps);
            if count == steps.len() {
                for item in &items {
                    if self.each(item, steps, env, visit)?.is_break() {
                        return Ok(STOP);
                    }
                }
                return Ok(GO_ON);
            }
            if count > 0 {
                items = self.gathered(&items, &steps[..count], env)?;
                flow = after;
            }
            (items, flow) = self.through(items, flow, &steps[count], env)?;
            steps = &steps[count + 1..];
        }
    }

    /// Collects the nodes of steps that visit no node twice.
    fn gathered(
        &self,
        from: &[Item<T>],
        steps: &[PathStep],
        env: &Env<'_, T>,
    ) -> Result<Vec<Item<T>>, T::Error> {
        let mut items = Vec::new();
        for item in from {
            let _ = self.each(item, steps, env, &mut |item| {
                items.push(item);
                Ok(GO_ON)
            })?;
        }
        Ok(items)
    }

    /// The result of one step that may visit nodes twice, as a sorted set.
    fn through(
        &self,
        mut from: Vec<Item<T>>,
        flow: Flow,
        step: &PathStep,
        env: &Env<'_, T>,
    ) -> Result<(Vec<Item<T>>, Flow), T::Error> {
        self.sort(&mut from, flow.order)?;
        let mut seen = FxHashSet::default();
        let mut items = Vec::new();
        for item in &from {
            let _ = self.step(item, step, env, &mut |item| {
                if items.last() != Some(&item) && seen.insert(item.clone()) {
                    items.push(item);
                }
                Ok(GO_ON)
            })?;
        }
        let after = flow.after_set(step.axis);
        if step.axis != Axis::Parent || after.spread != Spread::Level {
            self.sort(&mut items, Order::Unknown)?;
        }
        Ok((items, after))
    }

    /// Visits the nodes of steps that visit no node twice, from one node.
    fn each(
        &self,
        from: &Item<T>,
        steps: &[PathStep],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let Some((step, rest)) = steps.split_first() else {
            return visit(from.clone());
        };
        if step.axis == Axis::Parent && step.test == NodeTest::Node && step.predicates.is_empty() {
            self.step_one()?;
            return match self.parent(from) {
                Some(parent) if rest.is_empty() => visit(parent),
                Some(parent) => self.each(&parent, rest, env, visit),
                None => Ok(GO_ON),
            };
        }
        match rest.split_first() {
            None => self.step(from, step, env, visit),
            Some((child, rest)) if is_descent(step) && child.axis == Axis::Child => {
                let reach = self.reach(&child.test);
                self.places(from, &reach, &mut |place| {
                    self.step(&place, child, env, &mut |item| {
                        self.each(&item, rest, env, visit)
                    })
                })
            }
            Some(_) => self.step(from, step, env, &mut |item| {
                self.each(&item, rest, env, visit)
            }),
        }
    }

    /// Visits the nodes of one step from one node, nearest first.
    pub(super) fn step(
        &self,
        from: &Item<T>,
        step: &PathStep,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if step.predicates.is_empty() {
            self.axis(from, step.axis, &step.test, visit)
        } else {
            self.step_with_predicates(from, step, env, visit)
        }
    }
}

/// The number of leading steps that visit no node twice, and the properties after them.
fn streamed(mut flow: Flow, steps: &[PathStep]) -> (usize, Flow) {
    let mut count = 0;
    while count < steps.len() {
        let Some((after, taken)) = flow.by(&steps[count..]) else {
            break;
        };
        flow = after;
        count += taken;
    }
    (count, flow)
}

/// The properties of the nodes of a path.
pub(super) fn flow_of(from: Flow, mut steps: &[PathStep]) -> Flow {
    let mut flow = from;
    loop {
        let (count, after) = streamed(flow, steps);
        if count == steps.len() {
            return after;
        }
        flow = after.after_set(steps[count].axis);
        steps = &steps[count + 1..];
    }
}
