//! Validation (RFC 7950 §8): every constraint of a model, on a whole tree or on what a change can
//! affect.
//!
//! - [`Plan`]: the constraints of a schema, compiled once: which rules there are, what each reads,
//!   and which indexes and counts a store keeps for them.
//! - [`Incremental`]: the validation of a change, at the cost of the change.
//! - [`validate`]: the validation of a whole tree; [`validate_operation`]: of the input or output of
//!   an operation, or a notification, in its place among the data.
//!
//! One file per rule: [`content`] (mandatory nodes and choices, numbers of entries), [`reference`]
//! (leafref, instance-identifier), [`unique`]; `must` and `when` are in [`checker`]. Of a change,
//! [`incremental`] finds what is due: [`trace`] by what expressions read, [`referrers`] by what refers
//! to a node; [`settle`] takes away what exists only by a `when`.
//!
//! The key decision: an expression is evaluated over the schema once, which gives the ways from a
//! rule's context node to all that it reads; a change follows these ways backwards. Where a way
//! back would fan out over a list, an equality in the expression (`[slot = current()/slot]`) and an
//! index lead to the few places that matter. Re-checking by types of nodes (all instances of each
//! rule that mentions a changed node) was refused: it makes one edit cost the whole list.

mod by_node;
mod checker;
mod content;
mod full;
mod incremental;
mod plan;
mod reads;
mod reference;
mod referrers;
mod route;
mod settle;
mod stored;
mod target;
mod trace;
mod unique;

pub use full::{Share, validate, validate_measured, validate_operation};
pub use incremental::{Change, Effort, Incremental, Removal, States};
pub use plan::Plan;
pub(crate) use reads::{ends_in_all_entries, is_in_list};
