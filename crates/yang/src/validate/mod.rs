//! Validation (RFC 7950 §8): all constraints of a model, on a whole tree or on the part that a change can affect.
//!
//! - [`ValidationPlan`]: the constraints of a schema, compiled once: the rules, the data that each reads, and the indexes and
//!   counters that a store maintains for them.
//! - [`Incremental`]: the validation of a change, whose cost depends on the size of the change.
//! - [`validate`]: the validation of a whole tree; [`validate_operation`]: of the input or output of an operation, or a
//!   notification, in its position in the data; [`with_operation_defaults`]: its defaults.
//!
//! One file per rule: [`content`] (mandatory nodes and choices, numbers of entries), [`reference`] (leafref,
//! instance-identifier), [`unique`]; `must` and `when` are in [`checker`]. For a change, [`incremental`] schedules
//! the checks: [`reverse_trace`] by what expressions read, [`referrers`] by the references to a node; [`whens`] removes
//! nodes whose `when` became false.
//!
//! A *rule* is a constraint of one schema node. It is checked at the instances of its *anchor*, an ancestor of that
//! node. A *route* leads from a rule's context node to a node that the rule reads; *tracing* follows it in reverse.
//!
//! The key decision: an expression is evaluated over the schema once, which gives the routes to everything that it
//! reads; a change follows these routes in reverse. If a reverse route would fan out over a list, an equality in the
//! expression (`[slot = current()/slot]`) and an index lead to the few affected instances. Re-checking by node type
//! (all instances of each rule that mentions a changed node) was rejected: one edit would cost the whole list.

mod checker;
mod dependencies;
mod full;
mod incremental;
mod leafref_target;
mod operation_defaults;
mod plan;
mod reference;
mod referrers;
mod required_children;
mod reverse_trace;
mod route;
mod sparse_lists;
mod stored;
mod unique;
mod whens;

pub(crate) use dependencies::{ends_in_all_entries, is_in_list};
pub use full::{WorkerShare, validate, validate_measured, validate_operation};
pub use incremental::{Change, Incremental, Removal, StatePair, ValidationCost};
pub use operation_defaults::with_operation_defaults;
pub use plan::ValidationPlan;
