//! The transports of a NETCONF server: SSH (RFC 6242), TLS (RFC 7589), Unix sockets, standard streams, and call home
//! (RFC 8071) over SSH and TLS.
//!
//! A transport authenticates its client and gives a stream of bytes to a [`SessionRunner`]. It knows nothing of
//! messages.
//!
//! | module | content |
//! |---|---|
//! | `session_runner` | [`SessionRunner`]: what runs a session on a stream |
//! | `context` | [`TransportContext`]: what all transports of a server share |
//! | `limits` | [`TransportLimits`] |
//! | `session_slots` | how many sessions there are, in all, of a user and of an address |
//! | `connections` | the connections, and which one is closed when there are too many |
//! | `closable_stream` | a stream that another task can close |
//! | `session_stream` | the stream of a session, which the transport gets back at its end |
//! | `accept` | accepts TCP connections for SSH and TLS |
//! | `login` | from credentials to a user, with audit records |
//! | [`ssh`], [`tls`] | the two network transports |
//! | `call_home` | the server connects to its clients |
//! | `unix`, `stdio` | local clients |
//!
//! The key decision: every limit and time-out is here, so that a session can rely on a stream that ends when its client
//! is gone.

mod accept;
mod call_home;
mod closable_stream;
mod connections;
mod context;
mod limits;
mod login;
mod session_runner;
mod session_slots;
mod session_stream;
pub mod ssh;
mod stdio;
mod tcp_options;
pub mod tls;
mod unix;

pub use accept::{NetworkTransport, serve_listener};
pub use call_home::{
    CallHome, CallHomeClient, CallHomeError, CalledClients, ConnectionType, Endpoint, Protocol,
    StartWith, serve_call_home,
};
pub use connections::{Connection, ConnectionRefused};
pub use context::TransportContext;
pub use limits::TransportLimits;
pub use session_runner::SessionRunner;
pub use stdio::serve_standard_streams;
pub(crate) use tcp_options::set_tcp_options;
pub use unix::serve_unix_socket;
