//! The limits of the listener.

use std::time::Duration;

/// The limits of a server and of each connection.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of connections. At the limit, the longest idle connection is closed for the next one;
    /// a connection whose request is being handled is never closed.
    pub connections_max: usize,
    /// Maximum duration of the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a connection may be idle: from its start or the last byte of the last response until the
    /// headers of a request are complete.
    pub header_timeout: Duration,
    /// Maximum number of header fields in an HTTP/1.1 request; more is 431.
    pub headers_max: usize,
    /// Maximum size of the request line and headers; more is 431.
    pub header_bytes_max: u32,
    /// Maximum size of an incomplete HTTP/1.1 request line; more is 414. The target of a complete one may
    /// have 65,534 bytes.
    pub request_line_bytes_max: usize,
    /// How long the server waits for the next byte of a body.
    pub body_pause_max: Duration,
    /// How long the server waits for a body in total, in addition to the time that [`Self::body_rate_min`]
    /// allows.
    pub body_grace: Duration,
    /// The minimum rate of a body, in bytes per second. Only the time that the server waits for the client
    /// counts.
    pub body_rate_min: u64,
    /// How long a client may pause while it reads a response.
    pub response_pause_max: Duration,
    /// How long the server keeps reading after the last response of a connection, so that a client that is
    /// still sending can receive it.
    pub linger_timeout: Duration,
    /// How long the server then waits for the next byte.
    pub linger_pause: Duration,
    /// Maximum number of bytes that it then reads and discards.
    pub linger_bytes_max: u64,
    /// Maximum number of HTTP/2 streams on one connection.
    pub streams_max: u32,
    /// How long requests in progress may take after shutdown begins.
    pub shutdown_timeout: Duration,
    /// How long the server waits for headers and bodies that are still arriving when shutdown begins.
    pub shutdown_receive_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(60),
            headers_max: 100,
            header_bytes_max: 256 * 1024,
            request_line_bytes_max: 72 * 1024,
            body_pause_max: Duration::from_secs(30),
            body_grace: Duration::from_secs(60),
            body_rate_min: 1024,
            response_pause_max: Duration::from_secs(60),
            linger_timeout: Duration::from_secs(30),
            linger_pause: Duration::from_secs(5),
            linger_bytes_max: 64 << 20,
            streams_max: 128,
            shutdown_timeout: Duration::from_secs(20),
            shutdown_receive_timeout: Duration::from_secs(1),
        }
    }
}
