//! What the RESTCONF server is told when it is made.

use super::Limits;
use crate::intake::Intake;

/// Whether clients may write state data (config false). RFC 8040 forbids it; a server that keeps
/// state beside configuration for others can allow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateWrites {
    /// Refused with `invalid-value`, as RFC 8040 §3.5 has it.
    #[default]
    Refused,
    /// Allowed, as for configuration.
    Allowed,
}

/// How the server presents itself.
#[derive(Clone, Debug)]
pub struct RestconfConfig {
    /// The root resource (RFC 8040 §3.1), beginning with `/` and not ending with it.
    pub root: String,
    /// Whether clients may write state data.
    pub state_writes: StateWrites,
    /// The author that commits carry.
    pub author: String,
    /// The limits.
    pub limits: Limits,
    /// What takes in the bodies of requests.
    pub intake: Intake,
}

impl Default for RestconfConfig {
    fn default() -> Self {
        Self {
            root: "/restconf".to_owned(),
            state_writes: StateWrites::default(),
            author: "restconf".to_owned(),
            limits: Limits::default(),
            intake: Intake::default(),
        }
    }
}
