//! What a subscription delivers.

use std::sync::Arc;

use super::event::Event;
use super::termination::Termination;

/// What a subscription delivers next. One that was established with the operation (RFC 8639) has the notifications
/// `replay-completed`, `subscription-suspended` with `subscription-resumed` and `subscription-terminated` as events, in
/// place of or around the others here.
#[derive(Clone)]
pub enum Delivery {
    /// An event.
    Event(Arc<Event>),
    /// Events that are not delivered before the next one: this many were dropped, because the receiver was too slow or
    /// they were deleted from the log before they were read. The filter and the access rules may exclude some of them.
    Lost(u64),
    /// All past events were delivered (RFC 5277 §2.1.1 `replayComplete`).
    ReplayComplete,
    /// The stop time is over (RFC 5277 §2.1.1 `notificationComplete`). The subscription has ended.
    Completed,
    /// The subscription has ended for this reason.
    Terminated(Termination),
}

/// The state of a subscription, for a task that must not block.
pub enum Polled {
    /// The next delivery.
    Delivery(Delivery),
    /// [`Subscription::read`](super::Subscription::read) has to be called where it may block.
    MustRead,
    /// The subscription has ended, and everything was delivered.
    Ended,
}
