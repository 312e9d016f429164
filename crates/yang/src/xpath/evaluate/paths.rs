//! Location paths (XPath 1.0 §2), one node at a time.
//!
//! As long as no step can visit a node twice, a path is a stream: each node goes through all steps before the next.
//! If a step could (`..` from several nodes, `descendant` from nested nodes), the nodes before it are collected into
//! a set first.

use rustc_hash::FxHashSet;

use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::{Evaluator, Item};
use crate::instances::{Instances, Visit};
use crate::xpath::{Axis, LocationPath, NodeTest, PathStep};

/// The position of the nodes of a stream relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
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
pub(super) struct StreamProperties {
    pub(super) distribution: Distribution,
    pub(super) order: Order,
}

impl StreamProperties {
    pub(super) const ONE: Self = Self {
        distribution: Distribution::One,
        order: Order::Document,
    };

    /// A sorted set.
    pub(super) const SORTED: Self = Self {
        distribution: Distribution::Any,
        order: Order::Document,
    };

    const fn new(distribution: Distribution, order: Order) -> Self {
        Self {
            distribution,
            order,
        }
    }

    /// The properties after an axis; `None` if nodes might be visited twice.
    fn after_axis(self, axis: Axis) -> Option<Self> {
        let Self {
            distribution,
            order,
        } = self;
        let is_one = distribution == Distribution::One;
        let is_sorted_level = distribution != Distribution::Any && order == Order::Document;
        Some(match axis {
            Axis::SelfNode => self,
            Axis::Attribute | Axis::Namespace => Self::ONE,
            Axis::Child if is_sorted_level => Self::new(Distribution::Level, order),
            Axis::Child if order == Order::OfOneNode => self,
            Axis::Child => Self::new(distribution, Order::Unknown),
            Axis::Parent if is_one => self,
            Axis::FollowingSibling if is_one => Self::new(Distribution::Level, Order::Document),
            Axis::PrecedingSibling if is_one => Self::new(Distribution::Level, Order::Reverse),
            Axis::Following if is_one => Self::new(Distribution::Any, Order::Document),
            Axis::Ancestor | Axis::AncestorOrSelf | Axis::Preceding if is_one => {
                Self::new(Distribution::Any, Order::Reverse)
            }
            Axis::Descendant | Axis::DescendantOrSelf if is_sorted_level => {
                Self::new(Distribution::Any, Order::Document)
            }
            Axis::Descendant | Axis::DescendantOrSelf if distribution == Distribution::Level => {
                Self::new(Distribution::Any, Order::Unknown)
            }
            _ => return None,
        })
    }

    /// The properties after `//` and a name.
    fn after_descent(self) -> Option<Self> {
        let order = match self {
            Self {
                distribution: Distribution::Any,
                ..
            } => return None,
            Self {
                order: Order::Document,
                ..
            } => Order::OfOneNode,
            _ => Order::Unknown,
        };
        Some(Self::new(Distribution::Any, order))
    }

    /// The properties of the sorted set of an axis that might visit nodes twice. Parents of a sorted level are sorted.
    fn after_set(self, axis: Axis) -> Self {
        let stays_level = matches!(
            axis,
            Axis::Parent | Axis::FollowingSibling | Axis::PrecedingSibling
        );
        if stays_level && self.distribution == Distribution::Level {
            Self::new(Distribution::Level, Order::Document)
        } else {
            Self::SORTED
        }
    }

    /// The properties after a step, or after two steps that are evaluated as one.
    fn after_step(self, steps: &[PathStep]) -> Option<(Self, usize)> {
        match steps {
            [first, second, ..] if is_descent(first) && second.axis == Axis::Child => {
                Some((self.after_descent()?, 2))
            }
            [first, ..] => Some((self.after_axis(first.axis)?, 1)),
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
        self.stream_leading(path, path.steps.len(), env, visit)
    }

    /// Visits the distinct nodes that the leading steps of a path lead to. The steps after them have no predicates.
    pub(super) fn stream_leading(
        &self,
        path: &LocationPath,
        step_count: usize,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if let Some(flow) = self.nodes_by_value(path, step_count, env, visit)? {
            return Ok(flow);
        }
        let steps = &path.steps[..step_count];
        self.measured_path(path, || match path.is_absolute {
            true => {
                let root = Item::Inner(self.data.root());
                self.stream_steps(&root, steps, env, visit)
            }
            false => self.stream_steps(env.item, steps, env, visit),
        })
    }

    /// Visits the distinct nodes that steps lead to from one node.
    pub(super) fn stream_steps(
        &self,
        from: &Item<T>,
        steps: &[PathStep],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let (count, properties) = leading_stream(StreamProperties::ONE, steps);
        if count == steps.len() {
            return self.visit_steps(from, steps, env, visit);
        }
        let mut items = Vec::new();
        let _ = self.visit_steps(from, &steps[..count], env, &mut |item| {
            items.push(item);
            Ok(CONTINUE)
        })?;
        self.stream_from(items, properties, &steps[count..], env, visit)
    }

    /// Visits the distinct nodes that steps lead to from several nodes.
    pub(super) fn stream_from(
        &self,
        mut items: Vec<Item<T>>,
        mut properties: StreamProperties,
        mut steps: &[PathStep],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        loop {
            let (count, after) = leading_stream(properties, steps);
            if count == steps.len() {
                for item in &items {
                    if self.visit_steps(item, steps, env, visit)?.is_break() {
                        return Ok(STOP);
                    }
                }
                return Ok(CONTINUE);
            }
            if count > 0 {
                items = self.collect_nodes(&items, &steps[..count], env)?;
                properties = after;
            }
            (items, properties) = self.step_as_set(items, properties, &steps[count], env)?;
            steps = &steps[count + 1..];
        }
    }

    /// Collects the nodes of steps that visit no node twice.
    fn collect_nodes(
        &self,
        from: &[Item<T>],
        steps: &[PathStep],
        env: &Env<'_, T>,
    ) -> Result<Vec<Item<T>>, T::Error> {
        let mut items = Vec::new();
        for item in from {
            let _ = self.visit_steps(item, steps, env, &mut |item| {
                items.push(item);
                Ok(CONTINUE)
            })?;
        }
        Ok(items)
    }

    /// The result of one step that may visit nodes twice, as a sorted set.
    fn step_as_set(
        &self,
        mut from: Vec<Item<T>>,
        properties: StreamProperties,
        step: &PathStep,
        env: &Env<'_, T>,
    ) -> Result<(Vec<Item<T>>, StreamProperties), T::Error> {
        self.sort(&mut from, properties.order)?;
        let mut visited = FxHashSet::default();
        let mut items = Vec::new();
        for item in &from {
            let _ = self.step(item, step, env, &mut |item| {
                if items.last() != Some(&item) && visited.insert(item.clone()) {
                    items.push(item);
                }
                Ok(CONTINUE)
            })?;
        }
        let after = properties.after_set(step.axis);
        if step.axis != Axis::Parent || after.distribution != Distribution::Level {
            self.sort(&mut items, Order::Unknown)?;
        }
        Ok((items, after))
    }

    /// Visits the nodes of steps that visit no node twice, from one node.
    fn visit_steps(
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
            self.count_visit()?;
            return match self.parent(from) {
                Some(parent) if rest.is_empty() => visit(parent),
                Some(parent) => self.visit_steps(&parent, rest, env, visit),
                None => Ok(CONTINUE),
            };
        }
        match rest.split_first() {
            None => self.step(from, step, env, visit),
            Some((child, rest)) if is_descent(step) && child.axis == Axis::Child => {
                let matches = self.schema_matches(&child.test);
                self.places(from, &matches, &mut |place| {
                    self.step(&place, child, env, &mut |item| {
                        self.visit_steps(&item, rest, env, visit)
                    })
                })
            }
            Some(_) => self.step(from, step, env, &mut |item| {
                self.visit_steps(&item, rest, env, visit)
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
fn leading_stream(
    mut properties: StreamProperties,
    steps: &[PathStep],
) -> (usize, StreamProperties) {
    let mut count = 0;
    while count < steps.len() {
        let Some((after, taken)) = properties.after_step(&steps[count..]) else {
            break;
        };
        properties = after;
        count += taken;
    }
    (count, properties)
}

/// The properties of the nodes of a path.
pub(super) fn properties_of(from: StreamProperties, mut steps: &[PathStep]) -> StreamProperties {
    let mut properties = from;
    loop {
        let (count, after) = leading_stream(properties, steps);
        if count == steps.len() {
            return after;
        }
        properties = after.after_set(steps[count].axis);
        steps = &steps[count + 1..];
    }
}
