//! Options and result of a load.

use std::sync::Arc;

use espalier_yang::data::Origin;

use crate::access::AccessTable;
use crate::tree::{Commit, Guard};

/// What happens to existing data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadMode {
    /// The document is merged into it.
    #[default]
    Merge,
    /// The document replaces everything.
    Replace,
    /// The document's top-level nodes and entries must not exist.
    Create,
}

/// The options of a load.
#[derive(Default)]
pub struct LoadOptions<'a> {
    /// What happens to existing data.
    pub mode: LoadMode,
    /// Stored in the log.
    pub author: &'a str,
    /// Stored in the log.
    pub comment: &'a str,
    /// The session that holds locks and candidates; empty if none.
    pub session: &'a str,
    /// Called once with the state that the load is based on, before the document is read.
    pub guard: Option<Guard<'a>>,
    /// As [`crate::CommitOptions::access`]. The load of an author who may not write everything is held in memory.
    pub access: Option<&'a Arc<AccessTable>>,
    /// As [`crate::CommitOptions::origin`], for loads into the operational state datastore.
    pub origin: Origin,
    /// Called regularly with the number of fragments so far.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

/// The result of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadReport {
    /// The commit.
    pub commit: Commit,
    /// The number of containers and list entries in the document.
    pub fragments: u64,
    /// The number of leaves and leaf-list entries in the document.
    pub values: u64,
}
