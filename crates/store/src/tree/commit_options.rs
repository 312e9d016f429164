//! The options and the result of a commit.

use std::sync::Arc;

use espalier_yang::data::Origin;

use super::view::View;
use crate::access::AccessTable;
use crate::clock::Timestamp;
use crate::error::Result;

/// A condition on the state that a commit is based on; an error aborts the commit.
pub type Guard<'a> = &'a dyn Fn(&View) -> Result<()>;

/// The author, session and condition of a commit.
#[derive(Clone, Copy, Default)]
pub struct CommitOptions<'a> {
    /// Stored in the log.
    pub author: &'a str,
    /// Stored in the log.
    pub comment: &'a str,
    /// The session that holds locks and candidates; empty if none.
    pub session: &'a str,
    /// Called with the state that the commit is based on, as the author may read it, before the edits are applied; again
    /// on every retry after a conflict.
    pub guard: Option<Guard<'a>>,
    /// The access rules of the author; `None` if everything is allowed. They must be compiled for the schema of the
    /// tree.
    pub access: Option<&'a Arc<AccessTable>>,
    /// The origin of configuration pushed into the operational state datastore (RFC 8342 §5.3.4). A node
    /// that is pushed again with the same value keeps its origin.
    pub origin: Origin,
}

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The version of the datastore; a new one if something changed.
    pub version: u64,
    /// The time of that version.
    pub time: Timestamp,
    /// Whether anything changed. A commit without changes writes nothing and creates no version.
    pub is_changed: bool,
}
