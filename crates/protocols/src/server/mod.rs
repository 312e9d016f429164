//! The HTTP listener that every HTTP front end shares.
//!
//! HTTP/1.1 and HTTP/2 on one port: in cleartext by HTTP/2 prior knowledge, over TLS by ALPN. Each
//! connection is one task (`connection.rs`); shutdown lets requests under way finish, up to a limit.
//!
//! - `guard.rs` and `hosts.rs` refuse requests for other hosts and from pages of other sites, on every
//!   route.
//! - `activity.rs` is what a connection is doing. `connection.rs` closes one that stays without a request,
//!   and `registry.rs` chooses which one makes room for another when there are too many.
//! - `incoming.rs` fails a body that stops or is too slow, `wire.rs` a request line that is too long.
//!
//! The key decision: all time-outs are here and none in a front end, so that no route can lack one.

mod activity;
mod connection;
mod guard;
mod hosts;
mod incoming;
mod limits;
mod registry;
mod requests;
mod serve;
mod tls;
mod wire;

pub use hosts::{BadHost, Hosts};
pub use incoming::BodyTimeout;
pub use limits::Limits;
pub use serve::{Config, serve};
pub use tls::{Tls, TlsError, TlsFiles, tls_config};
