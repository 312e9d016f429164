//! Merge conflicts and their resolution.

use std::fmt;

use espalier_yang::{DataError, ErrorTag};

/// The resolution of conflicts: running and a candidate changed the same node differently (the modes of
/// draft-ietf-netconf-privcand).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// The update fails and reports every conflict.
    #[default]
    RevertOnConflict,
    /// The node of running is used.
    PreferRunning,
    /// The node of the candidate is used.
    PreferCandidate,
}

/// The content of a node on one side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictContent {
    /// The node is absent.
    Absent,
    /// A node with its descendants.
    Node,
    /// A leaf with this value, as JSON.
    Value(String),
}

/// A node that running and a candidate changed differently since the candidate's base version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The node, as an instance identifier.
    pub path: String,
    /// The content in the base version.
    pub base: ConflictContent,
    /// The content in running.
    pub running: ConflictContent,
    /// The content in the candidate.
    pub candidate: ConflictContent,
}

impl fmt::Display for ConflictContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("nothing"),
            Self::Node => f.write_str("other content"),
            Self::Value(json) => f.write_str(json),
        }
    }
}

impl Conflict {
    /// The error for validation and commit. RFC 6241 has no tag for conflicts: with `operation-failed` the
    /// request itself is valid, and RESTCONF maps it to 412 (Precondition Failed), which fits.
    pub fn to_error(&self) -> DataError {
        let message = format!(
            "running and the candidate changed it differently: it had {}, running has {}, the candidate has {}; \
             update the candidate with a preference for one of them (the operation “update”; “espalier update --prefer running”)",
            self.base, self.running, self.candidate
        );
        DataError::new(ErrorTag::OperationFailed, message)
            .at(self.path.clone())
            .with_app_tag("candidate-conflict")
    }
}
