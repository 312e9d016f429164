//! The limits of the listener, each with a name.

use std::time::Duration;

/// What one server and one connection may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time; more wait in the listen queue.
    pub connections_max: usize,
    /// How long a client may take for the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a client may take to send the headers of a request, and how long an idle
    /// connection is kept.
    pub header_timeout: Duration,
    /// Header fields in one HTTP/1.1 request.
    pub headers_max: usize,
    /// Bytes of the request line and headers.
    pub header_bytes_max: u32,
    /// HTTP/2 streams at a time on one connection.
    pub streams_max: u32,
    /// How long requests under way may take to finish after shutdown begins.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(60),
            headers_max: 100,
            header_bytes_max: 256 * 1024,
            streams_max: 128,
            shutdown_timeout: Duration::from_secs(20),
        }
    }
}
