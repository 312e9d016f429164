//! A ring of the recent commits of an engine, for watchers.
//!
//! The ring is limited in commits and bytes. Commits that were evicted, or were too large to keep, are
//! reported as a gap. The changes of a commit are stored in one allocation: every commit writes them and
//! thousands of commits later they are freed, but they are rarely read.

mod changes;
mod recorder;
mod ring;

#[cfg(feature = "mongo")]
pub(crate) use changes::ChangeRef;
#[cfg(any(feature = "postgres", feature = "mongo"))]
pub(crate) use changes::Changes;
#[cfg(feature = "redis")]
pub(crate) use recorder::RECORD_BYTES_MAX;
pub(crate) use recorder::{Effect, Recorder};
#[cfg(any(feature = "redis", feature = "etcd"))]
pub(crate) use ring::clip;
#[cfg(feature = "mongo")]
pub(crate) use ring::event_of;
pub(crate) use ring::{RecentCommits, deadline};
