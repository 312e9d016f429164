//! The limits of RESTCONF requests.

use std::time::Duration;

use crate::stream_slots::StreamLimits;

/// The limits of one request, and of all concurrent requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of the body of a request that edits one resource; a larger one gets `too-big`.
    pub edit_bytes_max: usize,
    /// Maximum size of the body of a request for the whole datastore.
    pub load_bytes_max: u64,
    /// Maximum pause of a client while it reads a streamed response.
    pub response_pause_max: Duration,
    /// Maximum number of concurrent streamed responses; more wait.
    pub streams_max: usize,
    /// Maximum number of concurrent commits and loads; more wait.
    pub writes_max: usize,
    /// Maximum number of commits and loads that wait; more are rejected, with the advice to try again.
    pub writes_waiting_max: usize,
    /// Maximum number of concurrent RPCs and actions; more are rejected, because each may take minutes.
    pub operations_max: usize,
    /// Maximum number of event streams that are received at a time; more are rejected.
    pub event_streams_max: usize,
    /// Maximum number of them that one user receives.
    pub event_streams_of_user_max: usize,
    /// Maximum number of subscriptions that read past events or data at a time, over RESTCONF and NETCONF; more wait.
    pub replays_max: usize,
    /// Maximum size of a query string.
    pub query_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            edit_bytes_max: 16 << 20,
            load_bytes_max: 64 << 30,
            response_pause_max: Duration::from_secs(60),
            streams_max: 64,
            writes_max: 64,
            writes_waiting_max: 4096,
            operations_max: 128,
            event_streams_max: 10_000,
            event_streams_of_user_max: 1000,
            replays_max: 8,
            query_bytes_max: 64 << 10,
        }
    }
}

impl Limits {
    pub(super) fn event_streams(&self) -> StreamLimits {
        StreamLimits {
            open_max: self.event_streams_max,
            of_user_max: self.event_streams_of_user_max,
        }
    }
}

/// A body for the whole datastore up to this size is applied as an edit; a larger one is received
/// completely and then loaded as a stream.
pub(super) const LOAD_FROM_BYTES: usize = 1 << 20;

/// An edit up to this size is decided by the thread that decides other edits too, and can share a write with them.
pub(super) const QUEUED_BYTES_MAX: usize = 16 << 10;

/// Maximum number of edits that one thread decides before it waits for their write.
pub(super) const EDITS_BEGUN_MAX: usize = 256;

/// A response up to this size is produced on the task of the connection; a larger one is streamed from its
/// own thread.
pub(super) const INLINE_BYTES_MAX: usize = 64 << 10;

/// Size of the chunks that are passed between tasks and threads.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Maximum number of queued chunks.
pub(super) const CHUNKS_QUEUED_MAX: usize = 4;

/// Interval of comments on an idle event stream: they keep the connection open and detect lost clients.
pub(super) const EVENT_STREAM_PING: Duration = Duration::from_secs(20);
