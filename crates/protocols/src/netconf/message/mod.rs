//! The messages of NETCONF: `hello`, `rpc`, `rpc-reply`.

mod element;
mod hello;
mod names;
mod reply;
mod rpc;

pub use element::{Element, NotXml};
pub use hello::{Hello, HelloError, ServerHello};
pub use names::{BASE_1_0, BASE_1_1, BASE_NAMESPACE};
pub use reply::{Reply, ReplyStart};
pub use rpc::{PartialRpc, Rpc, RpcError};
