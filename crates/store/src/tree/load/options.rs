//! What a load is asked to do, and what it did.

use espalier_yang::data::Origin;

use crate::tree::{Commit, Guard};

/// What happens to the data that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadMode {
    /// The document is merged into it.
    #[default]
    Merge,
    /// The document takes the place of everything.
    Replace,
    /// The document's top-level nodes and entries must not exist.
    Create,
}

/// How to load.
#[derive(Default)]
pub struct LoadOptions<'a> {
    /// What happens to the data that is there.
    pub mode: LoadMode,
    /// Kept in the log.
    pub author: &'a str,
    /// Kept in the log.
    pub comment: &'a str,
    /// Who holds locks and candidates; empty for nobody in particular.
    pub session: &'a str,
    /// Called once, on the very state that the load is based on, before the document is read.
    pub guard: Option<Guard<'a>>,
    /// As [`crate::CommitOptions::origin`], for loads into the operational state datastore.
    pub origin: Origin,
    /// Called now and then with the number of fragments so far.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

/// What a load did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadReport {
    /// The commit.
    pub commit: Commit,
    /// Containers and list entries in the document.
    pub fragments: u64,
    /// Leaves and leaf-list entries in the document.
    pub values: u64,
}
