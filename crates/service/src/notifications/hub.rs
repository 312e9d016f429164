//! The receivers of an anchor in this process, and the position up to which they have the events.

use std::sync::Arc;

use espalier_keyspace::GroupQueue;
use espalier_store::{Error, NewEvent, Result, Tree};
use espalier_yang::ErrorTag;
use parking_lot::Mutex;

use super::context::EventContext;
use super::event::Event;
use super::follow;
use super::group::{Groups, Selector};
use super::position::Position;
use super::receiver::Receiver;
use super::stream::Source;
use super::termination::Termination;

/// The maximum bytes of the events that are appended together, except that one event is always taken.
const GROUP_BYTES_MAX: usize = 1 << 20;

/// The notifications of one anchor in this process.
pub(super) struct Hub {
    state: Mutex<HubState>,
    appending: GroupQueue<NewEvent, std::result::Result<u64, Error>>,
}

#[derive(Default)]
pub(super) struct HubState {
    pub groups: Groups,
    /// Up to where the receivers have the events.
    pub position: Position,
    /// Whether a thread follows the log, and the commits.
    is_followed: [bool; 2],
}

impl HubState {
    /// Ends the following of a source if no receiver needs it. Returns whether it ended.
    pub fn stop_if_unused(&mut self, source: Source) -> bool {
        let is_needed = self.groups.any(|stream| stream.has(source));
        self.is_followed[source as usize] &= is_needed;
        !is_needed
    }

    /// Ends the following of a source, and all subscriptions.
    pub fn fail(&mut self, source: Source, reason: Termination) {
        self.is_followed[source as usize] = false;
        self.groups.close(reason);
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            appending: GroupQueue::new(GROUP_BYTES_MAX, NewEvent::bytes),
        }
    }
}

impl Hub {
    pub fn state(&self) -> parking_lot::MutexGuard<'_, HubState> {
        self.state.lock()
    }

    /// Whether anybody receives events.
    pub fn has_receivers(&self) -> bool {
        !self.state.lock().groups.is_empty()
    }

    /// Adds a receiver. It gets all events that are appended after the call, and may get some that were appended before.
    /// Returns the position from which it gets them. `selector` is called when no other selector can be set meanwhile.
    ///
    /// # Errors
    /// Those of the engine, and of starting a thread.
    pub fn join(
        self: &Arc<Self>,
        context: &Arc<dyn EventContext>,
        tree: &Tree,
        receiver: &Arc<Receiver>,
        selector: impl FnOnce() -> Selector,
    ) -> Result<Position> {
        let mut state = self.state.lock();
        let selector = selector();
        for source in selector.stream.sources() {
            if !state.is_followed[source as usize] {
                follow::start(self, &mut state, context, tree, source)?;
                state.is_followed[source as usize] = true;
            }
        }
        state.groups.add(&selector, Arc::clone(receiver));
        Ok(state.position)
    }

    /// Replaces the selector of a receiver, if it is here: it selects all events that follow. `selector` is called with the
    /// position up to which the receivers have the events, when no other selector can be set meanwhile.
    pub fn change(&self, receiver: &Arc<Receiver>, selector: impl FnOnce(Position) -> Selector) {
        let mut state = self.state.lock();
        if state.groups.remove(receiver) {
            let selector = selector(state.position);
            state.groups.add(&selector, Arc::clone(receiver));
        }
    }

    /// Removes a receiver. Returns the position up to which its queue has the events.
    pub fn leave(&self, receiver: &Arc<Receiver>) -> Position {
        let mut state = self.state.lock();
        state.groups.remove(receiver);
        state.position
    }

    /// Delivers an event that is not recorded.
    pub fn deliver(&self, context: &dyn EventContext, tree: &Tree, event: &Arc<Event>) {
        self.state.lock().groups.deliver(context, tree, event);
    }

    /// Appends an event to the log, together with those of other threads.
    pub fn append(&self, tree: &Tree, event: NewEvent) -> Result<u64> {
        let appended = self
            .appending
            .submit(event, &|events| append_all(tree, &events));
        appended.unwrap_or_else(|| {
            let message = "the thread that stored the notification failed";
            Err(Error::data(ErrorTag::OperationFailed, message))
        })
    }
}

/// Appends events of several threads; returns a result for each.
fn append_all(tree: &Tree, events: &[NewEvent]) -> Vec<std::result::Result<u64, Error>> {
    let mut results = Vec::with_capacity(events.len());
    for events in events.chunks(tree.appended_events_max()) {
        match tree.append_events(events) {
            Ok(last) => {
                let first = last + 1 - events.len() as u64;
                results.extend((first..=last).map(Ok));
            }
            Err(error) => {
                let message = error.to_string();
                results.push(Err(error));
                let others = (1..events.len())
                    .map(|_| Err(Error::data(ErrorTag::OperationFailed, message.clone())));
                results.extend(others);
            }
        }
    }
    results
}
