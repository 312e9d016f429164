//! Which servers of a store live: the sessions of a server that was killed are ended by another one, or by its successor.
//!
//! The names of sessions that end with their connections have the id of their server. A server has a row in the store,
//! and changes it while its sessions hold a lock, a confirmed commit or a private candidate. So a server that holds
//! nothing writes nothing. The decision is docs/decisions/0085.

mod keep;
mod known_servers;
mod process;

pub(crate) use known_servers::ServerPresence;
pub use known_servers::{PRESENCE_INTERVAL, PRESENCE_MAX};
