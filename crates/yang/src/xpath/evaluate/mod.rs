//! Evaluation of XPath 1.0 with the functions of YANG 1.1 (RFC 7950 §6.4, §10) over any [`Instances`].
//!
//! - [`Evaluator`]: evaluates expressions at a context node. Its methods on the accessible tree (RFC 7950 §6.4.1)
//!   return which containers without presence, default leaves and default leaf-list values exist without being
//!   stored.
//! - [`Item`]: a node. [`Object`]: a result.
//! - [`Limits`]: the limits on the work of one evaluation.
//!
//! The key decision: location paths are not evaluated step by step into sets. Nodes are passed from step to step one
//! at a time, so that an existence test (`not(../x)`, predicates, `a = 'b'`) stops at the first node; sets are built
//! only where a step could visit a node twice, and sorted only where order matters and is not already guaranteed.
//! Predicates that compare keys become point reads.
//!
//! Differences from XPath 1.0, because the data is not an XML document:
//!
//! - The tests `node()` and `*` match data nodes only; only `text()` matches text nodes. An empty value has no text
//!   node (XPath 1.0 §5.7).
//! - Attribute and namespace axes, `id()`, `comment()` and `processing-instruction()` are empty, `lang()` is false.
//! - `name()` has the name of the module as prefix.
//! - If a leaf is compared for equality with a string, the string is first converted to the canonical form of the
//!   leaf's type, if it has one (`port = '080'`, `type = 'if:ethernet'`). Of two node-sets, the text of the left is
//!   converted to the canonical form of the type on the right. Both as in libyang, as is the string-value of an
//!   identityref: `module:name`.
//! - An `input` or `output` node has the name of its operation (RFC 7950 §6.4.1).

mod accessible_tree;
mod aggregates;
mod axes;
mod cache_dependencies;
mod cached_evaluation;
mod cached_values;
mod children;
mod comparison;
mod deref;
mod document_order;
mod evaluator;
mod expressions;
mod functions;
mod index_lookup;
mod item;
mod limits;
mod node_sets;
mod paths;
mod predicates;
mod schema_matches;
mod siblings;
mod string_values;
mod strings;
mod value_cache;
mod value_index;
mod value_types;
mod yang_functions;

pub use evaluator::{Evaluator, Scope};
pub use index_lookup::literal_value;
pub use item::{Item, Leaf};
pub use limits::{DEPTH_MAX, Limits, STEPS_MAX};
pub(crate) use string_values::resolved_type;
pub use value_types::{Object, number_to_string, string_to_number};
