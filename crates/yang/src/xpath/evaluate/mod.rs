//! Evaluation of XPath 1.0 with the functions of YANG 1.1 (RFC 7950 §6.4, §10) over any [`Instances`].
//!
//! - [`Evaluator`]: evaluates expressions at a context node. Its methods on the accessible tree
//!   (RFC 7950 §6.4.1) say which containers without presence, default leaves and default leaf-list values
//!   exist beside what is stored.
//! - [`Item`]: a node. [`Object`]: a result.
//! - [`Limits`]: how much work one evaluation may be.
//!
//! The key decision: location paths are not evaluated step by step into sets. Nodes are handed from
//! step to step one at a time, so that what only asks whether there is one (`not(../x)`, predicates,
//! `a = 'b'`) stops at the first; sets are made where a step could give a node twice, and sorted where
//! order matters and is not known to hold already. Predicates that compare keys become point reads.
//!
//! Where this differs from XPath 1.0, because the data is no XML document:
//!
//! - Every step `node()` and `*` gives data nodes only; text nodes are given by `text()` alone. An
//!   empty value has no text node (XPath 1.0 §5.7).
//! - Attribute and namespace axes, `id()`, `comment()` and `processing-instruction()` give nothing, `lang()` is false.
//! - `name()` has the name of the module as prefix.
//! - A leaf compared for equality with a string: the string is first brought into the canonical form of
//!   the leaf's type, if it has one (`port = '080'`, `type = 'if:ethernet'`). Of two node-sets, the text of the left is
//!   brought into the form of the type on the right. Both as in libyang, as is the string-value of an
//!   identityref: `module:name`.
//! - The place of an `input` or `output` has the name of its operation (RFC 7950 §6.4.1).

mod accessible;
mod aggregates;
mod axes;
mod children;
mod comparison;
mod deref;
mod document_order;
mod evaluator;
mod expressions;
mod functions;
mod inputs;
mod item;
mod limits;
mod memo;
mod node_sets;
mod object;
mod paths;
mod plan;
mod predicates;
mod reach;
mod siblings;
mod strings;
mod values;
mod yang_functions;

pub use evaluator::{Evaluator, Scope};
pub use item::{Item, Leaf};
pub use limits::{DEPTH_MAX, Limits, STEPS_MAX};
pub use object::{Object, number_to_string, string_to_number};
pub(crate) use values::resolved_type;
