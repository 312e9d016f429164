//! Nodes of a path by the value that a predicate requires: `/c/device/interface[address = current()]`.
//!
//! The nodes of the path are spread over several lists, so an index of one list does not find them. Once an
//! evaluation of the path was expensive, all nodes that the path leads to without its predicates are indexed by the
//! value, and shared by all context nodes for which the path starts at the same node. The index returns candidates:
//! every predicate is tested on each of them.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::comparison::Text;
use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::inputs::Inputs;
use super::memo::{CachedKind, CachedValue, path_address};
use super::{Evaluator, Item, Object};
use crate::instances::{Instances, Visit};
use crate::schema::NodeId;
use crate::xpath::{Axis, BinaryOperator, Expr, LocationPath, NodeTest, PathStep, is_positional};

/// The maximum number of nodes in one index. Beyond it, the path is evaluated without an index.
const INDEXED_NODES_MAX: usize = 1 << 20;

/// The nodes of a path without its predicates, in document order.
pub(super) struct ValueIndex<T: Instances> {
    nodes: Vec<Item<T>>,
    groups: SmallVec<[ValueGroup<T>; 1]>,
}

/// Nodes whose values are compared in the same way: those of one schema node.
struct ValueGroup<T: Instances> {
    node: Option<NodeId>,
    example: Item<T>,
    /// Positions in [`ValueIndex::nodes`].
    by_text: FxHashMap<Box<str>, SmallVec<[u32; 2]>>,
}

/// The parts of a path that can be indexed.
#[derive(Clone, Copy)]
struct IndexedPath<'p> {
    /// The number of leading steps `..`.
    levels_up: usize,
    /// The step with the predicate.
    step: usize,
    /// The path from a node of that step to the value, and the other operand.
    own: &'p Expr,
    other: &'p Expr,
    /// Whether the value is the left operand.
    is_own_left: bool,
}

impl<'p> IndexedPath<'p> {
    /// The last step with a predicate that requires a value, if all steps up to it go to children.
    fn of(path: &'p LocationPath) -> Option<Self> {
        let steps = &path.steps;
        let is_up = |step: &&PathStep| {
            step.axis == Axis::Parent && step.test == NodeTest::Node && step.predicates.is_empty()
        };
        let levels_up = steps.iter().take_while(is_up).count();
        if path.is_absolute == (levels_up > 0) {
            return None;
        }
        let step = steps.iter().rposition(|step| !step.predicates.is_empty())?;
        let down = steps.get(levels_up..=step)?;
        let is_indexable = |step: &PathStep| {
            step.axis == Axis::Child && !step.predicates.iter().any(is_positional)
        };
        if !down.iter().all(is_indexable) {
            return None;
        }
        let predicates = steps[step].predicates.iter();
        let (own, other, is_own_left) = predicates.rev().find_map(required_value)?;
        Some(Self {
            levels_up,
            step,
            own,
            other,
            is_own_left,
        })
    }
}

/// The operands of a comparison for equality of a value of a node with something that does not depend on the node,
/// and whether the former is on the left.
fn required_value(predicate: &Expr) -> Option<(&Expr, &Expr, bool)> {
    match predicate {
        Expr::And(operands) => operands.iter().find_map(required_value),
        Expr::Binary(BinaryOperator::Equal, left, right) => {
            match (is_own_value(left), is_own_value(right)) {
                (true, false) if super::index_lookup::is_free(right) => Some((left, right, true)),
                (false, true) if super::index_lookup::is_free(left) => Some((right, left, false)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether an expression leads from a node down to its values.
fn is_own_value(expr: &Expr) -> bool {
    let Expr::Path(path) = expr else {
        return false;
    };
    let is_down = |step: &PathStep| {
        step.predicates.is_empty()
            && match step.axis {
                Axis::Child => matches!(step.test, NodeTest::Name(..)),
                Axis::SelfNode => step.test == NodeTest::Node,
                _ => false,
            }
    };
    !path.is_absolute && path.steps.iter().all(is_down)
}

impl<T: Instances> Evaluator<'_, T> {
    /// Visits the nodes of a path, found by the value that a predicate requires; `None` if the path has no such
    /// predicate, or if an index is not worth its cost.
    pub(super) fn nodes_by_value(
        &self,
        path: &LocationPath,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Result<Option<std::ops::ControlFlow<()>>, T::Error> {
        if !self.is_path_worth_caching(path) {
            return Ok(None);
        }
        let Some(indexed) = IndexedPath::of(path) else {
            return Ok(None);
        };
        let Some(start) = self.start_of(path, indexed.levels_up, env) else {
            return Ok(None);
        };
        let address = path_address(path);
        let cached = self.shared_at(
            CachedKind::ByValue,
            address,
            Inputs::at(start.clone()),
            &|| {
                let index = self.value_index(&Item::Inner(start.clone()), path, indexed)?;
                Ok(CachedValue::ByValue(index.map(Rc::new)))
            },
        )?;
        let CachedValue::ByValue(Some(index)) = cached else {
            return Ok(None);
        };
        let Some(found) = self.candidates(&index, indexed, env)? else {
            return Ok(None);
        };
        for position in found {
            let node = &index.nodes[position as usize];
            self.count_visit()?;
            if self.passes_all(node, path, indexed, env)? {
                let rest = &path.steps[indexed.step + 1..];
                if self.stream_steps(node, rest, env, visit)?.is_break() {
                    return Ok(Some(STOP));
                }
            }
        }
        Ok(Some(CONTINUE))
    }

    /// The node at which the steps down start.
    fn start_of(
        &self,
        path: &LocationPath,
        levels_up: usize,
        env: &Env<'_, T>,
    ) -> Option<T::Inner> {
        if path.is_absolute {
            return Some(self.data.root());
        }
        let mut item = env.item.clone();
        for _ in 0..levels_up {
            item = self.parent(&item)?;
        }
        item.as_inner().cloned()
    }

    /// The index of a path from its start; `None` if the nodes are in one list that has indexes of its own, or too
    /// many.
    fn value_index(
        &self,
        start: &Item<T>,
        path: &LocationPath,
        indexed: IndexedPath<'_>,
    ) -> Result<Option<ValueIndex<T>>, T::Error> {
        let down = &path.steps[indexed.levels_up..=indexed.step];
        if !self.is_spread(start, down, indexed.own)? {
            return Ok(None);
        }
        let mut index = ValueIndex {
            nodes: Vec::new(),
            groups: SmallVec::new(),
        };
        let is_complete = self.descend_steps(start, down, &mut |node| {
            self.add_values(&mut index, &node, indexed.own)?;
            index.nodes.push(node);
            Ok(match index.nodes.len() < INDEXED_NODES_MAX {
                true => CONTINUE,
                false => STOP,
            })
        })?;
        Ok(is_complete.is_continue().then_some(index))
    }

    /// Returns whether the nodes of steps have several parents, or a value that an index of their list does not have.
    fn is_spread(&self, start: &Item<T>, down: &[PathStep], own: &Expr) -> Result<bool, T::Error> {
        let Some((last, above)) = down.split_last() else {
            return Ok(false);
        };
        let mut parents: SmallVec<[Item<T>; 2]> = SmallVec::new();
        let _ = self.descend_steps(start, above, &mut |parent| {
            parents.push(parent);
            Ok(match parents.len() {
                1 => CONTINUE,
                _ => STOP,
            })
        })?;
        Ok(match &parents[..] {
            [Item::Inner(parent)] => {
                let list = self.only_child(parent, &last.test);
                list.is_some_and(|list| self.own_leaf(list, own).is_none())
            }
            parents => parents.len() > 1,
        })
    }

    /// Visits the nodes of child steps, without their predicates.
    fn descend_steps(
        &self,
        from: &Item<T>,
        steps: &[PathStep],
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let Some((step, rest)) = steps.split_first() else {
            return visit(from.clone());
        };
        let mut is_stopped = false;
        let _ = self.axis(from, step.axis, &step.test, &mut |item| {
            is_stopped = self.descend_steps(&item, rest, visit)?.is_break();
            Ok(if is_stopped { STOP } else { CONTINUE })
        })?;
        Ok(if is_stopped { STOP } else { CONTINUE })
    }

    /// Adds the values of a node that gets the next position.
    fn add_values(
        &self,
        index: &mut ValueIndex<T>,
        node: &Item<T>,
        own: &Expr,
    ) -> Result<(), T::Error> {
        let position = index.nodes.len() as u32;
        let groups = &mut index.groups;
        let _ = self.stream(own, &Env::at(node), &mut |value| {
            let text = self.string_of(&value)?;
            let schema_node = match &value {
                Item::Leaf(leaf) => Some(leaf.node),
                _ => None,
            };
            let at = groups.iter().position(|group| group.node == schema_node);
            let at = at.unwrap_or_else(|| {
                groups.push(ValueGroup {
                    node: schema_node,
                    example: value,
                    by_text: FxHashMap::default(),
                });
                groups.len() - 1
            });
            groups[at].by_text.entry(text).or_default().push(position);
            Ok(CONTINUE)
        })?;
        Ok(())
    }

    /// The positions of all nodes that may equal the other operand, ascending; `None` if the texts of nodes have to be
    /// converted to be compared.
    fn candidates(
        &self,
        index: &ValueIndex<T>,
        indexed: IndexedPath<'_>,
        env: &Env<'_, T>,
    ) -> Result<Option<Vec<u32>>, T::Error> {
        let mut found = Vec::new();
        let mut add = |group: &ValueGroup<T>, text: &str| {
            found.extend(group.by_text.get(text).into_iter().flatten());
        };
        if self.is_node_set(indexed.other) {
            let mut is_exact = true;
            let _ = self.stream(indexed.other, env, &mut |other| {
                let text = self.string_of(&other)?;
                for group in &index.groups {
                    is_exact &= match indexed.is_own_left {
                        true => self.needs_no_conversion(&group.example, &other),
                        false => self.needs_no_conversion(&other, &group.example),
                    };
                    add(group, &text);
                }
                Ok(if is_exact { CONTINUE } else { STOP })
            })?;
            if !is_exact {
                return Ok(None);
            }
        } else {
            let literal;
            let text = match indexed.other {
                Expr::Literal(text) => Text::literal(text),
                other => match self.object(other, env)? {
                    Object::String(text) => {
                        literal = text;
                        Text::plain(&literal)
                    }
                    _ => return Ok(None),
                },
            };
            for group in &index.groups {
                add(group, text.text());
                if let Some(canonical) = self.canonical(&group.example, text) {
                    add(group, &canonical);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }

    /// Returns whether a node, and the nodes above it that the path leads through, pass the predicates.
    fn passes_all(
        &self,
        node: &Item<T>,
        path: &LocationPath,
        indexed: IndexedPath<'_>,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        let mut item = node.clone();
        for at in (indexed.levels_up..=indexed.step).rev() {
            let step = &path.steps[at];
            if !step.predicates.is_empty() {
                let mut has_passed = false;
                let one = std::iter::once(item.clone());
                let _ = self.pass(one, &step.predicates, env, &mut |_| {
                    has_passed = true;
                    Ok(STOP)
                })?;
                if !has_passed {
                    return Ok(false);
                }
            }
            match self.parent(&item) {
                Some(parent) => item = parent,
                None => break,
            }
        }
        Ok(true)
    }
}

impl<T: Instances> ValueIndex<T> {
    /// Its size in a cache.
    pub(super) fn len(&self) -> usize {
        let texts = self.groups.iter().map(|group| group.by_text.len());
        self.nodes.len() + texts.sum::<usize>()
    }
}
