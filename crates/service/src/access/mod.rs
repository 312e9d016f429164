//! Access control (RFC 8341): which rules apply to a user, and what they permit.
//!
//! | file | content |
//! |---|---|
//! | `nacm.rs` | the configuration of `ietf-netconf-acm`, read from a datastore |
//! | `pattern.rs` | the paths of rules, `node-instance-identifier` |
//! | `policy.rs` | [`AccessPolicy`]: the configuration for one schema; the access of each user |
//! | `user.rs` | [`UserAccess`]: what one user may do |
//! | `resources.rs` | [`ResourceAccess`]: what a user may do with collections and statistics |
//! | `anchor_access.rs` | [`AnchorAccess`]: which anchors a user can know of |
//! | `rules_cache.rs` | the rules in force, read again when they change |
//! | `errors.rs` | errors without what the user cannot read |
//! | `explain.rs` | which rule decides, and why |
//!
//! Rules on data nodes are compiled by the store ([`espalier_store::AccessTable`]), which applies them to reads and
//! commits.

mod anchor_access;
mod errors;
mod explain;
mod nacm;
mod pattern;
mod policy;
mod resources;
mod restricted;
mod rules_cache;
mod user;

pub use anchor_access::AnchorAccess;
pub(crate) use errors::{hide_denied, hide_missing, may_read};
pub use explain::{AccessReason, Explanation};
pub use nacm::{MODULE as NACM_MODULE, NacmConfig, Rule, RuleKind, RuleList, RuleScope};
pub use pattern::{PatternError, parse_pattern};
pub use policy::{AccessPolicy, RuleProblem, USER_TABLES_MAX};
pub use resources::{Resource, ResourceAccess};
pub use rules_cache::{POLICIES_MAX, RULES_DELAY_MAX, RulesCache};
pub use user::{Caller, UserAccess};
