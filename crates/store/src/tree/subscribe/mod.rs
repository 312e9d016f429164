//! Being told of changes.
//!
//! A [`Subscriber`] is part of the commit: in order of priority it may add edits, then refuse, and
//! is told how it ended. [`Events`] are a queue that commits fill and never wait for: who is too
//! slow is told what was lost, and reads it from the history. All that are told of a commit share
//! one [`Diff`](super::Diff), which is made only where somebody subscribed to what changed.
//!
//! Commits of this process are told, whatever handle of the tree they are made through. Those that
//! other processes make on a shared engine are found in the history.

mod announce;
mod ask;
mod interest;
mod load;
mod queue;
mod registry;
mod subscriber;

pub use queue::{Committed, Event, Events, Lagged, QUEUE_CHANGES_MAX, QUEUE_EVENTS_MAX};
pub use registry::Subscribed;
pub use subscriber::{Subscriber, Subscription};

pub(crate) use registry::Registry;
