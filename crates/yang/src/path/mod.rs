//! Naming data nodes: a path of steps from the root, each a schema node and the keys of its entry.
//!
//! The text forms (instance identifiers of RFC 7950 §9.13 and RFC 7951 §6.11, `api-path` of
//! RFC 8040 §3.5.3) are parsed and printed in the files of this folder.

mod instance;

pub use instance::{InstancePath, Keys, Step};
