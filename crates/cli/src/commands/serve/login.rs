//! The service of a server: who its clients are, and what they may do.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_protocols::server::Tls;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::identity::Anonymous;
use espalier_service::session::Sessions;
use espalier_service::{AccessControl, LoginPolicy, Service};
use espalier_store::{Store, SystemClock, Tree};
use espalier_terminal::{Failure, Result};

use crate::commands::serve::exposure::is_insecure;
use crate::settings::Settings;

/// The interval of looking whether another process changed the users.
const USERS_INTERVAL: Duration = Duration::from_millis(500);

/// The number of those intervals between two looks for idle sessions.
const IDLE_SESSIONS_EVERY: u32 = 120;

/// The service of a store that is served over this TLS. A thread of its own keeps its users and sessions up to date.
///
/// # Errors
/// There are users, and the settings serve everybody.
pub fn service(
    settings: &Settings,
    tls: Option<&Tls>,
    store: &Store,
    tree: Option<&Tree>,
) -> Result<Service> {
    let authorities = tls.into_iter().flat_map(Tls::client_authorities);
    let policy = LoginPolicy {
        anonymous: match is_insecure(settings) {
            true => Anonymous::WithoutUsers,
            false => Anonymous::LocalWithoutUsers,
        },
        authorities: authorities.map(<[u8]>::to_vec).collect(),
    };
    let trees = ConfigurationTrees::new(store.clone(), tree.cloned());
    let sessions = Sessions::new(Arc::new(SystemClock));
    let service = Service::new(trees, AccessControl::Rules, sessions, policy)?;
    if is_insecure(settings) && !service.accounts().is_empty() {
        return Err(Failure::usage(
            "--insecure-no-authentication serves everybody, but the store has users, who must log in",
        )
        .hint("remove the option; `espalier user list` shows the users"));
    }
    keep_up_to_date(service.clone());
    Ok(service)
}

fn keep_up_to_date(service: Service) {
    thread::spawn(move || {
        for round in 1u32.. {
            thread::sleep(USERS_INTERVAL);
            if let Err(error) = service.accounts().refresh() {
                tracing::warn!(%error, "whether the users have changed is not known");
            }
            if round.is_multiple_of(IDLE_SESSIONS_EVERY) {
                service.sessions().close_idle();
            }
        }
    });
}
