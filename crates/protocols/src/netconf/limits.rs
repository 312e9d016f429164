//! The limits of sessions.

use std::time::Duration;

/// The limits of one session, and of all.
#[derive(Clone, Debug)]
pub struct NetconfLimits {
    /// Maximum time until a client has sent its `hello`.
    pub hello_time_max: Duration,
    /// Maximum size of a `hello`.
    pub hello_bytes_max: u64,
    /// Maximum size of a message; a larger one gets `too-big`, and the session ends.
    pub message_bytes_max: u64,
    /// Maximum size of a message that is held in memory. A larger one can only be an `edit-config` or `copy-config` whose data
    /// have no operations: they are received into a file, and loaded from it.
    pub held_bytes_max: u64,
    /// Maximum pause within a message that is being received.
    pub message_pause_max: Duration,
    /// Maximum pause of a client while it reads a message.
    pub reply_pause_max: Duration,
    /// Maximum time without requests; `None` for no limit. A session with a subscription has none.
    pub idle_time_max: Option<Duration>,
    /// Maximum number of operations of all sessions at a time; more wait.
    pub operations_max: usize,
    /// Maximum number of operations of one user at a time; more wait. So clients of one user that do not read their replies
    /// do not hold up others.
    pub operations_of_user_max: usize,
}

impl Default for NetconfLimits {
    fn default() -> Self {
        Self {
            hello_time_max: Duration::from_secs(60),
            hello_bytes_max: 1 << 20,
            message_bytes_max: 64 << 30,
            held_bytes_max: 64 << 20,
            message_pause_max: Duration::from_secs(300),
            reply_pause_max: Duration::from_secs(60),
            idle_time_max: None,
            operations_max: 256,
            operations_of_user_max: 64,
        }
    }
}
