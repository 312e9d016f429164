//! The state of the server as data: what a client reads of the server itself is operational state like any other, so
//! that every front end, selection and access rule applies to it.
//!
//! | file | content |
//! |---|---|
//! | `served_anchor.rs` | [`ServedAnchor`]: what a front end serves of an anchor |
//! | `module_texts.rs` | [`ModuleTexts`]: the texts of the modules of an anchor |
//! | `state_store.rs` | the store in memory with the models of the server's state |
//! | `providers.rs` | the providers of each served anchor |
//! | `sources.rs` | what the providers read |
//! | `state_nodes.rs` | building data by the names of nodes |
//! | `mounts.rs` | `ietf-yang-schema-mount` (RFC 8528), and the libraries of mounted schemas |
//! | `yang_library.rs` | `ietf-yang-library` (RFC 8525, and RFC 7895 for older clients) |
//! | `event_streams.rs` | the event streams of `nc-notifications` and `ietf-subscribed-notifications` |
//! | `restconf_monitoring.rs` | `ietf-restconf-monitoring` (RFC 8040 §9) |
//! | `netconf_monitoring.rs` | `ietf-netconf-monitoring` (RFC 6022), with the sessions |
//! | `nacm.rs` | the counters of `ietf-netconf-acm` (RFC 8341 §3.3), and the rules in force |
//!
//! The key decision: each of these is a provider of the store. Where the models of the served anchor define a node, the
//! provider is registered at the anchor's operational datastore; all others are at a tree of a store in memory, whose
//! models are compiled when it is first read. So the models of users need not have these modules, and reads of other data
//! do not pay for them (decision 0070).

mod anchor_state;
mod event_streams;
mod module_texts;
mod mounts;
mod nacm;
mod netconf_monitoring;
mod providers;
mod restconf_monitoring;
mod served_anchor;
mod sources;
mod state_nodes;
mod state_store;
mod yang_library;

pub use module_texts::ModuleTexts;
pub use providers::DescribedAnchor;
pub(crate) use providers::ServerState;
pub use served_anchor::ServedAnchor;
pub(crate) use sources::StateSources;
pub(crate) use state_nodes::StateNodes;
pub(crate) use state_store::{SUBSCRIBED_FEATURES, StateStore, defines, is_state_module, only};
pub use state_store::{schema, state_schema_of};
pub use yang_library::LibraryTag;
