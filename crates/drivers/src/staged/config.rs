//! The limits of staged commits.

use std::time::Duration;

/// Bytes of a cell: a longer value is divided into chunks. 512 KiB.
pub const CHUNK_BYTES: usize = 512 << 10;

/// Bytes of changes that a commit tells watchers of; of a larger one they are told as a gap.
/// 256 KiB.
pub const RECORD_BYTES_MAX: usize = 256 << 10;

/// What a process left behind that is gone is removed after this time: a day.
pub const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// The layout of cells that this code writes and reads.
pub(crate) const FORMAT: &[u8] = b"1";
