//! NETCONF over SSH (RFC 6242): the subsystem `netconf`, and nothing else.
//!
//! | module | content |
//! |---|---|
//! | `host_keys` | the keys of the server: made at the first start, and kept |
//! | `config` | algorithms, methods and time-outs |
//! | `transport` | [`SshTransport`]: serves connections |
//! | `handler` | authentication, and the requests of a connection |
//! | `channel` | a channel: one session |
//!
//! The key decision: `russh` runs the protocol. Its limits are replaced where they end idle sessions or have no bound
//! (docs/decisions/0082).

mod channel;
mod config;
mod handler;
mod host_keys;
mod transport;

pub use host_keys::{HostKeyError, HostKeys};
pub use transport::SshTransport;
