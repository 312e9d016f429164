//! What was read for a receiver and is not delivered yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use espalier_store::{Error, Store, Timestamp};
use espalier_yang::ErrorTag;

use super::super::delivery::Delivery;
use super::super::established::{Established, StateChange, Suspension};
use super::datastore_target::OnChange;
use super::schedule::Dampening;
use super::update::PushUpdate;

/// What was read for a receiver and is not delivered yet.
pub(super) struct Outbox {
    /// For its clock.
    store: Store,
    established: Arc<Established>,
    pub ready: VecDeque<Delivery>,
    /// Why there are no updates.
    suspended: Option<Suspension>,
    dampening: Dampening,
}

impl Outbox {
    /// An empty one.
    pub fn new(store: Store, established: Arc<Established>) -> Self {
        Self {
            store,
            established,
            ready: VecDeque::new(),
            suspended: None,
            dampening: Dampening::default(),
        }
    }

    /// The time of the store.
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }

    /// The time until an update with changes is allowed.
    pub fn dampening_left(&self, trigger: &OnChange) -> Duration {
        self.dampening.left(trigger.dampening(), self.now())
    }

    /// Adds an update. A suspended subscription is resumed.
    pub fn update(&mut self, update: PushUpdate) {
        if self.suspended.take().is_some() {
            self.established.set_suspended(false);
            self.announce(StateChange::Resumed);
        }
        let now = self.now();
        self.dampening.sent(now);
        let event = self.established.update(now, update);
        self.ready.extend(event.map(Delivery::Event));
    }

    /// Suspends the subscription until the next update.
    pub fn suspend(&mut self, reason: Suspension) {
        if self.suspended.is_none() {
            self.suspended = Some(reason);
            self.established.set_suspended(true);
            self.announce(StateChange::Suspended(reason));
        }
    }

    /// Adds a notification about the subscription.
    pub fn announce(&mut self, change: StateChange) {
        let event = self.established.state_change(self.now(), change);
        self.ready.extend(event.map(Delivery::Event));
    }
}

/// Whether a read has more nodes than an update may have.
pub(crate) fn is_too_big(error: &Error) -> bool {
    match error {
        Error::Data(errors) => errors.iter().any(|error| error.tag == ErrorTag::TooBig),
        _ => false,
    }
}
