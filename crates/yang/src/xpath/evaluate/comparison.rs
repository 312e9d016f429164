//! Comparisons (XPath 1.0 §3.4).

use super::evaluator::{CONTINUE, Env, STOP};
use super::string_values::{is_always_canonical, resolved_type, with_text};
use super::value_types::{boolean_to_number, string_to_number};
use super::{Evaluator, Item, Object};
use crate::instances::Instances;
use crate::schema::{ModuleNames, TypeKind};
use crate::value::Value;
use crate::xpath::{BinaryOperator, Expr, Literal};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison of an operator.
    pub(super) fn of(operator: BinaryOperator) -> Option<Self> {
        Some(match operator {
            BinaryOperator::Equal => Self::Equal,
            BinaryOperator::NotEqual => Self::NotEqual,
            BinaryOperator::Less => Self::Less,
            BinaryOperator::LessOrEqual => Self::LessOrEqual,
            BinaryOperator::Greater => Self::Greater,
            BinaryOperator::GreaterOrEqual => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The comparison with exchanged operands.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            symmetric => symmetric,
        }
    }

    pub(super) fn is_ordering(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }

    pub(super) fn numbers(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    fn holds_for(self, are_equal: bool) -> bool {
        are_equal == (self == Self::Equal)
    }
}

/// A predicate on a node.
type ItemPredicate<'h, T> = dyn FnMut(&Item<T>) -> Result<bool, <T as Instances>::Error> + 'h;

/// A string to compare with, and the same with module names as prefixes if it is a name.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    text: &'t str,
    name: &'t str,
}

impl<'t> Text<'t> {
    pub(super) fn text(self) -> &'t str {
        self.text
    }

    pub(super) fn literal(literal: &'t Literal) -> Self {
        Self {
            text: literal,
            name: literal.as_name(),
        }
    }

    pub(super) fn plain(text: &'t str) -> Self {
        Self { text, name: text }
    }
}

impl<T: Instances> Evaluator<'_, T> {
    /// Compares the values of two expressions.
    pub(super) fn compare(
        &self,
        comparison: Comparison,
        left: &Expr,
        right: &Expr,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        match (self.is_node_set(left), self.is_node_set(right)) {
            (true, true) => self.compare_node_sets(comparison, left, right, env),
            (true, false) => self.compare_node_set(comparison, left, right, env),
            (false, true) => self.compare_node_set(comparison.swapped(), right, left, env),
            (false, false) => {
                let (left, right) = (self.object(left, env)?, self.object(right, env)?);
                self.compare_objects(comparison, &left, &right)
            }
        }
    }

    /// Compares two values that are not node-sets.
    fn compare_objects(
        &self,
        comparison: Comparison,
        left: &Object<T>,
        right: &Object<T>,
    ) -> Result<bool, T::Error> {
        if !comparison.is_ordering() {
            match (left, right) {
                (Object::Boolean(_), _) | (_, Object::Boolean(_)) => {
                    return Ok(comparison.holds_for(left.to_boolean() == right.to_boolean()));
                }
                (Object::String(left), Object::String(right)) => {
                    return Ok(comparison.holds_for(left == right));
                }
                _ => {}
            }
        }
        let (left, right) = (self.number_from(left)?, self.number_from(right)?);
        Ok(comparison.numbers(left, right))
    }

    /// Returns whether a node compares with a value that is not a node-set.
    fn compare_node_set(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        other: &Expr,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        if let Expr::Literal(literal) = other {
            return self.any_compares(comparison, nodes, Text::literal(literal), env);
        }
        match self.object(other, env)? {
            Object::String(text) => self.any_compares(comparison, nodes, Text::plain(&text), env),
            Object::Boolean(value) => {
                let (found, value) = (self.boolean(nodes, env)?, value);
                Ok(if comparison.is_ordering() {
                    comparison.numbers(boolean_to_number(found), boolean_to_number(value))
                } else {
                    comparison.holds_for(found == value)
                })
            }
            Object::Number(number) => self.any_number(comparison, nodes, number, env),
            Object::NodeSet(_) => Ok(false),
        }
    }

    fn any_compares(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        text: Text<'_>,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        if comparison.is_ordering() {
            let number = string_to_number(text.text);
            return self.any_number(comparison, nodes, number, env);
        }
        if comparison == Comparison::Equal
            && let Some(cached) = self.cached_node_set_summary(comparison, nodes, env)?
        {
            return Ok(self.have_text(&cached, text));
        }
        self.measured(nodes, || {
            self.any(nodes, env, &mut |item| {
                Ok(comparison.holds_for(self.equals_text(item, text)?))
            })
        })
    }

    /// Returns whether a node compares with a number.
    fn any_number(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        number: f64,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        if comparison.is_ordering()
            && let Some(cached) = self.cached_node_set_summary(comparison, nodes, env)?
        {
            return Ok(self.compare_number(comparison, &cached, number));
        }
        self.measured(nodes, || {
            self.any(nodes, env, &mut |item| {
                Ok(comparison.numbers(self.number_of(item)?, number))
            })
        })
    }

    /// Returns whether a node satisfies a predicate.
    pub(super) fn any(
        &self,
        nodes: &Expr,
        env: &Env<'_, T>,
        holds: &mut ItemPredicate<'_, T>,
    ) -> Result<bool, T::Error> {
        let mut is_found = false;
        let _ = self.stream(nodes, env, &mut |item| {
            is_found = holds(&item)?;
            Ok(if is_found { STOP } else { CONTINUE })
        })?;
        Ok(is_found)
    }

    /// Returns whether the string-value of a node equals a text, or its canonical form in the type of the leaf.
    fn equals_text(&self, item: &Item<T>, text: Text<'_>) -> Result<bool, T::Error> {
        let leaf = match item {
            Item::Inner(_) => return Ok(*self.string_of(item)? == *text.text),
            Item::Leaf(leaf) | Item::Text(leaf) => leaf,
        };
        if with_text(&leaf.value, |own| own == text.text) {
            return Ok(true);
        }
        let canonical = self.canonical_value(item, text);
        Ok(canonical.is_some_and(|value| {
            with_text(&value, |text| with_text(&leaf.value, |own| own == text))
        }))
    }

    /// The canonical form of a text in the type of a leaf, if it may differ.
    pub(super) fn canonical(&self, of: &Item<T>, text: Text<'_>) -> Option<Box<str>> {
        let value = self.canonical_value(of, text)?;
        Some(with_text(&value, |text| text.into()))
    }

    fn canonical_value(&self, of: &Item<T>, text: Text<'_>) -> Option<Value> {
        let Item::Leaf(leaf) = of else {
            return None;
        };
        let schema = self.schema();
        let node = schema.node(leaf.node);
        let of = resolved_type(&node.as_value()?.value_type);
        if is_always_canonical(of) {
            return None;
        }
        let text = match &of.kind {
            TypeKind::IdentityRef(_) | TypeKind::InstanceIdentifier { .. } => text.name,
            _ => text.text,
        };
        let names = ModuleNames {
            leaf_module: node.module,
        };
        of.parse(schema, text, &names).ok()
    }
}
