//! A proposed change of a datastore.

use espalier_keyspace::Batch;

use super::edit::TouchedResources;
use crate::overlay::Overlay;

/// A proposed next state of a datastore.
pub(super) struct Proposal {
    /// The changes, over the state that they are based on.
    pub overlay: Overlay,
    /// The touched resources, by key.
    pub touched: TouchedResources,
    /// Writes and preconditions besides the data that belong to the same commit, such as the end of a
    /// candidate or a confirmation. Dropped if the data does not change.
    pub extra: Batch,
}
