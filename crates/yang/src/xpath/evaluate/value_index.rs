//! Nodes of a path by the value that a predicate requires: `/c/device/interface[address = current()]`.
//!
//! The nodes of the path are spread over several lists, so an index of one list does not find them. Once an
//! evaluation of the path was expensive, all nodes that the path leads to without its predicates are indexed by the
//! value, and shared by all context nodes for which the path starts at the same node. The index returns candidates:
//! every predicate is tested on each of them.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cached_values::{CachedKind, CachedValue, Inputs, ValueGroup, ValueIndex};
use super::comparison::Text;
use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::index_lookup::is_free;
use super::value_cache::path_address;
use super::{Evaluator, Item, Object};
use crate::instances::{Instances, Visit};
use crate::schema::NodeId;
use crate::xpath::{
    Axis, BinaryOperator, Expr, Function, LocationPath, NodeTest, PathStep, is_positional,
};

/// The maximum number of nodes in one index. Beyond it, the path is evaluated without an index.
const INDEXED_NODES_MAX: usize = 1 << 20;

/// The parts of a path that can be indexed.
#[derive(Clone, Copy)]
struct IndexedPath<'p> {
    /// The number of leading steps `..`.
    levels_up: usize,
    /// The step with the predicate.
    step: usize,
    value: RequiredValue<'p>,
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
        let mut required = SmallVec::new();
        for predicate in &steps[step].predicates {
            add_required_values(predicate, &mut required);
        }
        // A constant is the same for all context nodes, and finds the same nodes for all of them.
        let is_constant = |value: &&RequiredValue<'_>| matches!(value.other, Expr::Literal(_));
        let value = required.iter().find(|value| !is_constant(value));
        let value = *value.or(required.first())?;
        Some(Self {
            levels_up,
            step,
            value,
        })
    }
}

/// A value that a predicate requires of a node.
#[derive(Clone, Copy)]
struct RequiredValue<'p> {
    /// The path from the node to the value.
    own: &'p Expr,
    /// The operand that it equals, which does not depend on the node.
    other: &'p Expr,
    /// Whether the value is the left operand.
    is_own_left: bool,
}

fn add_required_values<'p>(predicate: &'p Expr, required: &mut SmallVec<[RequiredValue<'p>; 2]>) {
    match predicate {
        Expr::And(operands) => {
            for operand in operands {
                add_required_values(operand, required);
            }
        }
        Expr::Binary(BinaryOperator::Equal, left, right) => {
            let is_own_left = is_own_value(left);
            let (own, other) = match is_own_left {
                true => (left, right),
                false => (right, left),
            };
            if is_own_value(own) && !is_own_value(other) && is_free(other) {
                required.push(RequiredValue {
                    own,
                    other,
                    is_own_left,
                });
            }
        }
        _ => {}
    }
}

/// Returns whether an expression leads from a node down to its values, or is a string of them.
fn is_own_value(expr: &Expr) -> bool {
    is_own_path(expr) || is_own_string(expr)
}

/// Returns whether an expression is a string that depends on values of the node only.
fn is_own_string(expr: &Expr) -> bool {
    let Expr::Call(function, arguments) = expr else {
        return false;
    };
    let is_string = matches!(
        function,
        Function::String
            | Function::Concat
            | Function::Substring
            | Function::SubstringBefore
            | Function::SubstringAfter
            | Function::NormalizeSpace
            | Function::Translate
    );
    let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(_) | Expr::Number(_));
    is_string
        && arguments.iter().any(is_own_value)
        && arguments
            .iter()
            .all(|argument| is_own_value(argument) || is_constant(argument))
}

fn is_own_path(expr: &Expr) -> bool {
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
    /// Visits the nodes of the leading steps of a path, found by the value that a predicate requires; `None` if the
    /// path has no such predicate, or if an index is not worth its cost.
    pub(super) fn nodes_by_value(
        &self,
        path: &LocationPath,
        step_count: usize,
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
                let rest = &path.steps[indexed.step + 1..step_count];
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
        if !self.is_spread(start, down, indexed.value.own)? {
            return Ok(None);
        }
        let mut index = ValueIndex {
            nodes: Vec::new(),
            groups: SmallVec::new(),
        };
        let is_complete = self.descend_steps(start, down, &mut |node| {
            self.add_values(&mut index, &node, indexed.value.own)?;
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
                list.is_some_and(|list| !self.has_own_leaf(list, own))
            }
            parents => parents.len() > 1,
        })
    }

    /// Returns whether an index of a list may have the value.
    fn has_own_leaf(&self, list: NodeId, own: &Expr) -> bool {
        let leaf = self.own_leaf(list, own);
        leaf.is_some_and(|leaf| leaf == list || !self.schema().node(leaf).is_leaf_list())
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
        if is_own_string(own) {
            let Object::String(text) = self.object(own, &Env::at(node))? else {
                return Ok(());
            };
            if groups.is_empty() {
                groups.push(ValueGroup {
                    node: None,
                    // A string has no type.
                    example: Item::Inner(self.data.root()),
                    by_text: FxHashMap::default(),
                });
            }
            groups[0].by_text.entry(text).or_default().push(position);
            return Ok(());
        }
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
        if self.is_node_set(indexed.value.other) {
            let mut is_exact = true;
            let _ = self.stream(indexed.value.other, env, &mut |other| {
                let text = self.string_of(&other)?;
                for group in &index.groups {
                    // A string is converted to the type of the node, whatever the sides.
                    is_exact &= match indexed.value.is_own_left || is_own_string(indexed.value.own)
                    {
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
            let text = match indexed.value.other {
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
