//! XPath expressions (RFC 7950 §6.4), parsed with their prefixes resolved to module names.

mod expression;

pub use expression::Expression;
