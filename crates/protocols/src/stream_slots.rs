//! Responses that last until their clients disconnect or the server stops: their number is limited.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderName;
use tokio::sync::Notify;

/// The id of the last event that a client received (HTML Living Standard §9.2.4).
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The maximum number of open responses of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLimits {
    /// Of all users.
    pub(crate) open_max: usize,
    /// Of one user, so that one cannot take them all. Where nobody is authenticated, only the other limit applies.
    pub(crate) of_user_max: usize,
}

/// The open responses of one kind.
pub(crate) struct StreamSlots {
    open: Mutex<OpenStreams>,
    limits: StreamLimits,
    is_ended: AtomicBool,
    ended: Notify,
}

#[derive(Default)]
struct OpenStreams {
    all: usize,
    by_user: BTreeMap<String, usize>,
}

/// A reservation for one response, until it is dropped.
pub(crate) struct StreamSlot {
    pub(crate) slots: Arc<StreamSlots>,
    user: String,
}

/// Why there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// The server is shutting down.
    Ended,
    /// This many are open.
    Full(usize),
    /// The user has this many.
    FullForUser(usize),
}

impl fmt::Display for NoSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the server is shutting down; retry later"),
            Self::Full(max) => {
                write!(
                    f,
                    "the limit of {max} streams is reached; retry when one has ended"
                )
            }
            Self::FullForUser(max) => {
                write!(
                    f,
                    "the limit of {max} streams of one user is reached; close one, or retry when one has ended"
                )
            }
        }
    }
}

impl StreamSlots {
    pub(crate) fn new(limits: StreamLimits) -> Self {
        Self {
            open: Mutex::default(),
            limits,
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

    /// Reserves a response for a user; with an empty name, for somebody who is not authenticated.
    pub(crate) fn acquire(self: &Arc<Self>, user: &str) -> Result<StreamSlot, NoSlot> {
        if self.is_ended() {
            return Err(NoSlot::Ended);
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.all >= self.limits.open_max {
            return Err(NoSlot::Full(self.limits.open_max));
        }
        if !user.is_empty() {
            let of_user = open.by_user.get(user).copied().unwrap_or_default();
            if of_user >= self.limits.of_user_max {
                return Err(NoSlot::FullForUser(self.limits.of_user_max));
            }
            open.by_user.insert(user.to_owned(), of_user + 1);
        }
        open.all += 1;
        Ok(StreamSlot {
            slots: Arc::clone(self),
            user: user.to_owned(),
        })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let open = self.slots.open.lock();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        open.all -= 1;
        if let Some(of_user) = open.by_user.get_mut(&self.user) {
            *of_user -= 1;
            if *of_user == 0 {
                open.by_user.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Arc<StreamSlots> {
        Arc::new(StreamSlots::new(StreamLimits {
            open_max: 3,
            of_user_max: 2,
        }))
    }

    #[test]
    fn number_of_responses_is_limited() {
        let slots = slots();
        let mut open: Vec<_> = (0..3).map(|_| slots.acquire("").ok()).collect();
        assert!(open.iter().all(Option::is_some));
        assert_eq!(slots.acquire("").err(), Some(NoSlot::Full(3)));
        open.pop();
        open.push(slots.acquire("").ok());
        assert!(open.iter().all(Option::is_some), "a slot was released");
        slots.end();
        open.clear();
        assert_eq!(slots.acquire("").err(), Some(NoSlot::Ended));
    }

    #[test]
    fn number_of_responses_of_a_user_is_limited() {
        let slots = slots();
        let mut open: Vec<_> = (0..2).map(|_| slots.acquire("bob").ok()).collect();
        assert!(open.iter().all(Option::is_some));
        assert_eq!(slots.acquire("bob").err(), Some(NoSlot::FullForUser(2)));
        assert!(slots.acquire("ann").is_ok());
        open.pop();
        assert!(slots.acquire("bob").is_ok(), "a slot was released");
    }
}
