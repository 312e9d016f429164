//! XPath 1.0 expressions (RFC 7950 §6.4), parsed with their prefixes resolved to module names.
//!
//! The whole grammar of XPath 1.0 with the functions of YANG 1.1 (RFC 7950 §10) is parsed to one immutable tree,
//! [`Expr`]. Abbreviations are expanded (`//` is a step, `..` is a step), so evaluation and dependency analysis
//! handle one form. Evaluation is in [`evaluate`]; the parser uses neither schema nor data.
//!
//! A `path` of a leafref (RFC 7950 §9.9.2) is the same grammar, restricted: see
//! [`Expression::parse_leafref_path`].

mod error;
pub mod evaluate;
mod expression;
mod function;
mod leafref;
mod lexer;
mod literal;
mod parser;
mod positional;
mod print;
mod replace_prefixes;

pub use error::XPathError;
pub use expression::{
    Axis, BinaryOperator, Expr, Expression, LocationPath, NodeTest, PathStep, Resolve,
};
pub use function::Function;
pub use literal::Literal;
pub use parser::{XPATH_CHARS_MAX, XPATH_DEPTH_MAX, XPATH_HEIGHT_MAX};
pub(crate) use positional::{calls_function, is_positional, may_be_number};
pub(crate) use replace_prefixes::{Place, with_modules, with_prefixes};
