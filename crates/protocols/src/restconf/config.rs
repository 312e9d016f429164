//! The configuration of the RESTCONF server.

use super::Limits;
use crate::intake::Intake;

/// Whether clients may write state data (config false). RFC 8040 forbids it; a server that stores state for
/// other programs can allow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateWrites {
    /// Rejected with `invalid-value` (RFC 8040 §3.5).
    #[default]
    Refused,
    /// Allowed, as for configuration.
    Allowed,
}

/// The configuration of the RESTCONF server.
#[derive(Clone, Debug)]
pub struct RestconfConfig {
    /// The root resource (RFC 8040 §3.1); starts with `/` and does not end with it.
    pub root: String,
    /// The scheme and authority of this server, `https://HOST:PORT`: the YANG library has absolute URLs (RFC 8525). If
    /// empty, it has none.
    pub base_url: String,
    /// Whether clients may write state data.
    pub state_writes: StateWrites,
    /// The default author of commits.
    pub author: String,
    /// The limits.
    pub limits: Limits,
    /// Receives the bodies of requests.
    pub intake: Intake,
}

impl Default for RestconfConfig {
    fn default() -> Self {
        Self {
            root: "/restconf".to_owned(),
            base_url: String::new(),
            state_writes: StateWrites::default(),
            author: "restconf".to_owned(),
            limits: Limits::default(),
            intake: Intake::default(),
        }
    }
}
