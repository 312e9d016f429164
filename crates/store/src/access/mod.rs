//! Access to data nodes: ordered rules, compiled against a schema.
//!
//! A front end compiles the rules that apply to a user ([`AccessTable::compile`]) once, and passes the table to reads
//! ([`View::with_access`]) and commits ([`CommitOptions::access`]). For each schema node, the table has the rules that
//! can match it, and whether all its descendants are allowed or denied alike: a read leaves out a denied subtree without
//! reading it, and looks at entries only where a rule names some of them by key.
//!
//! | file | content |
//! |---|---|
//! | `rule.rs` | rules, as they are written |
//! | `compile.rs` | their compilation |
//! | `table.rs` | the table, and its answer for a path |
//! | `matching.rs` | the entries on the way to a node that rules name by key |
//!
//! [`View::with_access`]: crate::View::with_access
//! [`CommitOptions::access`]: crate::CommitOptions::access

mod compile;
mod matching;
mod rule;
mod table;

pub(crate) use matching::{ActiveConditions, EntryKeys};
pub use rule::{
    AccessDefaults, AccessOperation, AccessRules, DataRule, DenyMark, InstancePattern,
    OperationSet, PatternStep, RuleEffect,
};
pub use table::AccessTable;
pub(crate) use table::{Decision, Uniform};
