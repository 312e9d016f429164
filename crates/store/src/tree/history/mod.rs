//! Earlier versions of a datastore.
//!
//! Every commit writes its time, author and comment to the [log](super::log), with the old value of each
//! changed key. An earlier state is the newest one with these changes undone, as an overlay: it costs as
//! much as the changes since. A rollback to it is a normal commit. The number of kept versions is set for
//! each datastore; commits delete the excess versions, a few at a time.

mod commits;
mod read_log;
mod retention;
mod rewind;
mod rollback;
mod visible;

pub use commits::{CommitInfo, HISTORY_PAGE_MAX};
pub use retention::{RETENTION_VERSIONS_DEFAULT, Retention};
pub use visible::HISTORY_CHANGES_EXAMINED_MAX;

pub(in crate::tree) use commits::KeptVersions;
pub(in crate::tree) use rewind::changes_back_to;
