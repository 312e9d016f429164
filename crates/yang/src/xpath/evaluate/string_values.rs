//! String-values (XPath 1.0 §5) and the conversions of nodes to strings and numbers.

use std::fmt::Write;

use super::evaluator::CONTINUE;
use super::value_types::{
    boolean_to_number, boolean_to_string, number_to_string, string_to_number,
};
use super::{Evaluator, Item, Object};
use crate::instances::Instances;
use crate::schema::{Canonical, Type, TypeKind};
use crate::value::Value;
use crate::xpath::{Axis, NodeTest};

/// The type of the values of a type: the target type for leafrefs.
pub(crate) fn resolved_type(of: &Type) -> &Type {
    match &of.kind {
        TypeKind::LeafRef { target_type, .. } => resolved_type(target_type),
        _ => of,
    }
}

/// Returns whether every text that is a value of a type is canonical.
pub(super) fn is_always_canonical(of: &Type) -> bool {
    match &of.kind {
        TypeKind::String(..) => of.canonical == Canonical::BuiltIn,
        TypeKind::Boolean | TypeKind::Enumeration(_) | TypeKind::Empty => true,
        _ => false,
    }
}

/// Returns whether the conversion of a text from one type to the canonical form of another leaves it unchanged.
pub(super) fn preserves_text(own: &Type, other: &Type) -> bool {
    is_always_canonical(other)
        || (std::mem::discriminant(&own.kind) == std::mem::discriminant(&other.kind)
            && own.canonical == other.canonical
            && !matches!(own.kind, TypeKind::Union(_) | TypeKind::Bits(_)))
}

/// Returns whether the text of a value is not empty.
pub(super) fn has_text(value: &Value) -> bool {
    match value {
        Value::Empty => false,
        Value::Binary(bytes) => !bytes.is_empty(),
        Value::String(text) | Value::Identity(text) | Value::InstanceIdentifier(text) => {
            !text.is_empty()
        }
        _ => true,
    }
}

/// Calls `act` with the text of a value, without a copy if it is stored as text.
pub(super) fn with_text<R>(value: &Value, act: impl FnOnce(&str) -> R) -> R {
    match value {
        Value::String(text) | Value::Identity(text) | Value::InstanceIdentifier(text) => act(text),
        Value::Boolean(value) => act(boolean_to_string(*value)),
        Value::Empty => act(""),
        other => act(&other.to_string()),
    }
}

/// `number()` of a value.
pub(super) fn number_of_value(value: &Value) -> f64 {
    match value {
        Value::Int32(number) => f64::from(*number),
        Value::Uint32(number) => f64::from(*number),
        Value::Int64(number) => *number as f64,
        Value::Uint64(number) => *number as f64,
        other => with_text(other, string_to_number),
    }
}

impl<T: Instances> Evaluator<'_, T> {
    /// The string-value of a node: for an interior node, the concatenation of all its leaves.
    pub(super) fn string_of(&self, item: &Item<T>) -> Result<Box<str>, T::Error> {
        if let Some(leaf) = item.as_leaf() {
            return Ok(with_text(&leaf.value, |text| text.into()));
        }
        let mut text = String::new();
        let _ = self.axis(item, Axis::Descendant, &NodeTest::Node, &mut |item| {
            if let Some(leaf) = item.as_leaf() {
                // Writing to a string cannot fail.
                let _ = write!(text, "{}", leaf.value);
            }
            Ok(CONTINUE)
        })?;
        Ok(text.into())
    }

    /// `number()` of a node.
    pub(super) fn number_of(&self, item: &Item<T>) -> Result<f64, T::Error> {
        match item.as_leaf() {
            Some(leaf) => Ok(number_of_value(&leaf.value)),
            None => Ok(string_to_number(&self.string_of(item)?)),
        }
    }

    /// `string()` of an object.
    pub(super) fn string_from(&self, object: Object<T>) -> Result<Box<str>, T::Error> {
        Ok(match object {
            Object::NodeSet(items) => match items.first() {
                Some(item) => self.string_of(item)?,
                None => Box::default(),
            },
            Object::Boolean(value) => boolean_to_string(value).into(),
            Object::Number(number) => number_to_string(number).into(),
            Object::String(text) => text,
        })
    }

    /// `number()` of an object.
    pub(super) fn number_from(&self, object: &Object<T>) -> Result<f64, T::Error> {
        Ok(match object {
            Object::NodeSet(items) => match items.first() {
                Some(item) => self.number_of(item)?,
                None => f64::NAN,
            },
            Object::Boolean(value) => boolean_to_number(*value),
            Object::Number(number) => *number,
            Object::String(text) => string_to_number(text),
        })
    }
}
