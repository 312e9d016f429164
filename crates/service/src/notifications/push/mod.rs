//! Subscriptions to datastores: YANG-Push (RFC 8641).
//!
//! | file | content |
//! |---|---|
//! | `datastore_target.rs` | the datastore, the filter and the trigger of a subscription |
//! | `change_type.rs` | the kinds of changes |
//! | `source.rs` | what a subscription needs of its datastore |
//! | `update.rs` | `push-update` and `push-change-update`, with their encodings |
//! | `marks.rs` | the bounded queue of the versions that concern a subscription |
//! | `hub.rs`, `follow.rs` | the on-change subscriptions of a datastore, and the thread that follows its commits |
//! | `schedule.rs` | when updates are due |
//! | `subscription.rs`, `on_change.rs` | what the receiver of a subscription reads next |
//! | `outbox.rs` | what was read and is not delivered yet |
//!
//! The key decision: one thread for each datastore with on-change subscriptions looks up which of them a commit can concern,
//! and gives these the number of the version. Each receiver reads the difference of what its filter selects by itself
//! (decision 0083), so a commit never waits, and what waits for a receiver is only numbers.

mod change_type;
mod datastore_target;
mod follow;
mod hub;
mod marks;
mod on_change;
mod outbox;
mod schedule;
mod source;
mod subscription;
mod update;

pub(crate) use change_type::ChangeType;
pub(super) use datastore_target::add_target;
pub(crate) use datastore_target::{OnChange, PUSH, PushTarget, Trigger};
pub use datastore_target::{PUSH_PERIOD_MIN, PUSH_UPDATE_NODES_MAX};
pub(super) use hub::PushHub;
pub use marks::PUSH_VERSIONS_MAX;
pub(crate) use outbox::is_too_big;
pub(crate) use source::{PushContents, PushSource, Renewed};
pub(super) use subscription::PushSubscription;
pub(crate) use update::PushUpdate;
