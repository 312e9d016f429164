//! The limits of a client.

use std::time::Duration;

/// The limits of one session.
#[derive(Clone, Debug)]
pub struct ClientLimits {
    /// Maximum time to connect, to complete the handshake of the transport, and to authenticate, each. The time in which a
    /// person types a password does not count.
    pub connect_time_max: Duration,
    /// Maximum time until a server calls home; `None` for no limit.
    pub call_home_time_max: Option<Duration>,
    /// Maximum time until the server has sent its `hello`.
    pub hello_time_max: Duration,
    /// Maximum size of a `hello`, in bytes.
    pub hello_bytes_max: usize,
    /// Maximum time until a reply begins; `None` for no limit.
    pub reply_time_max: Option<Duration>,
    /// Maximum pause within a message that is being received.
    pub message_pause_max: Duration,
    /// Maximum pause of a server while it reads a message.
    pub send_pause_max: Duration,
    /// Maximum size of a reply that is held in memory, in bytes. [`super::Session::begin`] has no limit.
    pub held_bytes_max: usize,
    /// Maximum size of a notification, in bytes.
    pub notification_bytes_max: usize,
    /// Maximum number of notifications that wait to be read.
    pub notifications_queued_max: usize,
    /// Maximum time for `close-session`.
    pub close_time_max: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connect_time_max: Duration::from_secs(30),
            call_home_time_max: None,
            hello_time_max: Duration::from_secs(30),
            hello_bytes_max: 4 << 20,
            reply_time_max: Some(Duration::from_secs(300)),
            message_pause_max: Duration::from_secs(120),
            send_pause_max: Duration::from_secs(120),
            held_bytes_max: 256 << 20,
            notification_bytes_max: 16 << 20,
            notifications_queued_max: 256,
            close_time_max: Duration::from_secs(5),
        }
    }
}
