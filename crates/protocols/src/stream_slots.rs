//! Responses that last until their clients disconnect or the server stops: their number is limited.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::HeaderName;
use tokio::sync::Notify;

/// The id of the last event that a client received (HTML Living Standard §9.2.4).
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The open responses of one kind.
pub(crate) struct StreamSlots {
    open: AtomicUsize,
    open_max: usize,
    is_ended: AtomicBool,
    ended: Notify,
}

/// A reservation for one response, until it is dropped.
pub(crate) struct StreamSlot(pub(crate) Arc<StreamSlots>);

/// Why there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// The server is shutting down.
    Ended,
    /// This many are open.
    Full(usize),
}

impl fmt::Display for NoSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the server is shutting down; retry later"),
            Self::Full(max) => {
                write!(
                    f,
                    "the limit of {max} feeds is reached; retry when one has ended"
                )
            }
        }
    }
}

impl StreamSlots {
    pub(crate) fn new(open_max: usize) -> Self {
        Self {
            open: AtomicUsize::new(0),
            open_max,
            is_ended: AtomicBool::new(false),
            ended: Notify::new(),
        }
    }

    /// Ends all responses; no further one can start.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Completes when all responses have to end.
    pub(crate) async fn ended(&self) {
        let ended = self.ended.notified();
        if !self.is_ended() {
            ended.await;
        }
    }

    pub(crate) fn acquire(self: &Arc<Self>) -> Result<StreamSlot, NoSlot> {
        let open = self.open.fetch_add(1, Ordering::AcqRel);
        let slot = StreamSlot(Arc::clone(self));
        match (self.is_ended(), open < self.open_max) {
            (true, _) => Err(NoSlot::Ended),
            (false, true) => Ok(slot),
            (false, false) => Err(NoSlot::Full(self.open_max)),
        }
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_responses_is_limited() {
        let slots = Arc::new(StreamSlots::new(3));
        let mut open: Vec<_> = (0..3).map(|_| slots.acquire().ok()).collect();
        assert!(open.iter().all(Option::is_some));
        assert_eq!(slots.acquire().err(), Some(NoSlot::Full(3)));
        open.pop();
        open.push(slots.acquire().ok());
        assert!(open.iter().all(Option::is_some), "a slot was released");
        slots.end();
        open.clear();
        assert_eq!(slots.acquire().err(), Some(NoSlot::Ended));
    }
}
