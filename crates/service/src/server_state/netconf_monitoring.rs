//! `ietf-netconf-monitoring` (RFC 6022): datastores with their locks, schemas, sessions, statistics.
//!
//! Sessions of all transports are listed: `espalier-server` derives identities of those that are not of NETCONF. Where
//! the schema lacks these, only sessions of NETCONF are listed, as the RFC requires.

use std::sync::Arc;

use espalier_store::{Datastore, Locks, ProviderError, ProviderRequest, Timestamp};
use espalier_yang::Schema;
use espalier_yang::data::DataTree;

use super::anchor_state::AnchorState;
use super::state_nodes::StateNodes;
use super::yang_library::Library;
use crate::session::{Session, Transport};
use crate::time_text::time_text;

/// The datastores of RFC 6022.
const DATASTORES: [Datastore; 3] = [Datastore::Running, Datastore::Candidate, Datastore::Startup];

/// `netconf-state`. Parts that are not requested are not built.
pub(super) fn netconf_state(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let requested = request.path.steps.get(1).map(|step| step.node);
    let is_requested =
        |name: &str| requested.is_none_or(|node| *request.schema.node(node).name == *name);
    let datastores = match is_requested("datastores") {
        true => locked_datastores(state)?,
        false => Vec::new(),
    };
    let state_schema = state.state_schema()?;
    let top = ("ietf-netconf-monitoring", "netconf-state");
    Ok(StateNodes::tree(&request.schema, top, |top| {
        top.inner("datastores", |list| {
            for (datastore, locks) in &datastores {
                list.inner("datastore", |entry| {
                    entry.leaf("name", datastore.name());
                    add_locks(entry, state, locks);
                });
            }
        });
        if is_requested("schemas") {
            top.inner("schemas", |list| add_schemas(list, state, &state_schema));
        }
        if is_requested("sessions") {
            top.inner("sessions", |list| {
                for session in state.sources.sessions.list() {
                    add_session(list, &session);
                }
            });
        }
        if is_requested("statistics") {
            top.inner("statistics", |statistics| add_statistics(statistics, state));
        }
    }))
}

/// The served datastores with their locks.
fn locked_datastores(state: &AnchorState) -> espalier_store::Result<Vec<(Datastore, Locks)>> {
    let served = &state.served;
    let served = DATASTORES
        .into_iter()
        .filter(|datastore| served.datastores.contains(datastore));
    served
        .map(|datastore| {
            let tree = state
                .served
                .anchor
                .running()
                .sibling_datastore(datastore, "")?;
            Ok((datastore, tree.locks()?))
        })
        .collect()
}

fn add_locks(entry: &mut StateNodes<'_>, state: &AnchorState, locks: &Locks) {
    if locks.lock.is_none() && locks.partial.is_empty() {
        return;
    }
    entry.inner("locks", |held| {
        if let Some(lock) = &locks.lock {
            held.inner("global-lock", |held| {
                add_holder(held, state, &lock.session, lock.time);
            });
            return;
        }
        for partial in &locks.partial {
            held.inner("partial-lock", |held| {
                held.leaf("lock-id", &partial.id.to_string());
                add_holder(held, state, &partial.session, partial.time);
                held.leaf_list("select", &partial.paths);
                held.leaf_list("locked-node", &partial.paths);
            });
        }
    });
}

/// The holder of a lock: the number of its session, or 0 if it is not a session of this server.
fn add_holder(held: &mut StateNodes<'_>, state: &AnchorState, owner: &str, since: Timestamp) {
    let session = state.sources.sessions.of_owner(owner);
    let number = session.map_or(0, |session| session.id().0);
    held.leaf("locked-by-session", &number.to_string());
    held.leaf("locked-time", &time_text(since));
}

/// The modules of the YANG library, those of the server included: clients read them all when they connect.
fn add_schemas(list: &mut StateNodes<'_>, state: &AnchorState, state_schema: &Arc<Schema>) {
    for module in Library::new(&state.served, state_schema).modules() {
        let own = std::iter::once((&module.name, &module.revision));
        let submodules = module.submodules.iter();
        let submodules = submodules.map(|(name, revision)| (name, revision));
        for (name, revision) in own.chain(submodules) {
            let revision = revision.as_deref();
            list.inner("schema", |entry| {
                entry.leaf("identifier", name);
                entry.leaf("version", revision.unwrap_or_default());
                entry.leaf("format", "ietf-netconf-monitoring:yang");
                entry.leaf("namespace", &module.namespace);
                if let Some(url) = state.served.text_url(name, revision) {
                    entry.leaf("location", &url);
                }
            });
        }
    }
}

/// Adds a session, without its key if the schema does not have its transport: then there is no entry.
fn add_session(list: &mut StateNodes<'_>, session: &Session) {
    let transport = match session.transport() {
        Transport::Library => "espalier-server:library",
        Transport::CommandLine => "espalier-server:command-line",
        Transport::Http => "espalier-server:http",
        Transport::UnixSocket | Transport::NetconfLocal => "espalier-server:unix-socket",
        Transport::NetconfSsh => "ietf-netconf-monitoring:netconf-ssh",
        Transport::NetconfTls => "ietf-netconf-monitoring:netconf-tls",
    };
    list.inner("session", |entry| {
        if !entry.leaf("transport", transport) {
            return;
        }
        entry.leaf("session-id", &session.id().0.to_string());
        entry.leaf("username", &session.caller().user);
        entry.leaf("source-host", &session.host());
        entry.leaf("login-time", &time_text(session.login()));
        entry.leaf("in-rpcs", &counter(session.requests()));
        entry.leaf("in-bad-rpcs", &counter(session.bad_requests()));
        entry.leaf("out-rpc-errors", &counter(session.errors()));
        entry.leaf("out-notifications", &counter(session.notifications()));
        let last = time_text(session.last_request());
        entry.leaf("espalier-server:last-request", &last);
    });
}

fn add_statistics(statistics: &mut StateNodes<'_>, state: &AnchorState) {
    let totals = state.sources.sessions.totals();
    statistics.leaf("netconf-start-time", &time_text(totals.started));
    statistics.leaf("in-bad-hellos", &counter(totals.bad_hellos));
    statistics.leaf("in-sessions", &counter(totals.opened));
    statistics.leaf("dropped-sessions", &counter(totals.dropped));
}

/// The text of a 32-bit counter, which starts again at zero after its maximum.
fn counter(count: u64) -> String {
    (count % (1 << 32)).to_string()
}
