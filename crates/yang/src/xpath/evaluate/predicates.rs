//! Predicates (XPath 1.0 §2.4).

use smallvec::SmallVec;

use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::index_lookup::KnownValues;
use super::{Evaluator, Item, Object};
use crate::instances::{Instances, Visit};
use crate::schema::NodeId;
use crate::xpath::{Axis, Expr, Function, PathStep, calls_function, is_positional, may_be_number};

/// The predicates of one step from one node, and the number of nodes that have reached each.
struct Filter<'p> {
    predicates: &'p [Expr],
    /// Predicates that are known to be true.
    known: u64,
    reached: SmallVec<[u64; 4]>,
}

impl<'p> Filter<'p> {
    fn new(predicates: &'p [Expr], known: u64) -> Self {
        Self {
            predicates,
            known,
            reached: SmallVec::from_elem(0, predicates.len()),
        }
    }

    fn is_known(&self, index: usize) -> bool {
        index < 64 && self.known & (1 << index) != 0
    }
}

/// The result of the predicates for a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passes,
    Fails,
    /// It fails, and so do all later nodes.
    NoMore,
    /// It passes, and no later node does.
    PassesAsLast,
}

impl<T: Instances> Evaluator<'_, T> {
    /// Visits the nodes of one step from one node that pass its predicates.
    pub(super) fn step_with_predicates(
        &self,
        from: &Item<T>,
        step: &PathStep,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if step.predicates.iter().any(uses_last) {
            let mut items = Vec::new();
            let _ = self.axis(from, step.axis, &step.test, &mut |item| {
                items.push(item);
                Ok(CONTINUE)
            })?;
            for item in self.filtered(items, &step.predicates, env)? {
                if visit(item)?.is_break() {
                    return Ok(STOP);
                }
            }
            return Ok(CONTINUE);
        }
        if let (Axis::Child, Item::Inner(place)) = (step.axis, from)
            && let Some(id) = self.only_child(place, &step.test)
            && (self.schema().node(id).is_list() || self.schema().node(id).is_leaf_list())
        {
            let known = self.known_values(id, &step.predicates, env)?;
            let mut filter = Filter::new(&step.predicates, 0);
            let planned = self.look_up(place, id, &known, &mut |item, held| {
                filter.known = held;
                self.filter_one(&mut filter, item, env, visit)
            })?;
            if let Some(flow) = planned {
                return Ok(flow);
            }
        }
        if let Some(flow) = self.siblings_by_value(from, step, env, visit)? {
            return Ok(flow);
        }
        let mut filter = Filter::new(&step.predicates, 0);
        let mut is_stopped = false;
        let _ = self.axis(from, step.axis, &step.test, &mut |item| {
            let verdict = self.verdict(&mut filter, &item, env)?;
            if matches!(verdict, Verdict::Passes | Verdict::PassesAsLast) {
                is_stopped = visit(item)?.is_break();
            }
            let is_over = matches!(verdict, Verdict::NoMore | Verdict::PassesAsLast);
            Ok(if is_stopped || is_over {
                STOP
            } else {
                CONTINUE
            })
        })?;
        Ok(if is_stopped { STOP } else { CONTINUE })
    }

    /// The nodes, in the order of their axis, that pass predicates of which none uses the context size.
    pub(super) fn pass(
        &self,
        items: impl Iterator<Item = Item<T>>,
        predicates: &[Expr],
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut filter = Filter::new(predicates, 0);
        for item in items {
            if self.filter_one(&mut filter, item, env, visit)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    fn filter_one(
        &self,
        filter: &mut Filter<'_>,
        item: Item<T>,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        match self.verdict(filter, &item, env)? {
            Verdict::Passes | Verdict::PassesAsLast => visit(item),
            Verdict::Fails | Verdict::NoMore => Ok(CONTINUE),
        }
    }

    fn verdict(
        &self,
        filter: &mut Filter<'_>,
        item: &Item<T>,
        env: &Env<'_, T>,
    ) -> Result<Verdict, T::Error> {
        let mut is_last = false;
        for (index, predicate) in filter.predicates.iter().enumerate() {
            filter.reached[index] += 1;
            if filter.is_known(index) {
                continue;
            }
            let position = filter.reached[index];
            if let Expr::Number(expected) = predicate {
                let reached = position as f64;
                if reached > *expected {
                    return Ok(Verdict::NoMore);
                }
                if reached < *expected {
                    return Ok(Verdict::Fails);
                }
                is_last = true;
                continue;
            }
            let inner = Env {
                item,
                current: env.current,
                position,
                size: 0,
            };
            if !self.holds(predicate, &inner)? {
                return Ok(Verdict::Fails);
            }
        }
        Ok(if is_last {
            Verdict::PassesAsLast
        } else {
            Verdict::Passes
        })
    }

    /// The nodes, in the order of their axis, that pass all predicates.
    pub(super) fn filtered(
        &self,
        mut items: Vec<Item<T>>,
        predicates: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Vec<Item<T>>, T::Error> {
        for predicate in predicates {
            let size = items.len() as u64;
            let mut kept = Vec::new();
            for (position, item) in (1..).zip(items) {
                let inner = Env {
                    item: &item,
                    current: env.current,
                    position,
                    size,
                };
                if self.holds(predicate, &inner)? {
                    kept.push(item);
                }
            }
            items = kept;
        }
        Ok(items)
    }

    /// Returns whether a predicate is true: a number is a position.
    fn holds(&self, predicate: &Expr, env: &Env<'_, T>) -> Result<bool, T::Error> {
        self.count_visit()?;
        self.budget.nested(|| {
            if !may_be_number(predicate) {
                return self.boolean(predicate, env);
            }
            Ok(match self.object(predicate, env)? {
                Object::Number(number) => number == env.position as f64,
                object => object.to_boolean(),
            })
        })
    }

    /// The values that the predicates require of matching nodes.
    pub(super) fn known_values(
        &self,
        id: NodeId,
        predicates: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<KnownValues, T::Error> {
        let mut known = KnownValues::default();
        let usable = predicates.iter().take_while(|expr| !is_positional(expr));
        for (index, predicate) in usable.enumerate() {
            match predicate {
                Expr::And(operands) => {
                    for operand in operands {
                        self.add_known_value(id, operand, env, &mut known, None)?;
                    }
                }
                whole => self.add_known_value(id, whole, env, &mut known, Some(index))?,
            }
        }
        Ok(known)
    }
}

fn uses_last(predicate: &Expr) -> bool {
    calls_function(predicate, &|function| function == Function::Last)
}
