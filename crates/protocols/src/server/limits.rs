//! The limits of the listener, each with a name.

use std::time::Duration;

/// What one server and one connection may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time. At the limit, the connection that has waited longest without a
    /// request is closed for the next one; connections whose request is being handled never are.
    pub connections_max: usize,
    /// How long a client may take for the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long a connection may stay without a request: from its start, or from the last byte of
    /// the last answer, until the head of a request is complete.
    pub header_timeout: Duration,
    /// Header fields in one HTTP/1.1 request; more is 431.
    pub headers_max: usize,
    /// Bytes of the request line and headers; more is 431.
    pub header_bytes_max: u32,
    /// Bytes of an HTTP/1.1 request line that does not end; more is 414. A target that is complete
    /// may have 65,534 bytes.
    pub request_line_bytes_max: usize,
    /// How long the server waits for the next byte of a body.
    pub body_pause_max: Duration,
    /// How long the server waits for a body in all, beyond what [`Self::body_rate_min`] allows.
    pub body_grace: Duration,
    /// Bytes per second that a body must arrive at. Only the time that the server spends waiting
    /// for the client counts.
    pub body_rate_min: u64,
    /// How long a client may take none of an answer.
    pub answer_pause_max: Duration,
    /// How long the server reads on after the last answer of a connection, so that a client which
    /// is still sending receives that answer.
    pub linger_timeout: Duration,
    /// How long the server waits for the next byte meanwhile.
    pub linger_pause: Duration,
    /// Bytes that the server reads and discards meanwhile.
    pub linger_bytes_max: u64,
    /// HTTP/2 streams at a time on one connection.
    pub streams_max: u32,
    /// How long requests under way may take to finish after shutdown begins.
    pub shutdown_timeout: Duration,
    /// How long the server waits for heads and bodies that are still arriving when shutdown begins.
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
            answer_pause_max: Duration::from_secs(60),
            linger_timeout: Duration::from_secs(30),
            linger_pause: Duration::from_secs(5),
            linger_bytes_max: 64 << 20,
            streams_max: 128,
            shutdown_timeout: Duration::from_secs(20),
            shutdown_receive_timeout: Duration::from_secs(1),
        }
    }
}
