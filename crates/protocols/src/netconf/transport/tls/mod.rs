//! NETCONF over TLS (RFC 7589): TLS 1.2 and 1.3 with a certificate of the client, which gives its user.

mod config;
mod failed_check;
mod pinned;
mod transport;

pub use transport::TlsTransport;
