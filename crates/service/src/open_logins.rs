//! The logins of open connections, which end when their users are removed or changed.
//!
//! Requests of HTTP have credentials of their own. A connection whose client authenticates once is registered here; the
//! server verifies its credentials again after each change of the users.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use espalier_store::Timestamp;
use parking_lot::Mutex;

use crate::access::{Caller, NacmConfig};
use crate::identity::{AuthenticationError, Credentials, Peer};
use crate::logins::Door;
use crate::service::Service;

/// Closes the connection of a login.
type CloseConnection = Box<dyn Fn() + Send + Sync>;

/// A login that is being verified.
pub struct Login {
    credentials: Credentials,
    door: Door,
    time: Timestamp,
    /// That of the users before the credentials were verified.
    generation: u64,
}

/// The login of an open connection. Dropping it ends the registration.
#[must_use]
pub struct OpenLogin {
    service: Service,
    id: u64,
}

/// The registered logins.
#[derive(Default)]
pub(crate) struct OpenLogins {
    open: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    last: u64,
    by_id: BTreeMap<u64, Arc<Entry>>,
    /// The groups and rules that were in force when the exemptions were last verified.
    rules: Option<Arc<NacmConfig>>,
}

struct Entry {
    credentials: Credentials,
    peer: Peer,
    caller: Caller,
    time: Timestamp,
    generation: Mutex<u64>,
    close: CloseConnection,
}

impl Login {
    /// Begins a login.
    pub fn begin(service: &Service, credentials: Credentials, door: Door) -> Self {
        Self {
            credentials,
            door,
            time: service.configuration().store().now(),
            generation: service.accounts().generation(),
        }
    }

    /// Authenticates the client, and records the login. Blocks. `close` is called when the login is not valid any more,
    /// perhaps several times.
    ///
    /// # Errors
    /// Those of [`Service::log_in`] and [`Service::record_login`].
    pub fn complete(
        self,
        service: &Service,
        close: impl Fn() + Send + Sync + 'static,
    ) -> Result<(Caller, OpenLogin), AuthenticationError> {
        let caller = service.log_in(&self.credentials, self.door)?;
        service.record_login(&caller, self.door)?;
        let entry = Entry {
            credentials: without_password(self.credentials),
            peer: self.door.peer,
            caller: caller.clone(),
            time: self.time,
            generation: Mutex::new(self.generation),
            close: Box::new(close),
        };
        let mut open = service.open_logins().open.lock();
        open.last += 1;
        let id = open.last;
        open.by_id.insert(id, Arc::new(entry));
        let service = service.clone();
        Ok((caller, OpenLogin { service, id }))
    }
}

/// The credentials without what must not stay in memory.
fn without_password(credentials: Credentials) -> Credentials {
    match credentials {
        Credentials::Password { user, .. } => Credentials::Password {
            user,
            password: String::new(),
        },
        other => other,
    }
}

impl fmt::Debug for OpenLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenLogin")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Drop for OpenLogin {
    fn drop(&mut self) {
        self.service
            .open_logins()
            .open
            .lock()
            .by_id
            .remove(&self.id);
    }
}

impl Service {
    /// Closes the connections whose clients could not log in any more, or would have other rights: their user was
    /// removed, or its password or key; their certificate has another name or none; they were exempt because there were
    /// no users or no groups, and now there are. A new password does not end a connection. Called periodically.
    pub fn close_invalid_logins(&self) {
        let generation = self.accounts().generation();
        let rules = match self.access_config() {
            Ok(rules) => Some(rules),
            Err(error) => {
                tracing::warn!(%error, "whether the access rules have changed is not known");
                None
            }
        };
        let changed: Vec<Arc<Entry>> = {
            let mut open = self.open_logins().open.lock();
            let are_other_rules = match (&rules, &open.rules) {
                (Some(new), Some(old)) => !Arc::ptr_eq(new, old),
                _ => true,
            };
            let is_changed = |entry: &&Arc<Entry>| {
                *entry.generation.lock() != generation
                    || (are_other_rules && entry.caller.is_recovery)
            };
            let changed = open.by_id.values().filter(is_changed).cloned().collect();
            open.rules = rules;
            changed
        };
        for entry in changed {
            match self.is_valid(&entry) {
                Ok(true) => *entry.generation.lock() = generation,
                Ok(false) => {
                    let (user, peer) = (&entry.caller.user, entry.peer);
                    tracing::info!(
                        user,
                        ?peer,
                        "a connection is closed: its login is not valid any more"
                    );
                    (entry.close)();
                }
                Err(error) => {
                    tracing::warn!(%error, "whether a login is still valid is not known");
                }
            }
        }
    }

    /// Whether the client of a connection could log in now, as the same user with the same rights.
    ///
    /// # Errors
    /// That is not known at present.
    fn is_valid(&self, entry: &Entry) -> Result<bool, AuthenticationError> {
        if let Credentials::Password { user, .. } = &entry.credentials {
            return Ok(self.accounts().authenticator().can_have_password(user));
        }
        // At the time of the login: a connection does not end with its certificate.
        match self.authenticate(&entry.credentials, entry.peer, entry.time) {
            Ok(caller) => Ok(caller == entry.caller),
            Err(
                error @ (AuthenticationError::Busy
                | AuthenticationError::Store(_)
                | AuthenticationError::Groups(_)
                | AuthenticationError::Configuration(_)),
            ) => Err(error),
            Err(_) => Ok(false),
        }
    }
}
