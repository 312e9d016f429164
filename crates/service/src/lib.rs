//! The service under every front end: who makes a request, what they may do, what they did.
//!
//! | module | content |
//! |---|---|
//! | [`access`] | access control: the rules of `ietf-netconf-acm` (RFC 8341) |
//! | [`Service`] | the service of a store: looks up the rules for a session |
//! | [`Anchor`] | an open anchor |
//! | [`SessionDatastore`] | a datastore as one session sees it: the operations |
//! | [`session`] | sessions: who makes requests |
//! | [`identity`] | users, passwords, tokens, certificates: from credentials to a user name |
//! | [`Door`] | logins, and changes of users and tokens, with their audit records |
//! | [`Login`] | the logins of connections, which end when their users are removed |
//! | [`PRESENCE_MAX`] | the sessions of servers that were killed |
//! | [`audit`] | the audit log: a record of each login, write, operation and denial |
//! | [`configuration`] | where the users and access rules of the server are stored |
//! | [`notifications`] | event streams, their log, subscriptions |
//! | [`server_state`] | the state of the server as data: YANG library, monitoring, sessions |
//! | [`operations`] | RPCs and actions: those of programs, and those of the server |
//! | [`providers`] | programs in any language that serve state, answer operations and take part in commits |
//! | [`modules`] | the YANG modules that the service brings |

pub mod access;
mod anchor;
pub mod audit;
pub mod configuration;
mod datastore;
mod denied;
pub mod identity;
mod logins;
mod merge_patch;
pub mod modules;
pub mod notifications;
mod open_logins;
pub mod operations;
pub mod providers;
mod server_presence;
pub mod server_state;
mod service;
pub mod session;
mod time_text;

pub use anchor::Anchor;
pub use datastore::{
    BegunChange, ChangeNote, ConfiguredFeed, FilteredPart, ModuleUpgrade, RequestFilter,
    SessionDatastore, XPathFilter,
};
pub use denied::DeniedCounters;
pub use logins::Door;
pub use open_logins::{Login, OpenLogin};
pub use server_presence::{PRESENCE_INTERVAL, PRESENCE_MAX};
pub use service::{AccessControl, LoginPolicy, Service};
