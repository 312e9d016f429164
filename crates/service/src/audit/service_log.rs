//! The log as the service uses it: opened when it is needed, with the names of anchors.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use espalier_keyspace::Driver;
use espalier_store::{Clock, Datastore, Error, Result, SystemClock, Timestamp, Tree};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use parking_lot::{Mutex, RwLock};
use rustix::process::geteuid;
use serde_json::Value as Json;

use super::error::AuditError;
use super::log::AuditLog;
use super::operation::{AuditKind, AuditOperation};
use super::record::{AuditEntry, AuditTarget};
use super::settings::AuditSettings;
use crate::identity::{NameService, OsAccounts};
use crate::session::{Session, Transport};

/// Maximum number of anchors whose dataspaces are remembered. When there are more, all are looked up again.
const ANCHORS_MAX: usize = 10_000;

/// A user who logs in again from the same address within this time gets no further record.
pub const LOGIN_RECORD_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Maximum number of remembered logins. Further ones are all recorded.
const LOGINS_MAX: usize = 10_000;

/// The audit log of a service. A command that changes nothing never opens it.
pub struct ServiceLog {
    driver: Arc<dyn Driver>,
    log: OnceLock<AuditLog>,
    /// Held while the log is opened.
    opening: Mutex<()>,
    /// The latest records of logins.
    logins: Mutex<HashMap<[String; 3], Timestamp>>,
    /// The dataspaces of anchors, by the id of the anchor.
    dataspaces: RwLock<HashMap<u64, Arc<str>>>,
}

impl ServiceLog {
    /// The log of a store.
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            driver,
            log: OnceLock::new(),
            opening: Mutex::new(()),
            logins: Mutex::default(),
            dataspaces: RwLock::default(),
        }
    }

    /// The log; opened by the first call.
    ///
    /// # Errors
    /// Those of [`AuditLog::open`].
    pub fn log(&self) -> std::result::Result<&AuditLog, AuditError> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let _opening = self.opening.lock();
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let log = AuditLog::open(Arc::clone(&self.driver), clock)?;
        Ok(self.log.get_or_init(|| log))
    }

    /// Whether calls of an operation can have a record, for callers that would otherwise collect paths in vain: denied
    /// ones always, reads only if the log is open, so that a command that reads does not open it.
    pub fn records(&self, operation: AuditOperation, is_denied: bool) -> bool {
        is_denied
            || match self.log.get() {
                Some(log) => log.is_recorded(operation.kind()),
                None => operation.kind() != AuditKind::Reads,
            }
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// `operation-failed` if it is not stored and the settings require that it is.
    pub fn append(&self, entry: AuditEntry) -> Result<()> {
        let appended = self.log().and_then(|log| log.append(entry));
        appended.map(drop).map_err(|error| {
            let error = DataError::new(ErrorTag::OperationFailed, error.to_string());
            Error::from(error.of_type(ErrorType::Application))
        })
    }

    /// Changes the settings with a JSON Merge Patch, and records that.
    ///
    /// # Errors
    /// Those of [`AuditSettings::patched`] and of the engine.
    pub fn change_settings(
        &self,
        session: &Session,
        patch: &Json,
    ) -> std::result::Result<AuditSettings, AuditError> {
        let log = self.log()?;
        let settings = log.settings().patched(patch)?;
        let entry = AuditEntry {
            message: patch.to_string(),
            ..AuditEntry::new(AuditOperation::AuditSettings).of_session(session)
        };
        // By the settings before, so that switching the log off leaves a record.
        log.append(entry)?;
        log.set_settings(settings.clone())?;
        Ok(settings)
    }

    /// Whether a login gets a record: there is none of the same user, transport and peer in the last
    /// [`LOGIN_RECORD_INTERVAL`]. Clients of HTTP may make a connection for each request.
    pub(crate) fn is_new_login(&self, login: [String; 3], now: Timestamp) -> bool {
        let mut logins = self.logins.lock();
        let is_recent = |time: &Timestamp| now.since(*time) < LOGIN_RECORD_INTERVAL;
        if logins.get(&login).is_some_and(is_recent) {
            return false;
        }
        if logins.len() >= LOGINS_MAX {
            logins.retain(|_, time| is_recent(time));
        }
        if logins.len() < LOGINS_MAX {
            logins.insert(login, now);
        }
        true
    }

    /// A datastore of the anchor of `tree` as the target of an operation.
    pub(crate) fn target(&self, tree: &Tree, datastore: Datastore) -> AuditTarget {
        AuditTarget::Datastore {
            dataspace: self.dataspace(tree).to_string(),
            anchor: tree.anchor_name().to_owned(),
            datastore: datastore.name().to_owned(),
        }
    }

    /// The name of the dataspace; empty if it was deleted meanwhile.
    fn dataspace(&self, tree: &Tree) -> Arc<str> {
        if let Some(name) = self.dataspaces.read().get(&tree.anchor_id()) {
            return Arc::clone(name);
        }
        let Ok(name) = tree.store().dataspace_of(tree) else {
            return Arc::default();
        };
        let name: Arc<str> = name.into();
        let mut dataspaces = self.dataspaces.write();
        if dataspaces.len() >= ANCHORS_MAX {
            dataspaces.clear();
        }
        dataspaces.insert(tree.anchor_id(), Arc::clone(&name));
        name
    }
}

impl AuditEntry {
    /// The entry with the user, the transport and the peer of a session.
    #[must_use]
    pub fn of_session(mut self, session: &Session) -> Self {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.session = match session.id().0 {
            0 => None,
            id => Some(id.to_string()),
        };
        self.user = match session.transport() {
            Transport::CommandLine => text(&session.caller().user).or_else(process_user),
            _ => text(&session.caller().user),
        };
        self.transport = Some(session.transport().name().to_owned());
        self.peer = text(session.peer());
        self
    }
}

/// The name of the user whose process this is.
fn process_user() -> Option<String> {
    let uid = geteuid().as_raw();
    NameService.name(uid).or_else(|| Some(format!("uid {uid}")))
}
