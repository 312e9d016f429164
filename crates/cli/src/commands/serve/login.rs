//! The service of a server: who its clients are, and what they may do.

#[cfg(feature = "pam")]
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_service::configuration::ConfigurationTrees;
#[cfg(feature = "pam")]
use espalier_service::identity::Pam;
use espalier_service::identity::{Anonymous, ExternalPasswords};
use espalier_service::session::Sessions;
use espalier_service::{AccessControl, LoginPolicy, Service};
use espalier_store::{Store, SystemClock, Tree};
use espalier_terminal::{Failure, Result};

use crate::commands::serve::exposure::is_insecure;
use crate::settings::Settings;

/// The interval of looking whether another process changed the users, or the configured subscriptions.
const USERS_INTERVAL: Duration = Duration::from_millis(500);

/// The number of those intervals between two looks for idle sessions.
const IDLE_SESSIONS_EVERY: u32 = 120;

/// The service of a store whose clients may have certificates of these authorities, in DER. A thread of its own keeps its users and sessions up to date.
///
/// # Errors
/// There are users, and the settings serve everybody; this program has no PAM, or the name of its service is wrong.
pub fn service(
    settings: &Settings,
    authorities: Vec<Vec<u8>>,
    store: &Store,
    tree: Option<&Tree>,
) -> Result<Service> {
    let external_passwords = external_passwords(settings)?;
    let policy = LoginPolicy {
        anonymous: match is_insecure(settings) {
            true => Anonymous::WithoutUsers,
            false if external_passwords.is_some() => Anonymous::Rejected,
            false => Anonymous::LocalWithoutUsers,
        },
        external_passwords,
        authorities,
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

/// What verifies the passwords of users that are not in ietf-system.
fn external_passwords(settings: &Settings) -> Result<Option<Arc<dyn ExternalPasswords>>> {
    let Some(service) = &settings.pam_service else {
        return Ok(None);
    };
    if is_insecure(settings) {
        return Err(Failure::usage(
            "--pam-service and --insecure-no-authentication exclude each other",
        ));
    }
    pam(service).map(Some)
}

#[cfg(feature = "pam")]
fn pam(service: &str) -> Result<Arc<dyn ExternalPasswords>> {
    let pam = Pam::new(service).ok_or_else(|| {
        Failure::usage(format!("--pam-service {service}: this is not a name"))
            .hint("a name has letters, digits, `-` and `_`: that of a file in /etc/pam.d")
    })?;
    // libpam takes the service `other` in place of one that is not configured, which may accept everybody.
    let folders = ["/etc/pam.d", "/usr/lib/pam.d"].map(Path::new);
    if !folders.iter().any(|folder| folder.join(service).is_file()) {
        return Err(Failure::usage(format!(
            "--pam-service {service}: there is no file /etc/pam.d/{service}"
        )));
    }
    Ok(Arc::new(pam))
}

#[cfg(not(feature = "pam"))]
fn pam(_service: &str) -> Result<Arc<dyn ExternalPasswords>> {
    Err(
        Failure::usage("--pam-service: this program was built without PAM")
            .hint("build it with `cargo build --release -p espalier-cli --features pam`, which needs libpam0g-dev"),
    )
}

fn keep_up_to_date(service: Service) {
    thread::spawn(move || {
        for round in 1u32.. {
            thread::sleep(USERS_INTERVAL);
            if let Err(error) = service.accounts().refresh() {
                tracing::warn!(%error, "whether the users have changed is not known");
            }
            service.close_invalid_logins();
            if let Err(error) = service.keep_presence() {
                tracing::warn!(%error, "whether other servers live is not known");
            }
            if let Err(error) = service.refresh_subscriptions() {
                tracing::warn!(%error, "whether the subscriptions have changed is not known");
            }
            if round.is_multiple_of(IDLE_SESSIONS_EVERY) {
                service.sessions().close_idle();
            }
        }
    });
}
