//! A set of YANG modules, compiled once into an immutable value.
//!
//! libyang compiles; [`compile`](Schema::compile) copies its tree once, and nothing else uses C. Node ids index one
//! array and are stable for one `Schema` value only; stored data uses the store's node dictionary.

mod compile;
mod convert;
mod id_bounds;
mod lexical;
mod model;
mod module_change;
mod namespaces;
mod node;
mod node_table;
pub(crate) mod other_modules;
pub mod pattern;
mod source;
mod statement;
pub mod stored;
mod tree_diagram;
mod types;

pub use compile::{SCHEMA_NODES_MAX, SchemaError, SchemaErrors, UNION_MEMBERS_MAX};
pub use convert::{InstanceIdentifierTargets, SchemaPair};
pub use lexical::{JsonScalar, ValueError};
pub use model::{
    Case, Choice, Identity, IdentityId, Module, ModuleId, Mount, MountedSchema, Schema,
};
pub use module_change::{FeatureChange, ModuleChange, NewModule};
pub use namespaces::{ModuleNames, NameForm, Namespaces, XmlPrefixes};
pub use node::{
    CaseChoice, Constraint, ListNode, Node, NodeId, NodeKind, Ordering, Status, ValueNode,
};
pub use source::{Features, ModuleSource, MountSource, MountedSchemas, SchemaSource, is_yang_1_1};
pub use tree_diagram::tree_diagram;
pub use types::{
    Bit, Canonical, EnumItem, IntegerWidth, Interval, Intervals, Pattern, Secrecy, Type, TypeKind,
};
