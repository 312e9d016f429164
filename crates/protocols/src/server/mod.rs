//! The HTTP listener that all HTTP front ends share.
//!
//! HTTP/1.1 and HTTP/2 on one port: in cleartext by HTTP/2 prior knowledge, over TLS by ALPN. Each
//! connection is one task (`connection.rs`); shutdown lets requests in progress finish, up to a limit.
//!
//! - `request_checks.rs` and `hosts.rs` reject requests for other hosts and from pages of other sites, on every
//!   route.
//! - `authentication.rs` finds the user of each request: by password, token, certificate or Unix socket.
//! - `activity.rs` tracks the activity of a connection. `connection.rs` closes idle ones, and `registry.rs`
//!   chooses which one to close when there are too many.
//! - `timed_body.rs` fails a body that stops or is too slow, `tracked_stream.rs` a request line that is too
//!   long.
//!
//! The key decision: all timeouts are here and none in a front end, so no route can lack one.

mod activity;
mod authentication;
mod connection;
mod hosts;
mod limits;
mod registry;
mod request_checks;
mod requests;
mod serve;
mod timed_body;
mod tls;
mod tracked_stream;

pub use hosts::{Hosts, InvalidHost};
pub use limits::Limits;
pub use serve::{Config, serve};
pub use timed_body::BodyTimeout;
pub use tls::{Tls, TlsError, TlsFiles, tls_config};
