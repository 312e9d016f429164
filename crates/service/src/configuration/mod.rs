//! The configuration of the server itself: users (`ietf-system`) and access rules (`ietf-netconf-acm`).
//!
//! Where the models of the served anchor define them, they are data of that anchor: clients of RESTCONF and NETCONF
//! edit them there, as those protocols intend. Otherwise they are data of the *server anchor*, which is created with
//! the first user. So a store of any models, or of none, has users, and no model of a user changes for it.

mod server_anchor;
mod trees;

pub use server_anchor::{SERVER_ANCHOR, SERVER_DATASPACE, server_source};
pub use trees::ConfigurationTrees;
