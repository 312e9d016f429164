//! Configured subscriptions (RFC 8639 §2.5): those of the configuration of the server, whose receivers are clients that the
//! server calls with NETCONF.
//!
//! | file | content |
//! |---|---|
//! | `config.rs` | the subscriptions in the configuration |
//! | `record.rs` | a subscription with its receivers |
//! | `registry.rs` | those of a service |
//! | `wakers.rs` | wakes the sessions of receivers after changes |
//!
//! The key decision: what a receiver gets in one session is an established subscription like a dynamic one, with other
//! notifications about it. The registry has what remains between the sessions (decision 0086).

mod config;
mod record;
mod registry;
mod wakers;

pub(crate) use config::{
    ConfiguredFilter, ConfiguredTarget, DatastoreTarget, Problem, RECEIVERS, SubscriptionConfig,
    problem_of, read_configured,
};
pub(crate) use registry::{ConfiguredSubscriptions, Known, Opened, Opening};
