//! Filters of NETCONF reads, planned against the schema.
//!
//! | file | content |
//! |---|---|
//! | `filter.rs` | a filter: subtree (RFC 6241 §6), XPath (RFC 6241 §8.9), or none |
//! | `expression.rs` | an XPath filter, with its prefixes resolved |
//! | `plan.rs` | the plan: what is selected, by schema node and keys |
//! | `plan_subtree.rs`, `plan_path.rs` | plans of subtree filters, and of XPath paths without other predicates than keys |
//! | `plan_nodes.rs` | the plan of the nodes that any other XPath expression selects |
//! | `plan_list.rs` | the only list or leaf-list that a plan selects from |
//! | `reach.rs` | the part of the data of a provider that a plan reads |
//! | `within.rs` | the part of a plan at and below one instance |
//!
//! The key decision: a filter becomes a plan, and one scan of the tree follows the plan, seeking from one selected key to
//! the next (decision 0080). A read for each selected node was rejected: a filter that selects two leaves of each of
//! 100,000 entries would make 200,000 of them.

mod expression;
#[allow(
    clippy::module_inception,
    reason = "the folder is named by its main type"
)]
mod filter;
mod plan;
mod plan_list;
mod plan_nodes;
mod plan_path;
mod plan_subtree;
mod reach;
mod within;

pub use expression::FilterExpression;
pub use filter::Filter;
pub use plan::FILTER_PLAN_NODES_MAX;

pub(in crate::tree) use plan::{ContentCondition, Instance, Plan, PlanId, PlanNode};
pub(in crate::tree) use plan_list::PlannedList;
pub(in crate::tree) use plan_nodes::plan_of_nodes;
pub(in crate::tree) use plan_path::{leading_keys, matches, stays_below};
pub(in crate::tree) use within::is_leaf;
