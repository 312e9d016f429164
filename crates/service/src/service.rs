//! The service of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_store::{Error, Result, SystemClock, Tree};
use espalier_yang::{ErrorTag, Schema};

use crate::access::{RulesCache, UserAccess};
use crate::datastore::SessionDatastore;
use crate::session::{Session, Sessions};

/// Whether sessions are subject to access control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessControl {
    /// Nobody is authenticated, so nothing is denied.
    Off,
    /// The rules of `ietf-netconf-acm`.
    Rules,
}

/// The service of one store. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    control: AccessControl,
    rules: RulesCache,
    unrestricted: Arc<UserAccess>,
    sessions: Sessions,
    denied_operations: AtomicU64,
    denied_data_writes: AtomicU64,
}

/// The numbers of denied requests since the start (RFC 8341 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeniedCounters {
    /// `denied-operations`.
    pub operations: u64,
    /// `denied-data-writes`.
    pub data_writes: u64,
}

impl Service {
    /// The service of a store. `running` is the running datastore that has the users and the rules.
    pub fn new(running: Tree, control: AccessControl, sessions: Sessions) -> Self {
        Self {
            inner: Arc::new(Inner {
                control,
                rules: RulesCache::new(running),
                unrestricted: Arc::new(UserAccess::unrestricted()),
                sessions,
                denied_operations: AtomicU64::new(0),
                denied_data_writes: AtomicU64::new(0),
            }),
        }
    }

    /// The service of a store without access control.
    pub fn without_access_control(running: Tree) -> Self {
        let sessions = Sessions::new(Arc::new(SystemClock));
        Self::new(running, AccessControl::Off, sessions)
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// A datastore, for a session.
    pub fn datastore(&self, session: &Arc<Session>, tree: Tree) -> SessionDatastore {
        SessionDatastore::new(self.clone(), Arc::clone(session), tree)
    }

    /// What the user of a session may do with data of a schema.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn access(&self, session: &Session, schema: &Arc<Schema>) -> Result<Arc<UserAccess>> {
        if self.inner.control == AccessControl::Off {
            return Ok(Arc::clone(&self.inner.unrestricted));
        }
        match self.inner.rules.policy(schema)? {
            Some(policy) => Ok(policy.access_of(session.caller())),
            None => Ok(Arc::clone(&self.inner.unrestricted)),
        }
    }

    /// The numbers of denied requests.
    pub fn denied(&self) -> DeniedCounters {
        DeniedCounters {
            operations: self.inner.denied_operations.load(Ordering::Relaxed),
            data_writes: self.inner.denied_data_writes.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count_denied_operation(&self) {
        self.inner.denied_operations.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a denied change, and applies a change of the rules at once.
    pub(crate) fn record_change<T>(&self, tree: &Tree, result: &Result<T>) {
        match result {
            Err(Error::Data(errors)) => {
                let is_denied = errors
                    .iter()
                    .any(|error| error.tag == ErrorTag::AccessDenied);
                let count = u64::from(is_denied);
                self.inner
                    .denied_data_writes
                    .fetch_add(count, Ordering::Relaxed);
            }
            Ok(_) => self.inner.rules.invalidate_after_change_of(tree),
            Err(_) => {}
        }
    }
}
