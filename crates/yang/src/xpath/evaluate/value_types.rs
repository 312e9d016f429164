//! The four types of XPath 1.0 (§1) and the conversions between them (§4.2 to §4.4) that need no data.

use super::Item;
use crate::instances::Instances;

/// The value of an expression.
#[derive(Debug)]
pub enum Object<T: Instances> {
    /// Distinct nodes, in document order.
    NodeSet(Vec<Item<T>>),
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(Box<str>),
}

impl<T: Instances> Clone for Object<T> {
    fn clone(&self) -> Self {
        match self {
            Self::NodeSet(items) => Self::NodeSet(items.clone()),
            Self::Boolean(value) => Self::Boolean(*value),
            Self::Number(value) => Self::Number(*value),
            Self::String(text) => Self::String(text.clone()),
        }
    }
}

impl<T: Instances> Object<T> {
    /// `boolean()` (XPath 1.0 §4.3).
    pub fn to_boolean(&self) -> bool {
        match self {
            Self::NodeSet(items) => !items.is_empty(),
            Self::Boolean(value) => *value,
            Self::Number(value) => *value != 0.0 && !value.is_nan(),
            Self::String(text) => !text.is_empty(),
        }
    }

    pub(super) fn string(text: impl Into<Box<str>>) -> Self {
        Self::String(text.into())
    }
}

/// `string()` of a number (XPath 1.0 §4.2).
pub fn number_to_string(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}Infinity");
    }
    number.to_string()
}

/// `number()` of a string (XPath 1.0 §4.4): white space, an optional minus sign, digits with at most one point, white
/// space. Anything else is NaN.
pub fn string_to_number(text: &str) -> f64 {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().filter(|byte| *byte == b'.').count() <= 1
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// `string()` of a boolean (XPath 1.0 §4.2).
pub fn boolean_to_string(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// `number()` of a boolean (XPath 1.0 §4.4).
pub fn boolean_to_number(value: bool) -> f64 {
    f64::from(u8::from(value))
}
