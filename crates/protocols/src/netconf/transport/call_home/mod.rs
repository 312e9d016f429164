//! Call home (RFC 8071): the server connects to its clients, and then is the server of SSH or TLS as usual.
//!
//! | module | content |
//! |---|---|
//! | `client` | [`CallHomeClient`]: whom to call, and when |
//! | `endpoint_order` | which endpoint is tried next, and the pause before it |
//! | `serve` | [`serve_call_home`]: connects for ever |
//!
//! The key decision: no failure ends it. A client that rejects the server's key today may accept it tomorrow.

mod client;
mod endpoint_order;
mod serve;

pub use client::{CallHomeClient, ConnectionType, Endpoint, Protocol, StartWith};
pub use serve::{CallHome, CallHomeError, CalledClients, serve_call_home};
