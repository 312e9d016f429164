//! The limits of RESTCONF requests, each with a name.

use std::time::Duration;

/// What one request, and all requests at a time, may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of the body of a request that edits one resource; more is `too-big`.
    pub edit_bytes_max: usize,
    /// Bytes of the body of a request for the whole datastore.
    pub load_bytes_max: u64,
    /// How long a client may pause while it takes a streamed answer.
    pub answer_pause_max: Duration,
    /// Answers streamed at a time; more wait.
    pub streams_max: usize,
    /// Commits and loads at a time; more wait.
    pub writes_max: usize,
    /// Bytes of a request's query string.
    pub query_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            edit_bytes_max: 16 << 20,
            load_bytes_max: 64 << 30,
            answer_pause_max: Duration::from_secs(60),
            streams_max: 64,
            writes_max: 64,
            query_bytes_max: 64 << 10,
        }
    }
}

/// A body for the whole datastore up to this size is applied as an edit; a larger one is loaded as a
/// stream, when all of it is there.
pub(super) const LOAD_FROM_BYTES: usize = 1 << 20;

/// An answer up to this size is made on the connection's own task; a larger one is streamed from a
/// thread of its own.
pub(super) const INLINE_BYTES_MAX: usize = 64 << 10;

/// The size of the pieces in which bodies pass between tasks and threads.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// How many pieces may be on their way.
pub(super) const CHUNKS_QUEUED_MAX: usize = 4;

/// How many entries one page may have (`limit`).
pub(super) const PAGE_ENTRIES_MAX: u64 = u32::MAX as u64;
