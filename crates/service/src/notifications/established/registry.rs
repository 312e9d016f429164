//! The established subscriptions of a service.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_store::{Clock, Result};
use parking_lot::Mutex;

use super::error::{Request, SubscriptionError};
use super::record::{End, Established, NewEstablished, SubscriptionId};
use crate::notifications::termination::Termination;
use crate::session::{Session, TerminationReason};

/// The maximum number of established subscriptions of a process.
pub const ESTABLISHED_MAX: usize = 10_000;

/// The maximum number of established subscriptions of a session; over HTTP, of a user.
pub const ESTABLISHED_OF_SUBSCRIBER_MAX: usize = 100;

/// The numbers of dynamic subscriptions begin here: those below it are for the configuration (RFC 8639 §6). The first one
/// is the second of the start above it, so that those of an earlier process are not used again soon.
pub(crate) const DYNAMIC_ID_MIN: u32 = 1 << 31;

/// The established subscriptions of a service.
pub(crate) struct EstablishedSubscriptions {
    clock: Arc<dyn Clock>,
    open: Mutex<Open>,
}

struct Open {
    last: u32,
    by_id: BTreeMap<SubscriptionId, Arc<Established>>,
}

impl EstablishedSubscriptions {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seconds = clock.now().0 / 1000;
        let open = Open {
            last: DYNAMIC_ID_MIN + (seconds % u64::from(DYNAMIC_ID_MIN)) as u32,
            by_id: BTreeMap::new(),
        };
        Self {
            clock,
            open: Mutex::new(open),
        }
    }

    /// Adds a subscription.
    ///
    /// # Errors
    /// `insufficient-resources`.
    pub fn establish(&self, new: NewEstablished) -> Result<Arc<Established>> {
        let now = self.clock.now();
        let mut open = self.open.lock();
        open.by_id.retain(|_, one| !one.is_over(now));
        let of_subscriber = open.by_id.values().filter(|one| one.is_of(&new.session));
        let limit = if open.by_id.len() >= ESTABLISHED_MAX {
            format!("the server has {ESTABLISHED_MAX} subscriptions (ESTABLISHED_MAX)")
        } else if of_subscriber.count() >= ESTABLISHED_OF_SUBSCRIBER_MAX {
            format!(
                "the subscriber has {ESTABLISHED_OF_SUBSCRIBER_MAX} subscriptions (ESTABLISHED_OF_SUBSCRIBER_MAX)"
            )
        } else {
            let id = open.next_id();
            let established = Arc::new(Established::new(id, new, now));
            open.by_id.insert(id, Arc::clone(&established));
            return Ok(established);
        };
        Err(SubscriptionError::Resources(limit).of(Request::Establish))
    }

    /// A subscription of an anchor; of a subscriber, if a session is given.
    ///
    /// # Errors
    /// `no-such-subscription`.
    pub fn get(
        &self,
        id: SubscriptionId,
        anchor: u64,
        subscriber: Option<&Session>,
        request: Request,
    ) -> Result<Arc<Established>> {
        let now = self.clock.now();
        let found = self.open.lock().by_id.get(&id).cloned();
        let found = found.filter(|one| {
            one.new.anchor == anchor
                && !one.is_over(now)
                && subscriber.is_none_or(|session| one.is_of(session))
        });
        found.ok_or_else(|| SubscriptionError::NoSuch(id).of(request))
    }

    /// Ends a subscription.
    pub fn end(&self, established: &Established, end: End) {
        established.finish(end);
        self.open.lock().by_id.remove(&established.id);
    }

    /// Ends the subscriptions of a session that ended. A session that was idle has those that somebody receives from.
    pub fn end_session(&self, session: &Session, reason: TerminationReason) {
        let is_ended = |one: &&Arc<Established>| {
            std::ptr::eq(&*one.new.session, session)
                && !(reason == TerminationReason::Timeout && one.is_opened())
        };
        let ended: Vec<_> = self
            .open
            .lock()
            .by_id
            .values()
            .filter(is_ended)
            .cloned()
            .collect();
        for one in ended {
            self.end(&one, End::Terminated(Termination::SessionEnded));
        }
    }

    /// The subscriptions of an anchor, in the order of their numbers.
    pub fn of_anchor(&self, anchor: u64) -> Vec<Arc<Established>> {
        let now = self.clock.now();
        let open = self.open.lock();
        let all = open.by_id.values();
        all.filter(|one| one.new.anchor == anchor && !one.is_over(now))
            .cloned()
            .collect()
    }
}

impl Open {
    /// The next free number.
    fn next_id(&mut self) -> SubscriptionId {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(DYNAMIC_ID_MIN);
            if !self.by_id.contains_key(&SubscriptionId(self.last)) {
                return SubscriptionId(self.last);
            }
        }
    }
}
