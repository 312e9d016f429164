//! NETCONF (RFC 6241), with its framing over SSH (RFC 6242) and TLS (RFC 7589).
//!
//! | file | content |
//! |---|---|
//! | `framing/` | the frames of messages |
//! | `message/` | `hello`, `rpc`, `rpc-reply` |
//! | `capabilities.rs` | what the server announces |
//! | `operations/` | the operations: those with data, and all others |
//! | `notifications.rs` | sends the notifications of a subscription |
//! | `session.rs` | a session on a connection |
//! | `server.rs` | what all sessions share |
//! | [`transport`] | SSH, TLS, Unix sockets, standard streams, call home |
//! | `url/` | the documents that `url` parameters name |
//!
//! The key decision: a session is one task that reads messages and starts one operation at a time on a thread that may
//! block; what an operation writes goes through a short queue to the connection. So replies have the order of their
//! requests, a client that does not read delays only itself, and an idle session costs no thread.

mod capabilities;
mod configured;
mod framing;
mod limits;
mod message;
mod notifications;
mod operations;
mod outbox;
mod server;
mod session;
pub mod transport;
mod url;

pub use framing::{Decoder, Framing, FramingError, MessageWriter, Part};
pub use limits::NetconfLimits;
pub use message::{
    BASE_1_0, BASE_1_1, BASE_NAMESPACE, Element, Hello, HelloError, NotXml, ServerHello,
};
pub use server::{NetconfPeer, NetconfServer, SessionEnd};
pub use url::{UrlAccess, UrlSettings};
