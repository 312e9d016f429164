//! The receivers with the same stream, filter and user, which share the decisions.

use std::sync::Arc;

use espalier_store::{Result, Tree};
use espalier_yang::Schema;

use super::context::EventContext;
use super::event::Event;
use super::filter_in_force::FilterInForce;
use super::receiver::Receiver;
use super::stream::Stream;
use super::termination::Termination;
use crate::session::Session;

/// What decides which events a receiver gets.
#[derive(Clone)]
pub(super) struct Selector {
    pub stream: Stream,
    pub filter: FilterInForce,
    /// The session of one of the receivers: all have the same user.
    pub session: Arc<Session>,
}

impl Selector {
    /// Whether both select the same events.
    fn is_same(&self, other: &Self) -> bool {
        self.stream == other.stream
            && self.session.caller() == other.session.caller()
            && self.filter == other.filter
    }

    /// Decides about an event. `receivers` is the number of those who would get it.
    pub fn select(
        &self,
        context: &dyn EventContext,
        tree: &Tree,
        event: &Arc<Event>,
        receivers: usize,
    ) -> Result<Selected> {
        if !self.stream.includes(event) {
            return Ok(Selected::OtherStream);
        }
        let caller = self.session.caller();
        let access = |schema: &Arc<Schema>| context.access_of_caller(caller, tree, schema);
        let Some(event) = event.visible(&access)? else {
            context.count_denied_notifications(receivers);
            return Ok(Selected::Excluded);
        };
        Ok(match self.filter.matches(&event) {
            true => Selected::Event(event),
            false => Selected::Excluded,
        })
    }
}

/// What a selector decides about an event.
pub(super) enum Selected {
    /// It is delivered, as the user may see it.
    Event(Arc<Event>),
    /// The filter or the access rules exclude it.
    Excluded,
    /// It is not in the stream.
    OtherStream,
}

/// Receivers with the same selector.
struct Group {
    selector: Selector,
    receivers: Vec<Arc<Receiver>>,
}

/// All receivers of an anchor.
#[derive(Default)]
pub(super) struct Groups(Vec<Group>);

impl Groups {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a receiver has a stream that fulfils a condition.
    pub fn any(&self, condition: impl Fn(&Stream) -> bool) -> bool {
        self.0.iter().any(|group| condition(&group.selector.stream))
    }

    pub fn add(&mut self, selector: &Selector, receiver: Arc<Receiver>) {
        let mut groups = self.0.iter_mut();
        match groups.find(|group| group.selector.is_same(selector)) {
            Some(group) => group.receivers.push(receiver),
            None => self.0.push(Group {
                selector: selector.clone(),
                receivers: vec![receiver],
            }),
        }
    }

    /// Removes a receiver; returns whether it was there.
    pub fn remove(&mut self, receiver: &Arc<Receiver>) -> bool {
        let mut is_removed = false;
        for group in &mut self.0 {
            let place = group
                .receivers
                .iter()
                .position(|one| Arc::ptr_eq(one, receiver));
            if let Some(place) = place {
                group.receivers.swap_remove(place);
                is_removed = true;
                break;
            }
        }
        self.0.retain(|group| !group.receivers.is_empty());
        is_removed
    }

    /// Delivers an event to all who may get it and want it.
    pub fn deliver(&self, context: &dyn EventContext, tree: &Tree, event: &Arc<Event>) {
        for Group {
            selector,
            receivers,
        } in &self.0
        {
            match selector.select(context, tree, event, receivers.len()) {
                Ok(Selected::OtherStream) => {}
                Ok(Selected::Excluded) => receivers.iter().for_each(|one| one.exclude()),
                Ok(Selected::Event(event)) => {
                    for receiver in receivers {
                        receiver.push(Arc::clone(&event));
                    }
                }
                // Without the rules, nobody may receive it.
                Err(error) => {
                    tracing::warn!(%error, "an event is not delivered: the access rules cannot be read");
                }
            }
        }
    }

    /// Counts events that nobody gets.
    pub fn lose(&self, count: u64) {
        let receivers = self.0.iter().flat_map(|group| &group.receivers);
        receivers.for_each(|receiver| receiver.lose(count));
    }

    /// Ends all queues.
    pub fn close(&mut self, reason: Termination) {
        for group in self.0.drain(..) {
            for receiver in group.receivers {
                receiver.close(reason);
            }
        }
    }
}
