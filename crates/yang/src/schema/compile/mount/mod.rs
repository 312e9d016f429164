//! Adds mounted schemas (RFC 8528) to a schema: a copy of their nodes below each node with the mount point.
//!
//! The copies are ordinary nodes, so that keys, reads, edits and constraints need no other code for mounted data. What
//! depends on the root of the mounted schema is rewritten:
//!
//! - `absolute_paths`: `/m:a` in an expression becomes a path up to the instance of the mount point, and down.
//! - `selection`: if instances have different schemas, a node exists only under those that have it (`when`).
//! - `identifiers`: modules are identified by name in the whole schema, identities by module and name; which identities
//!   derive from a base is known for each mounted schema.
//! - `types`: copies types; an instance-identifier starts at the instance of the mount point.
//! - `point`: a node with a mount point, and which of its schemas have which nodes.
//! - `graft`: copies the nodes of one mounted schema; `merge`: compares nodes that several schemas have; `widen`: their types.
//! - `compile`: finds the mount points, compiles each mounted schema once, and nests.
//!
//! The alternatives refused are in docs/decisions/0072.

mod absolute_paths;
mod compile;
mod graft;
mod identifiers;
mod merge;
mod point;
mod selection;
mod types;
mod widen;

pub(super) use compile::compile;
