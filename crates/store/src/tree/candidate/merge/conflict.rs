//! What both changed, and what to do about it.

use std::fmt;

use espalier_yang::{DataError, ErrorTag};

/// What to do where running and a candidate changed the same node differently (the modes of
/// draft-ietf-netconf-privcand).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Nothing: the update fails and tells every conflict.
    #[default]
    RevertOnConflict,
    /// The node becomes as running has it.
    PreferRunning,
    /// The node stays as the candidate has it.
    PreferCandidate,
}

/// What one side holds at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    Absent,
    /// The node, with what is in it.
    Node,
    /// A leaf with this value, as JSON.
    Value(String),
}

/// A node that running and a candidate changed differently since the candidate was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The node, as an instance identifier.
    pub path: String,
    /// What the candidate was made on.
    pub base: Held,
    /// What running has now.
    pub running: Held,
    /// What the candidate has.
    pub candidate: Held,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing"),
            Self::Node => f.write_str("something else"),
            Self::Value(json) => f.write_str(json),
        }
    }
}

impl Conflict {
    /// What is told at validation and commit. RFC 6241 has no tag of its own for it:
    /// `operation-failed` says that nothing is wrong with the request as such, and RESTCONF makes
    /// 412 (Precondition Failed) of it, which is what it is.
    pub fn to_error(&self) -> DataError {
        let message = format!(
            "running was changed meanwhile: it had {}, it has {}, the candidate has {}; \
             update the candidate and say which to prefer",
            self.base, self.running, self.candidate
        );
        DataError::new(ErrorTag::OperationFailed, message)
            .at(self.path.clone())
            .with_app_tag("candidate-conflict")
    }
}
