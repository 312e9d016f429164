//! Earlier states, and how one became the next.
//!
//! Every commit leaves its time, author and comment in the [log](super::log), and what each key held
//! before. An earlier state is the newest with those taken back, as an overlay: its cost is that of
//! the changes since. Going back to one is a commit like any other. How many versions are kept is
//! said for each datastore; a commit deletes those beyond, a few at a time.

mod commits;
mod read_log;
mod retention;
mod rewind;
mod rollback;

pub use commits::{CommitInfo, HISTORY_PAGE_MAX};
pub use retention::{RETENTION_VERSIONS_DEFAULT, Retention};

pub(in crate::tree) use commits::Kept;
pub(in crate::tree) use rewind::changes_back_to;
