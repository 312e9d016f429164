//! Who takes part in commits.

use std::sync::Arc;

use espalier_yang::{DataError, InstancePath};

use crate::tree::changes::Diff;
use crate::tree::edit::Edit;

/// What a subscriber wants to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Nodes, with everything below them. A list without keys is every entry of it, also on the
    /// way to a node (`/interfaces/interface/mtu`). No path at all is the whole datastore.
    pub paths: Vec<InstancePath>,
    /// Higher ones come first; equal ones in the order they subscribed.
    pub priority: i32,
}

/// Takes part in the commits that change what it subscribed to. Every call gets the whole diff of
/// the commit; [`Diff::below`] has the part of a path.
///
/// The calls come from the thread that commits, while other commits to the same datastore wait. So
/// they should be short, and may read but not commit to this datastore (that is refused; commit
/// from another thread, on an event). A call that panics counts as a refusal.
pub trait Subscriber: Send + Sync {
    /// Whether [`Self::update`] is to be called.
    fn may_edit(&self) -> bool {
        false
    }

    /// May add edits, which become part of the commit: those that come after see them. Called once
    /// for a commit (once a try, where another process interferes), before it is validated.
    fn update(&self, diff: &Diff, edits: &mut Vec<Edit>) {
        let _ = (diff, edits);
    }

    /// May refuse the commit, which is valid and complete. The error goes to who commits; those who
    /// were asked before are told to [`Self::abort`].
    fn change(&self, diff: &Diff) -> Result<(), DataError> {
        let _ = diff;
        Ok(())
    }

    /// The commit is made.
    fn done(&self, diff: &Arc<Diff>) {
        let _ = diff;
    }

    /// The commit that [`Self::change`] agreed to is not made: somebody else refused, or the
    /// engine did. The last who was asked is told first.
    fn abort(&self, diff: &Diff) {
        let _ = diff;
    }
}
