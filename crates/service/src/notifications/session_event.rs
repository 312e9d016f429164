//! The notifications of sessions and confirmed commits (RFC 6470 §2.3 to §2.5).

use std::sync::Arc;
use std::time::Duration;

use espalier_store::Timestamp;
use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Schema};

use super::event::{Event, EventSource};
use super::stream::BASE_MODULE;
use crate::server_state::StateNodes;
use crate::session::{Session, TerminationReason};

/// A phase of a confirmed commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmEvent {
    /// The time begins.
    Start(Duration),
    /// The time begins again.
    Extend(Duration),
    /// It was confirmed.
    Complete,
    /// It was rolled back by a client.
    Cancel,
    /// It was rolled back when its time was over.
    Timeout,
}

impl ConfirmEvent {
    fn name(self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Extend(_) => "extend",
            Self::Complete => "complete",
            Self::Cancel => "cancel",
            Self::Timeout => "timeout",
        }
    }
}

/// The content of `netconf-session-start`.
pub(super) fn session_start(schema: &Arc<Schema>, session: &Session) -> DataTree {
    StateNodes::tree(schema, (BASE_MODULE, "netconf-session-start"), |event| {
        add_session(event, session);
    })
}

/// The content of `netconf-session-end`.
pub(super) fn session_end(
    schema: &Arc<Schema>,
    session: &Session,
    reason: TerminationReason,
) -> DataTree {
    StateNodes::tree(schema, (BASE_MODULE, "netconf-session-end"), |event| {
        add_session(event, session);
        event.leaf("termination-reason", reason.name());
    })
}

/// The content of `netconf-confirmed-commit`. There is no session when the time was over.
pub(super) fn confirmed_commit(
    schema: &Arc<Schema>,
    session: Option<&Session>,
    phase: ConfirmEvent,
) -> DataTree {
    StateNodes::tree(schema, (BASE_MODULE, "netconf-confirmed-commit"), |event| {
        if let Some(session) = session {
            add_session(event, session);
        }
        event.leaf("confirm-event", phase.name());
        if let ConfirmEvent::Start(time) | ConfirmEvent::Extend(time) = phase {
            event.leaf("timeout", &time.as_secs().to_string());
        }
    })
}

/// An event that is not recorded, with this content.
pub(super) fn unrecorded(schema: Arc<Schema>, time: Timestamp, content: DataTree) -> Option<Event> {
    let content = content.nodes.into_iter().next()?;
    let root = InstancePath::root();
    Some(Event::new(
        EventSource::Server,
        time,
        schema,
        &root,
        content,
    ))
}

fn add_session(event: &mut StateNodes<'_>, session: &Session) {
    event.leaf("username", &session.caller().user);
    event.leaf("session-id", &session.id().0.to_string());
    event.leaf("source-host", &session.host());
}
