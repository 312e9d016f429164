//! The notifications about a subscription (RFC 8639 §2.7), which only its receiver gets.

use std::sync::Arc;

use espalier_store::Timestamp;
use espalier_yang::InstancePath;

use super::super::event::{Event, EventSource};
use super::super::push::{PUSH, PushUpdate};
use super::super::termination::Termination;
use super::SUBSCRIBED;
use super::record::Established;
use crate::server_state::StateNodes;
use crate::time_text::time_text;

/// A change of the state of a subscription. `Started` and `Completed` are those of configured ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateChange {
    Started,
    Completed,
    ReplayCompleted,
    Modified,
    Suspended(Suspension),
    Resumed,
    Terminated(Termination),
}

/// Why a subscription is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// The receiver is slower than the events.
    Volume,
    /// An update is too large.
    UpdateTooBig,
    /// A synchronization is too large.
    SyncTooBig,
}

impl Suspension {
    /// The identity of `subscription-suspended-reason` (RFC 8639 §2.7.2, RFC 8641 §5).
    fn identity(self) -> String {
        match self {
            Self::Volume => format!("{SUBSCRIBED}:unsupportable-volume"),
            Self::UpdateTooBig => format!("{PUSH}:update-too-big"),
            Self::SyncTooBig => format!("{PUSH}:sync-too-big"),
        }
    }
}

impl StateChange {
    fn name(self) -> &'static str {
        match self {
            Self::Started => "subscription-started",
            Self::Completed => "subscription-completed",
            Self::ReplayCompleted => "replay-completed",
            Self::Modified => "subscription-modified",
            Self::Suspended(_) => "subscription-suspended",
            Self::Resumed => "subscription-resumed",
            Self::Terminated(_) => "subscription-terminated",
        }
    }
}

/// The notification of a change; `None` if the schema does not have it.
pub(super) fn event(of: &Established, now: Timestamp, change: StateChange) -> Option<Arc<Event>> {
    // It continues in the next session.
    if of.is_configured() && change == StateChange::Terminated(Termination::SessionEnded) {
        return None;
    }
    let schema = &of.new.schema;
    let content = StateNodes::tree(schema, (SUBSCRIBED, change.name()), |nodes| {
        nodes.leaf("id", &of.id.0.to_string());
        let reason = match change {
            StateChange::Suspended(reason) => reason.identity(),
            StateChange::Terminated(reason) => format!("{SUBSCRIBED}:{}", reason.identity()),
            StateChange::Modified => return of.add_terms(nodes),
            StateChange::Started => {
                of.add_terms(nodes);
                if let Some(time) = of.previous_event_time() {
                    nodes.leaf("replay-previous-event-time", &time_text(time));
                }
                return;
            }
            StateChange::Completed | StateChange::ReplayCompleted | StateChange::Resumed => return,
        };
        nodes.leaf("reason", &reason);
    });
    let content = content.nodes.into_iter().next()?;
    let (source, root) = (EventSource::Subscription, InstancePath::root());
    let event = Event::new(source, now, Arc::clone(schema), &root, content);
    Some(Arc::new(event))
}

/// The notification with an update of a datastore; `None` if the schema does not have it.
pub(super) fn update(of: &Established, now: Timestamp, update: PushUpdate) -> Option<Arc<Event>> {
    let schema = &of.new.schema;
    let content = StateNodes::tree(schema, (PUSH, update.name()), |nodes| {
        nodes.leaf("id", &of.id.0.to_string());
    });
    let content = content.nodes.into_iter().next()?;
    let (source, root) = (EventSource::Subscription, InstancePath::root());
    let event = Event::new(source, now, Arc::clone(schema), &root, content);
    Some(Arc::new(event.with_push(of.id.0, update)))
}
