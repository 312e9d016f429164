//! Subscriptions to changes.
//!
//! A [`Subscriber`] is part of the commit: in order of priority it may add edits, then refuse the commit,
//! and is notified of the outcome. [`Events`] is a queue that commits fill without waiting: a slow reader
//! is notified of lost commits and reads them from the history. All recipients of a commit share one
//! [`Diff`](super::Diff), which is computed only if a subscription matches the change.
//!
//! Only commits of this process are reported, for every handle of the tree. Commits of other processes on a
//! shared engine are found in the history.

mod announce;
mod calls;
mod load;
mod path_filter;
mod queue;
mod registry;
#[allow(
    clippy::module_inception,
    reason = "the folder is named by its main operation"
)]
mod subscribe;
mod subscriber;

pub use queue::{Committed, Event, Events, Lagged, QUEUE_CHANGES_MAX, QUEUE_EVENTS_MAX};
pub use registry::SubscriptionGuard;
pub use subscriber::{Subscriber, Subscription};

pub(super) use announce::{AnnouncedCommit, CommitNote};
pub(crate) use registry::Registry;
