//! The notifications of sessions, confirmed commits and changes of modules (RFC 6470 §2.2 to §2.5).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use espalier_store::Timestamp;
use espalier_yang::data::DataTree;
use espalier_yang::schema::Module;
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

/// The content of `netconf-capability-change` (RFC 6470 §2.2.2): the modules as capabilities (RFC 6020 §5.6.4). Without
/// nodes if they are the same.
pub(super) fn capability_change(
    schema: &Arc<Schema>,
    session: &Session,
    [before, after]: [&Schema; 2],
) -> DataTree {
    let (before, after) = (capabilities(before), capabilities(after));
    if before == after {
        return DataTree::default();
    }
    StateNodes::tree(
        schema,
        (BASE_MODULE, "netconf-capability-change"),
        |event| {
            event.inner("changed-by", |by| add_session(by, session));
            for (module, capability) in &after {
                match before.get(module) {
                    None => event.leaf("added-capability", capability),
                    Some(known) if known != capability => {
                        event.leaf("modified-capability", capability)
                    }
                    Some(_) => continue,
                };
            }
            for (module, capability) in &before {
                if !after.contains_key(module) {
                    event.leaf("deleted-capability", capability);
                }
            }
        },
    )
}

/// The capability of each implemented module, by its name.
fn capabilities(schema: &Schema) -> BTreeMap<&str, String> {
    let modules = schema
        .modules()
        .iter()
        .filter(|module| module.is_implemented);
    let capability = |module: &Module| {
        let mut text = format!("{}?module={}", module.namespace, module.name);
        let features = module.features.join(",");
        let deviations = module.deviated_by.join(",");
        let revision = module.revision.as_deref().unwrap_or_default();
        for (name, value) in [
            ("revision", revision),
            ("features", &features),
            ("deviations", &deviations),
        ] {
            if !value.is_empty() {
                text.push_str(&format!("&{name}={value}"));
            }
        }
        text
    };
    modules
        .map(|module| (&*module.name, capability(module)))
        .collect()
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
