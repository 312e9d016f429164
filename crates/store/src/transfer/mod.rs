//! Whole key spaces from one engine to another, to a file, and back.
//!
//! Nothing here knows what the rows mean. A *transfer* reads rows in key order from one snapshot
//! (or from a backup file) and commits them to the target, a chunk at a time. From its first
//! commit to its last the target has a row that says so (the [`Marker`]): no store opens on it, the
//! same transfer goes on where it was, and no other one touches it. Before that row goes, everything in the
//! target is read again, and its digest compared with that of the source.
//!
//! The alternative, one streamed write, is atomic without a marker, but has to begin again after
//! every interruption, and keeps everything in memory on engines without long transactions.

mod backup;
mod contract;
mod copy;
mod digest;
mod file;
mod marker;
mod pour;
mod restore;
mod rows;

pub use backup::{Backup, backup};
pub(crate) use contract::refuse_unfinished;
pub use contract::{Existing, Phase, Progress, Transferred, check_source};
pub use copy::copy;
pub use digest::Digest;
pub use file::BLOCK_BYTES_MAX;
pub use marker::Marker;
pub use restore::{CheckedBackup, restore};
