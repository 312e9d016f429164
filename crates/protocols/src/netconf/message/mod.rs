//! The messages of NETCONF: `hello`, `rpc`, `rpc-reply`.

mod element;
mod hello;
mod reply;
mod rpc;

pub use element::{Element, NotXml};
pub use hello::{Hello, HelloError};
pub use reply::{Reply, ReplyStart};
pub use rpc::{PartialRpc, Rpc, RpcError};

/// The namespace of the messages and the base operations (RFC 6241).
pub const BASE_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// The capability of the protocol of RFC 4741.
pub const BASE_1_0: &str = "urn:ietf:params:netconf:base:1.0";

/// The capability of the protocol of RFC 6241.
pub const BASE_1_1: &str = "urn:ietf:params:netconf:base:1.1";
