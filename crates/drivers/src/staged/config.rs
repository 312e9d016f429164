//! The limits of staged commits.

use std::time::Duration;

/// Maximum bytes of a cell: longer values are split into chunks. 512 KiB.
pub const CHUNK_BYTES: usize = 512 << 10;

/// Maximum bytes of changes that a commit publishes for watchers; a larger commit is reported as a gap. 256
/// KiB.
pub const RECORD_BYTES_MAX: usize = 256 << 10;

/// Data left behind by a dead process is removed after this time: a day.
pub const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// The version of the cell layout.
pub(crate) const FORMAT: &[u8] = b"1";
