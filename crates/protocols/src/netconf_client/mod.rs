//! A NETCONF client (RFC 6241), for the servers of any vendor: over SSH (RFC 6242), TLS (RFC 7589), a Unix socket, and
//! call home (RFC 8071).
//!
//! | file | content |
//! |---|---|
//! | `server_url.rs` | [`Target`]: where a server is |
//! | `connect.rs` | [`connect`], and [`CallHomeListener`] for servers that connect by themselves |
//! | `ssh/`, `tls.rs` | the transports |
//! | `session/` | [`Session`]: requests, replies, notifications |
//! | [`operations`] | the elements of standard operations |
//! | `reply.rs`, `rpc_error.rs` | [`Reply`], [`RpcError`] |
//! | `limits.rs`, `error.rs` | [`ClientLimits`], [`ClientError`] |
//!
//! Framing, `hello` and elements are those of [`crate::netconf`].
//!
//! ```no_run
//! # async fn example() -> Result<(), espalier_protocols::netconf_client::ClientError> {
//! use espalier_protocols::netconf_client::{ConnectOptions, connect};
//!
//! let target = "ssh://maria@router.example".parse()?;
//! let session = connect(&target, &ConnectOptions::default()).await?;
//! let reply = session.request("<get-config><source><running/></source></get-config>").await?;
//! println!("{}", reply.text());
//! session.close().await
//! # }
//! ```
//!
//! The key decision: one task reads a connection and gives the parts of a reply to the request that waits for it, by
//! `message-id`, as they arrive. So a reply of any size is received in bounded memory, and notifications are apart.

mod connect;
mod error;
mod limits;
pub mod operations;
mod reply;
mod rpc_error;
mod server_url;
mod session;
mod ssh;
mod tls;

pub use connect::{CallHomeListener, ConnectOptions, connect};
pub use error::ClientError;
pub use limits::ClientLimits;
pub use reply::Reply;
pub use rpc_error::{RpcError, Severity};
pub use server_url::{HostAndPort, Target};
pub use session::{Notification, Notifications, ReplyStream, Session};
pub use ssh::{HostKeyError, HostKeyPolicy, PasswordPrompt, SshOptions};
pub use tls::TlsOptions;
