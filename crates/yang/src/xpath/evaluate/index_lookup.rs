//! Predicates that identify an entry: point reads and index reads instead of enumeration.
//!
//! `list[k1 = e1][k2 = e2]`, where all keys are compared with values that do not depend on the entry, is one
//! [`Instances::entry`]; `list[leaf = e]` is an [`Instances::find`] if there is an index; `leaf-list[. = e]` is
//! [`Instances::has_value`]. Everything else, and a text that is not a value of the leaf's type, is enumerated. The
//! remaining predicates are tested on the result.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::evaluator::{CONTINUE, Env, STOP};
use super::string_values::{preserves_text, resolved_type, with_text};
use super::{Evaluator, Item, Object, number_to_string};
use crate::index_intersection::{Fetched, intersect};
use crate::instances::{Indexed, Instances, Visit};
use crate::schema::{Canonical, ModuleNames, NodeId, NodeKind, Schema, Type, TypeKind};
use crate::value::Value;
use crate::xpath::{Axis, BinaryOperator, Expr, Function, Literal, NodeTest, PathStep};

/// Values that every matching node must have, in its leaves (or as the leaf-list entry itself).
#[derive(Debug, Default)]
pub(super) struct KnownValues {
    values: SmallVec<[KnownLeaf; 2]>,
    /// No node matches: something is compared with an empty node-set.
    is_none: bool,
}

#[derive(Debug)]
struct KnownLeaf {
    node: NodeId,
    value: Value,
    /// The predicate that is implied by this value.
    predicate: Option<usize>,
}

impl KnownValues {
    pub(super) fn add(&mut self, node: NodeId, value: Value) {
        self.values.push(KnownLeaf {
            node,
            value,
            predicate: None,
        });
    }

    fn leaf(&self, node: NodeId) -> Option<&KnownLeaf> {
        self.values.iter().find(|known| known.node == node)
    }
}

/// The value that a leaf must have to equal an expression.
enum RequiredValue {
    /// This value.
    Value(Value),
    /// No value.
    Never,
    /// Unknown, or more than one value.
    Unknown,
}

/// The side of a comparison on which the leaf is.
#[derive(Clone, Copy)]
enum OperandSide {
    Left,
    Right,
}

/// Receives a node, and a bit set of the predicates that it is known to pass.
type MatchVisitor<'v, T> = dyn FnMut(Item<T>, u64) -> Visit<<T as Instances>::Error> + 'v;

impl<T: Instances> Evaluator<'_, T> {
    /// The only schema node that a test on the child axis can match, if there is one.
    pub(super) fn only_child(&self, place: &T::Inner, test: &NodeTest) -> Option<NodeId> {
        self.only_child_of(self.data.node(place), test)
    }

    /// [`Self::only_child`] for a schema node.
    pub(super) fn only_child_of(&self, parent: Option<NodeId>, test: &NodeTest) -> Option<NodeId> {
        let NodeTest::Name(module, name) = test else {
            return None;
        };
        let schema = self.schema();
        if let Some(module) = module {
            return schema.child(parent, schema.module_by_name(module)?, name);
        }
        let mut named = schema.named(parent, name);
        named.next().filter(|_| named.next().is_none())
    }

    /// Adds the values required by a predicate (or by an operand of its `and`) on the instances of a list or leaf-list.
    pub(super) fn add_known_value(
        &self,
        id: NodeId,
        expr: &Expr,
        env: &Env<'_, T>,
        known: &mut KnownValues,
        predicate: Option<usize>,
    ) -> Result<(), T::Error> {
        let Expr::Binary(BinaryOperator::Equal, left, right) = expr else {
            return Ok(());
        };
        let (node, other, side) = match (self.own_leaf(id, left), self.own_leaf(id, right)) {
            (Some(node), None) if is_free(right) => (node, right, OperandSide::Left),
            (None, Some(node)) if is_free(left) => (node, left, OperandSide::Right),
            _ => return Ok(()),
        };
        match self.required_value((node, side), other, env)? {
            RequiredValue::Value(value) => known.values.push(KnownLeaf {
                node,
                value,
                predicate,
            }),
            RequiredValue::Never => known.is_none = true,
            RequiredValue::Unknown => {}
        }
        Ok(())
    }

    /// The leaf or leaf-list of an entry, or of containers in it, that an expression refers to; or the leaf-list
    /// itself for `.`.
    pub(super) fn own_leaf(&self, id: NodeId, expr: &Expr) -> Option<NodeId> {
        let Expr::Path(path) = expr else {
            return None;
        };
        if path.is_absolute {
            return None;
        }
        let schema = self.schema();
        if let [step] = &path.steps[..]
            && (step.axis, &step.test) == (Axis::SelfNode, &NodeTest::Node)
        {
            let is_plain = step.predicates.is_empty();
            return (is_plain && schema.node(id).is_leaf_list()).then_some(id);
        }
        let (last, containers) = path.steps.split_last()?;
        let mut at = id;
        for step in containers {
            at = is_plain_child(step).then(|| self.only_child_of(Some(at), &step.test))??;
            if !matches!(schema.node(at).kind, NodeKind::Container { .. }) {
                return None;
            }
        }
        let leaf = is_plain_child(last).then(|| self.only_child_of(Some(at), &last.test))??;
        schema.node(leaf).as_value().map(|_| leaf)
    }

    /// The value that a leaf on one side must have to equal an expression on the other.
    fn required_value(
        &self,
        (leaf, side): (NodeId, OperandSide),
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<RequiredValue, T::Error> {
        if let Expr::Literal(literal) = expr {
            return Ok(self.required_value_for_text(leaf, literal, literal.as_name()));
        }
        if self.is_node_set(expr) {
            let mut first: Option<Item<T>> = None;
            let mut is_one = true;
            let _ = self.stream(expr, env, &mut |item| {
                is_one = first.is_none();
                first = first.take().or(Some(item));
                Ok(if is_one { CONTINUE } else { STOP })
            })?;
            return Ok(match first {
                None => RequiredValue::Never,
                Some(item) if is_one => {
                    let text = self.string_of(&item)?;
                    match side {
                        OperandSide::Left => self.required_value_for_node(leaf, &item, &text),
                        OperandSide::Right => self.required_value_for_text(leaf, &text, &text),
                    }
                }
                Some(_) => RequiredValue::Unknown,
            });
        }
        Ok(match self.object(expr, env)? {
            Object::String(text) => self.required_value_for_text(leaf, &text, &text),
            Object::Number(number) if self.is_integer(leaf) && number.fract() == 0.0 => {
                let text = number_to_string(number);
                self.required_value_for_text(leaf, &text, &text)
            }
            _ => RequiredValue::Unknown,
        })
    }

    /// The value that a leaf must have to equal a node on the right: the texts must be equal. It is converted to the
    /// canonical form of the type on the right, which changes nothing if both types are of one kind.
    fn required_value_for_node(&self, leaf: NodeId, other: &Item<T>, text: &str) -> RequiredValue {
        let schema = self.schema();
        let type_of = |id: NodeId| {
            let value = schema.node(id).as_value();
            value.map(|value| resolved_type(&value.value_type))
        };
        if let (Item::Leaf(other), Some(own)) = (other, type_of(leaf))
            && let Some(other) = type_of(other.node)
            && !preserves_text(own, other)
        {
            return RequiredValue::Unknown;
        }
        match self.required_value_for_text(leaf, text, text) {
            RequiredValue::Value(value) if !with_text(&value, |own| own == text) => {
                RequiredValue::Never
            }
            other => other,
        }
    }

    /// The value of a leaf for a text; `name` is the text with module names as prefixes.
    fn required_value_for_text(&self, leaf: NodeId, text: &str, name: &str) -> RequiredValue {
        match value_for_text(self.schema(), leaf, text, name) {
            Some(value) => RequiredValue::Value(value),
            None => RequiredValue::Unknown,
        }
    }

    fn is_integer(&self, leaf: NodeId) -> bool {
        let node = self.schema().node(leaf).as_value();
        let of: Option<&Type> = node.map(|node| resolved_type(&node.value_type));
        of.is_some_and(|of| matches!(of.kind, TypeKind::Integer(..)))
    }

    /// Visits the instances of a list or leaf-list that may match, if they can be found without enumerating all.
    pub(super) fn look_up(
        &self,
        place: &T::Inner,
        id: NodeId,
        known: &KnownValues,
        visit: &mut MatchVisitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        if known.is_none {
            return Ok(Some(CONTINUE));
        }
        if known.values.is_empty() {
            return Ok(None);
        }
        let node = self.schema().node(id);
        match &node.kind {
            NodeKind::LeafList(_) if node.is_config => self.look_up_value(place, id, known, visit),
            NodeKind::List(list) => {
                let keys: Option<SmallVec<[&KnownLeaf; 4]>> =
                    list.keys.iter().map(|key| known.leaf(*key)).collect();
                match keys.filter(|keys| !keys.is_empty()) {
                    Some(keys) => self.look_up_entry(place, id, &keys, visit).map(Some),
                    None => self.look_up_indexed(place, id, known, visit),
                }
            }
            _ => Ok(None),
        }
    }

    fn look_up_entry(
        &self,
        place: &T::Inner,
        id: NodeId,
        keys: &[&KnownLeaf],
        visit: &mut MatchVisitor<'_, T>,
    ) -> Visit<T::Error> {
        self.count_visit()?;
        let values: SmallVec<[Value; 4]> = keys.iter().map(|key| key.value.clone()).collect();
        let Some(entry) = self.data.entry(place, id, &values)? else {
            return Ok(CONTINUE);
        };
        let bits = keys.iter().filter_map(|key| key.predicate);
        let held = bits
            .filter(|bit| *bit < 64)
            .fold(0, |held, bit| held | 1 << bit);
        visit(Item::Inner(entry), held)
    }

    fn look_up_value(
        &self,
        place: &T::Inner,
        id: NodeId,
        known: &KnownValues,
        visit: &mut MatchVisitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        let Some(value) = known.leaf(id) else {
            return Ok(None);
        };
        self.count_visit()?;
        if self.data.has_value(place, id, &value.value)? {
            let entry = Item::leaf(place.clone(), id, value.value.clone());
            return visit(entry, 0).map(Some);
        }
        let node = self.schema().node(id).as_value();
        let has_defaults = node.is_some_and(|node| !node.defaults.is_empty());
        Ok((!has_defaults).then_some(CONTINUE))
    }

    /// The entry of a list that `place` is, or the closest one above it with only containers between.
    fn entry_around(&self, place: T::Inner, list: NodeId) -> Option<T::Inner> {
        let mut at = place;
        loop {
            let node = self.data.node(&at)?;
            if node == list {
                return Some(at);
            }
            if !matches!(self.schema().node(node).kind, NodeKind::Container { .. }) {
                return None;
            }
            at = self.data.parent(&at)?;
        }
    }

    /// Looks up entries by indexes on their leaves. Defaults are not in an index.
    fn look_up_indexed(
        &self,
        place: &T::Inner,
        id: NodeId,
        known: &KnownValues,
        visit: &mut MatchVisitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        let may_be_indexed = |known: &&KnownLeaf| {
            let leaf = self.schema().node(known.node).as_value();
            leaf.is_some_and(|leaf| !leaf.defaults.contains(&known.value))
        };
        let values: SmallVec<[&KnownLeaf; 2]> =
            known.values.iter().filter(may_be_indexed).collect();
        if let [one] = values[..] {
            return self.stream_indexed(place, id, one, visit);
        }
        let found = intersect::<_, T::Error>(values.len(), |index, limit, entries| {
            let KnownLeaf { node, value, .. } = values[index];
            let mut fetched = Fetched::Complete;
            let indexed = self.data.find(place, *node, value, &mut |holder| {
                self.count_visit()?;
                if entries.len() >= limit {
                    fetched = Fetched::Partial;
                    return Ok(STOP);
                }
                entries.extend(self.entry_around(holder, id));
                Ok(CONTINUE)
            })?;
            Ok(match indexed {
                Indexed::Yes => fetched,
                Indexed::No => Fetched::NoIndex,
            })
        })?;
        let Some(entries) = found else {
            return Ok(None);
        };
        for entry in entries {
            if visit(Item::Inner(entry), 0)?.is_break() {
                return Ok(Some(STOP));
            }
        }
        Ok(Some(CONTINUE))
    }

    fn stream_indexed(
        &self,
        place: &T::Inner,
        id: NodeId,
        known: &KnownLeaf,
        visit: &mut MatchVisitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        let mut flow = CONTINUE;
        let mut entry = |holder: T::Inner| {
            self.count_visit()?;
            if let Some(entry) = self.entry_around(holder, id) {
                flow = visit(Item::Inner(entry), 0)?;
            }
            Ok(flow)
        };
        let indexed = self
            .data
            .find(place, known.node, &known.value, &mut entry)?;
        Ok((indexed == Indexed::Yes).then_some(flow))
    }
}

/// Returns whether the value of an expression is independent of the context node.
pub(super) fn is_free(expr: &Expr) -> bool {
    match expr {
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => {
            operands.iter().all(is_free)
        }
        Expr::Binary(_, left, right) => is_free(left) && is_free(right),
        Expr::Negate(inner) => is_free(inner),
        Expr::Path(path) => path.is_absolute,
        Expr::Filter { primary, .. } => is_free(primary),
        Expr::Call(function, arguments) => {
            !reads_context(*function, arguments) && arguments.iter().all(is_free)
        }
        Expr::Literal(_) | Expr::Number(_) => true,
        Expr::Variable(..) => false,
    }
}

/// Returns whether a call reads the context.
fn reads_context(function: Function, arguments: &[Expr]) -> bool {
    match function {
        Function::Last | Function::Position | Function::Lang => true,
        Function::Current | Function::True | Function::False => false,
        _ => arguments.is_empty(),
    }
}

/// Returns whether a step is a child name without predicates.
pub(super) fn is_plain_child(step: &PathStep) -> bool {
    step.axis == Axis::Child
        && matches!(step.test, NodeTest::Name(..))
        && step.predicates.is_empty()
}

/// The value of a leaf or leaf-list that equals a literal; `None` if several values do, or values of other texts.
pub fn literal_value(schema: &Schema, leaf: NodeId, literal: &Literal) -> Option<Value> {
    value_for_text(schema, leaf, literal.as_str(), literal.as_name())
}

/// The value of a leaf for a text; `name` is the text with module names as prefixes.
fn value_for_text(schema: &Schema, leaf: NodeId, text: &str, name: &str) -> Option<Value> {
    let node = schema.node(leaf);
    let of = resolved_type(&node.as_value()?.value_type);
    let text = match (&of.kind, of.canonical) {
        // In a union, several values may have the same text.
        (TypeKind::Union(_), _) => return None,
        (TypeKind::String(..), Canonical::BuiltIn) => return Some(Value::string(text)),
        (TypeKind::IdentityRef(_) | TypeKind::InstanceIdentifier { .. }, _) => name,
        _ => text,
    };
    let names = ModuleNames {
        leaf_module: node.module,
    };
    of.parse(schema, text, &names).ok()
}
