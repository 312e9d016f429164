//! Validation of edits by libyang (RFC 7950 §8).
//!
//! [`Judge::verdict`] validates an edit, given the committed tree and the tree after the edit. The rules of
//! RFC 7950 §8.2 for `when` are implemented here, not by libyang: existing nodes whose `when` becomes false
//! are deleted, new and changed ones are an error. libyang has flags for that (`LYD_WHEN_TRUE`), but it
//! trusts a flag that is not tested yet: a `when` that reads a node with its own `when` then depends on the
//! order of evaluation. Without flags, libyang first evaluates conditions that others read. So each round
//! here passes a tree without flags, removes the one node that libyang reports, and repeats.
//!
//! A second context, with the same modules without their `when` statements, creates the default values, for
//! the same reason: libyang sets the flag on nodes that it creates.

mod ffi;
mod verdict;

pub use verdict::{Judge, Problem, Verdict};
