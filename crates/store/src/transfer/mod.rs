//! Transfers of whole key spaces: between engines, to a backup file, and back.
//!
//! Transfers do not interpret the rows. A *transfer* reads rows in key order from one snapshot (or from a
//! backup file) and commits them to the target in chunks. From its first commit to its last, the target has a
//! marker row (the [`Marker`]): no store opens on it, the same transfer resumes at the marker, and any other
//! transfer is rejected. Before the marker is removed, the whole target is read back, and its digest is
//! compared with that of the source.
//!
//! The alternative, one streamed write, is atomic without a marker, but must start again after every
//! interruption, and buffers everything in memory on engines without long transactions.

mod backup;
mod copy;
mod destination;
mod digest;
mod file;
mod marker;
mod restore;
mod rows;
mod types;

pub use backup::{BackupReport, backup};
pub use copy::copy;
pub use digest::Digest;
pub use file::BLOCK_BYTES_MAX;
pub use marker::Marker;
pub use restore::{CheckedBackup, restore};
pub(crate) use types::reject_unfinished;
pub use types::{ExistingRows, Phase, Progress, TransferReport, check_source};
