//! libyang as judge of whole data trees (RFC 7950 §8).
//!
//! [`Judge::verdict`] is asked about an edit: the committed tree and the tree that the edit makes
//! of it. What RFC 7950 §8.2 says of `when` is done here around libyang, not by it: nodes that
//! were there before and whose `when` is now false are deleted, new and changed ones are an error.
//! libyang has flags for that (`LYD_WHEN_TRUE`), but it trusts a flag that is still to be tested:
//! a `when` that reads a node with a `when` of its own then depends on the order in which libyang
//! looks at them. Without flags it does those first that others read, so each round here gives it
//! a tree without flags, takes away the one node that it complains of, and begins again.
//!
//! Default values are made by a second context, of the same modules without their `when`
//! statements, for the same reason: libyang gives nodes that it makes the flag.

mod ffi;
mod verdict;

pub use verdict::{Judge, Problem, Verdict};
