//! The newest commits of an engine, kept so that watchers can be told of them.
//!
//! A ring with two limits, commits and bytes. What has fallen out of it, and what was too large to
//! be put in, is told as a gap. The changes of a commit lie in one piece of memory: they are written
//! by each commit, and let go when thousands more have come, while hardly any are ever read.

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
