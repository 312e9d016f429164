//! A set of YANG modules, compiled once into an immutable value.
//!
//! libyang compiles; [`compile`](Schema::compile) walks its tree once, and nothing else sees C.
//! Node ids index one array and are stable for a `Schema` value only; what is stored uses the
//! store's node dictionary.

mod model;
mod node;
pub mod pattern;
mod source;
mod types;

pub use model::{Identity, IdentityId, Module, ModuleId, Schema};
pub use node::{
    CaseChoice, Constraint, ListNode, Node, NodeId, NodeKind, Ordering, Status, ValueNode,
};
pub use source::{Features, ModuleSource, SchemaSource};
pub use types::{Bit, EnumItem, IntegerWidth, Interval, Intervals, Pattern, Type, TypeKind};
