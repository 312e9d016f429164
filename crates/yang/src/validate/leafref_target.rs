//! Lookup of the target of a leafref by its value (RFC 7950 §9.9), without a scan of all targets.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::instances::{Indexed, Instances};
use crate::schema::{ModuleNames, NodeId, NodeKind, Schema};
use crate::value::Value;
use crate::xpath::evaluate::{Evaluator, Item, Object};
use crate::xpath::{Axis, BinaryOperator, Expr, Expression, Function, NodeTest};

/// The path of a leafref without `deref()`: up (or from the root), then down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetPath {
    /// The number of levels up from the leafref; `None` from the root.
    up: Option<usize>,
    /// The nodes down to the target.
    down: Vec<NodeId>,
    /// Keys given by predicates: the list (an index of `down`), the key, and the path that it must equal.
    keys: Vec<(usize, NodeId, Expression)>,
}

/// The value to find, and its leafref.
struct TargetQuery<'a, T: Instances> {
    evaluator: &'a Evaluator<'a, T>,
    context: Item<T>,
    value: &'a Value,
}

impl TargetPath {
    /// Compiles the path of a leafref to `target`; `None` for a path that can only be evaluated.
    pub fn compile(schema: &Schema, path: &Expression, target: NodeId) -> Option<Self> {
        let Expr::Path(location) = &path.root else {
            return None;
        };
        let is_up = |axis: Axis| matches!(axis, Axis::Parent);
        let ups = location.steps.iter().take_while(|step| is_up(step.axis));
        let up = ups.count();
        let mut down = Vec::new();
        let mut at = Some(target);
        let steps = &location.steps[up..];
        for _ in steps {
            let node = at?;
            down.push(node);
            at = schema.node(node).parent;
        }
        down.reverse();
        let mut keys = Vec::new();
        for (depth, step) in steps.iter().enumerate() {
            let node = schema.node(down[depth]);
            let is_named = matches!(&step.test, NodeTest::Name(_, name) if *name == node.name);
            if step.axis != Axis::Child || !is_named {
                return None;
            }
            for predicate in &step.predicates {
                key_predicates(schema, down[depth], depth, predicate, &mut keys)?;
            }
        }
        Some(Self {
            up: (!location.is_absolute).then_some(up),
            down,
            keys,
        })
    }

    /// Returns whether the target is found by keys alone: every list on the path has its keys given, except for one
    /// key of the last list, which is the target.
    pub fn is_direct(&self, schema: &Schema) -> bool {
        let lists = self.down.iter().enumerate();
        lists
            .filter(|(_, node)| schema.node(**node).is_list())
            .all(|(depth, &list)| {
                let keys = schema.node(list).keys();
                let missing = keys.iter().filter(|&&key| !self.is_given(depth, key));
                missing.eq(self
                    .target_in(depth)
                    .iter()
                    .filter(|key| keys.contains(key)))
                    || keys.iter().all(|&key| self.is_given(depth, key))
            })
    }

    /// The target.
    pub fn end(&self) -> Option<NodeId> {
        self.down.last().copied()
    }

    /// The node from which the path descends to a target in a node.
    pub fn start_above<T: Instances>(&self, data: &T, holder: &T::Inner) -> Option<T::Inner> {
        match self.up {
            None => Some(data.root()),
            Some(_) => climb(data, holder, self.down.len().saturating_sub(1)),
        }
    }

    /// Returns whether a target with a value exists below the node from which the path descends; false if that
    /// depends on the leafref.
    pub fn has_target_below<T: Instances>(
        &self,
        evaluator: &Evaluator<'_, T>,
        from: &T::Inner,
        leafref: NodeId,
        value: &Value,
    ) -> Result<bool, T::Error> {
        if !self.keys.is_empty() {
            return Ok(false);
        }
        let query = TargetQuery {
            evaluator,
            // It is only read by predicates, and there are none.
            context: Item::leaf(from.clone(), leafref, value.clone()),
            value,
        };
        self.search(&query, from, 0)
    }

    fn is_given(&self, depth: usize, key: NodeId) -> bool {
        self.keys
            .iter()
            .any(|(at, given, _)| *at == depth && *given == key)
    }

    /// The target, if it is directly in the list at a depth.
    fn target_in(&self, depth: usize) -> Option<NodeId> {
        (depth + 2 == self.down.len()).then(|| self.down[depth + 1])
    }

    /// Returns whether a target with the value of a leafref exists.
    pub fn has_target<T: Instances>(
        &self,
        evaluator: &Evaluator<'_, T>,
        holder: &T::Inner,
        leaf: NodeId,
        value: &Value,
    ) -> Result<bool, T::Error> {
        let data = evaluator.data();
        let from = match self.up {
            None => Some(data.root()),
            Some(up) => climb(data, holder, up.saturating_sub(1)),
        };
        let Some(from) = from else {
            return Ok(false);
        };
        let query = TargetQuery {
            evaluator,
            context: Item::leaf(holder.clone(), leaf, value.clone()),
            value,
        };
        self.search(&query, &from, 0)
    }

    /// Returns whether a target exists below a node that the path has reached.
    fn search<T: Instances>(
        &self,
        query: &TargetQuery<'_, T>,
        from: &T::Inner,
        depth: usize,
    ) -> Result<bool, T::Error> {
        let data = query.evaluator.data();
        let schema = data.schema();
        let node = schema.node(self.down[depth]);
        match &node.kind {
            NodeKind::Leaf(_) => {
                let found = query.evaluator.leaf(from, node.id)?;
                Ok(found.is_some_and(|(value, _)| value == *query.value))
            }
            NodeKind::LeafList(_) => has_value(query, from, node.id),
            NodeKind::List(list) => match self.entry_keys(query, depth, &list.keys)? {
                Some(keys) if keys.is_empty() => Ok(false),
                Some(keys) => match data.entry(from, node.id, &keys)? {
                    Some(entry) => self.search(query, &entry, depth + 1),
                    None => Ok(false),
                },
                None => self.search_list(query, from, depth),
            },
            _ => self.search(query, &data.container(from, node.id), depth + 1),
        }
    }

    /// The key values of the only list entry that can contain the target, if they are given.
    fn entry_keys<T: Instances>(
        &self,
        query: &TargetQuery<'_, T>,
        depth: usize,
        keys: &[NodeId],
    ) -> Result<Option<Vec<Value>>, T::Error> {
        let target = self.target_in(depth);
        let is_determined = |&&key: &&NodeId| self.is_given(depth, key) || target == Some(key);
        if keys.is_empty() || keys.iter().filter(is_determined).count() < keys.len() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(keys.len());
        for &key in keys {
            let given = self
                .keys
                .iter()
                .find(|(at, given, _)| *at == depth && *given == key);
            match given {
                Some((_, _, operand)) => match key_value(query, key, operand)? {
                    Some(value) => values.push(value),
                    None => return Ok(Some(Vec::new())),
                },
                None => values.push(query.value.clone()),
            }
        }
        Ok(Some(values))
    }

    /// Searches the entries of a list: by the index if there is one, otherwise one by one.
    fn search_list<T: Instances>(
        &self,
        query: &TargetQuery<'_, T>,
        from: &T::Inner,
        depth: usize,
    ) -> Result<bool, T::Error> {
        let data = query.evaluator.data();
        let schema = data.schema();
        let Some(&target) = self.down.last() else {
            return Ok(false);
        };
        let may_be_default = schema
            .node(target)
            .as_value()
            .is_some_and(|node| node.defaults.contains(query.value));
        let mut is_found = false;
        if !may_be_default {
            let indexed = data.find(from, target, query.value, &mut |holder| {
                is_found = self.is_reached(query, depth, &holder)?;
                Ok(flow(is_found))
            })?;
            if indexed == Indexed::Yes {
                return Ok(is_found);
            }
        }
        data.entries(from, self.down[depth], &mut |entry| {
            is_found =
                self.has_keys(query, depth, &entry)? && self.search(query, &entry, depth + 1)?;
            Ok(flow(is_found))
        })?;
        Ok(is_found)
    }

    /// Returns whether the path leads to a target found by the index: it satisfies the predicates from `depth` on.
    fn is_reached<T: Instances>(
        &self,
        query: &TargetQuery<'_, T>,
        depth: usize,
        holder: &T::Inner,
    ) -> Result<bool, T::Error> {
        let data = query.evaluator.data();
        let mut place = holder.clone();
        for at in (depth..self.down.len() - 1).rev() {
            if !self.has_keys(query, at, &place)? {
                return Ok(false);
            }
            match data.parent(&place) {
                Some(parent) => place = parent,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether an entry of the list at a depth has the keys given by the predicates.
    fn has_keys<T: Instances>(
        &self,
        query: &TargetQuery<'_, T>,
        depth: usize,
        entry: &T::Inner,
    ) -> Result<bool, T::Error> {
        for (_, key, operand) in self.keys.iter().filter(|(at, ..)| *at == depth) {
            let given = key_value(query, *key, operand)?;
            if given.is_none() || query.evaluator.data().leaf(entry, *key)? != given {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn flow(is_found: bool) -> ControlFlow<()> {
    match is_found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

fn has_value<T: Instances>(
    query: &TargetQuery<'_, T>,
    holder: &T::Inner,
    node: NodeId,
) -> Result<bool, T::Error> {
    let data = query.evaluator.data();
    if data.has_value(holder, node, query.value)? {
        return Ok(true);
    }
    let defaults = data.schema().node(node).as_value();
    if !defaults.is_some_and(|node| node.defaults.contains(query.value)) {
        return Ok(false);
    }
    let mut is_found = false;
    query.evaluator.values(holder, node, &mut |value, _| {
        is_found = value == *query.value;
        Ok(flow(is_found))
    })?;
    Ok(is_found)
}

/// The value that a predicate gives for a key.
fn key_value<T: Instances>(
    query: &TargetQuery<'_, T>,
    key: NodeId,
    operand: &Expression,
) -> Result<Option<Value>, T::Error> {
    let data = query.evaluator.data();
    let schema = data.schema();
    let Object::NodeSet(nodes) = query.evaluator.evaluate(operand, &query.context)? else {
        return Ok(None);
    };
    let node = schema.node(key);
    let leaf = nodes.first().and_then(Item::as_leaf);
    let (Some(leaf), Some(value)) = (leaf, node.as_value()) else {
        return Ok(None);
    };
    let names = ModuleNames {
        leaf_module: node.module,
    };
    Ok(value
        .value_type
        .parse(schema, &leaf.value.to_string(), &names)
        .ok())
}

/// The ancestor of a node this many levels up.
pub(crate) fn climb<T: Instances>(data: &T, place: &T::Inner, levels: usize) -> Option<T::Inner> {
    let mut place = place.clone();
    for _ in 0..levels {
        place = data.parent(&place)?;
    }
    Some(place)
}

/// Returns whether an expression is a path from `current()`.
fn is_from_current(expr: &Expr) -> bool {
    match expr {
        Expr::Filter {
            primary,
            predicates,
            ..
        } => predicates.is_empty() && matches!(**primary, Expr::Call(Function::Current, _)),
        _ => false,
    }
}

/// Extracts the keys of a predicate; `None` if it contains anything else.
fn key_predicates(
    schema: &Schema,
    list: NodeId,
    depth: usize,
    predicate: &Expr,
    keys: &mut Vec<(usize, NodeId, Expression)>,
) -> Option<()> {
    match predicate {
        Expr::And(parts) => parts
            .iter()
            .try_for_each(|part| key_predicates(schema, list, depth, part, keys)),
        Expr::Binary(BinaryOperator::Equal, left, right) => {
            let Expr::Path(path) = &**left else {
                return None;
            };
            let [step] = path.steps.as_slice() else {
                return None;
            };
            let NodeTest::Name(_, name) = &step.test else {
                return None;
            };
            let named = |key: &&NodeId| schema.node(**key).name == *name;
            let &key = schema.node(list).keys().iter().find(named)?;
            // The predicates of a parent reference (RFC 8528) can compare with anything.
            if !is_from_current(right) {
                return None;
            }
            let operand = Expression {
                text: right.to_string().into(),
                root: (**right).clone(),
            };
            keys.push((depth, key, operand));
            Some(())
        }
        _ => None,
    }
}
