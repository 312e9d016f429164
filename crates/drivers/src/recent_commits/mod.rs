//! A ring of the recent commits of an engine, for watchers.
//!
//! The ring is limited in commits and bytes. Commits that were evicted, or were too large to keep, are
//! reported as a gap. The changes of a commit are stored in one allocation: every commit writes them and
//! thousands of commits later they are freed, but they are rarely read.

mod changes;
mod recorder;
mod ring;

pub(crate) use changes::ChangeRef;
pub(crate) use changes::Changes;
pub(crate) use recorder::RECORD_BYTES_MAX;
pub(crate) use recorder::{Effect, Recorder};
pub(crate) use ring::clip;
pub(crate) use ring::event_of;
pub(crate) use ring::{RecentCommits, deadline};
