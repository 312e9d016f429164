//! Subscribers, which take part in commits.

use std::sync::Arc;

use espalier_yang::{DataError, InstancePath};

use crate::tree::changes::Diff;
use crate::tree::edit::Edit;

/// The scope and priority of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Nodes with their descendants. A list without keys stands for every entry, also on the path of a node
    /// (`/interfaces/interface/mtu`). No path stands for the whole datastore.
    pub paths: Vec<InstancePath>,
    /// Higher priorities first; equal ones in the order of subscription.
    pub priority: i32,
}

/// Takes part in the commits that change its paths. Every call gets the whole diff of the commit;
/// [`Diff::below`] returns the part of a path.
///
/// The calls are made by the committing thread while other commits to the same datastore wait. They should
/// be short, and may read but not commit to this datastore (that fails; commit from another thread, on an
/// event). A panic counts as a refusal.
pub trait Subscriber: Send + Sync {
    /// Whether [`Self::update`] is called.
    fn may_edit(&self) -> bool {
        false
    }

    /// May add edits, which become part of the commit and are visible to subsequent subscribers. Called
    /// once per commit (again on a retry after a conflict), before validation.
    fn update(&self, diff: &Diff, edits: &mut Vec<Edit>) {
        let _ = (diff, edits);
    }

    /// May refuse the valid and complete commit. The error is returned to the committer; subscribers that
    /// accepted it before get [`Self::abort`].
    fn change(&self, diff: &Diff) -> Result<(), DataError> {
        let _ = diff;
        Ok(())
    }

    /// The commit is made.
    fn done(&self, diff: &Arc<Diff>) {
        let _ = diff;
    }

    /// The commit that [`Self::change`] accepted is not made: another subscriber refused it, or the engine
    /// failed. Called in reverse order.
    fn abort(&self, diff: &Diff) {
        let _ = diff;
    }
}
