//! The limits of the transports.

use std::time::Duration;

/// The limits of the NETCONF transports of a server and of each connection.
#[derive(Clone, Debug)]
pub struct TransportLimits {
    /// Maximum number of connections. Beyond it, the oldest one that is not authenticated is closed; if
    /// there is none, the new one is.
    pub connections_max: usize,
    /// Maximum number of connections that are not authenticated. Beyond it, the oldest of them is closed.
    pub unauthenticated_max: usize,
    /// Maximum number of connections from one address that are not authenticated. Beyond it, the new one is closed.
    /// Unix sockets have no such limit.
    pub unauthenticated_of_address_max: usize,
    /// How long a client has to authenticate, from the start of its connection. For TLS, the maximum duration of the
    /// handshake.
    pub login_grace: Duration,
    /// Maximum number of rejected authentication requests of an SSH connection. The next one ends it.
    pub authentication_attempts_max: usize,
    /// How long the rejection of an authentication request takes at least, so that its duration gives no information.
    pub rejection_time: Duration,
    /// Maximum number of sessions.
    pub sessions_max: usize,
    /// Maximum number of sessions of one user.
    pub sessions_of_user_max: usize,
    /// Maximum number of sessions from one address. Sessions over Unix sockets and standard streams have none.
    pub sessions_of_address_max: usize,
    /// Maximum number of channels of an SSH connection at the same time.
    pub channels_max: usize,
    /// Maximum number of channels that an SSH connection opens in its life.
    pub channels_opened_max: usize,
    /// Maximum number of bytes that wait to be read by the session of an SSH channel. Beyond it, no channel of the
    /// connection receives data until the session has read some.
    pub channel_input_bytes_max: usize,
    /// How long a connection is silent before the server sends a keepalive: a request of SSH, a probe of TCP.
    pub keepalive_interval: Duration,
    /// How many keepalives may remain without an answer before the connection is closed.
    pub keepalives_unanswered_max: u32,
    /// How long connections may take to end after shutdown begins.
    pub shutdown_timeout: Duration,
}

impl Default for TransportLimits {
    fn default() -> Self {
        Self {
            connections_max: 4096,
            unauthenticated_max: 100,
            unauthenticated_of_address_max: 20,
            login_grace: Duration::from_secs(60),
            authentication_attempts_max: 6,
            rejection_time: Duration::from_secs(1),
            sessions_max: 4096,
            sessions_of_user_max: 2048,
            sessions_of_address_max: 2048,
            channels_max: 64,
            channels_opened_max: 1024,
            channel_input_bytes_max: 8 << 20,
            keepalive_interval: Duration::from_secs(30),
            keepalives_unanswered_max: 3,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
