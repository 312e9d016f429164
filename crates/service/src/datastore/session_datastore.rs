//! The handle, and what all its operations share.

use std::sync::Arc;

use espalier_store::{CommitOptions, Datastore, Error, Result, Tree};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

use super::call::{Call, Outcome};
use crate::access::{Caller, UserAccess, hide_denied};
use crate::audit::AuditEntry;
use crate::service::Service;
use crate::session::{NewSession, Session, SessionKind, Transport};

/// The module of the base operations (RFC 6241).
const NETCONF: &str = "ietf-netconf";

/// The operations that change nothing.
const READ_OPERATIONS: [&str; 5] = ["get", "get-config", "get-data", "get-schema", "validate"];

/// A datastore of an anchor, for one session.
#[derive(Clone)]
pub struct SessionDatastore {
    pub(super) service: Service,
    pub(super) session: Arc<Session>,
    pub(super) tree: Tree,
    /// For the state of the server, the served anchor: the access rules are those for its data.
    pub(super) served: Option<Tree>,
}

/// The author and comment of a change, for the history.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeNote<'a> {
    /// The author. An authenticated user cannot name another.
    pub author: &'a str,
    /// The comment.
    pub comment: &'a str,
}

impl SessionDatastore {
    /// A datastore for a program that has the store open: without access control, and without a listed session.
    ///
    /// # Errors
    /// `operation-failed` if the operating system gives no random bytes.
    pub fn of_program(tree: Tree) -> Result<Self> {
        let service = Service::without_access_control(tree.clone())?;
        let session = service.sessions().unlisted(NewSession {
            caller: Caller::exempt(),
            transport: Transport::Library,
            peer: String::new(),
            kind: SessionKind::Connection,
            name: String::new(),
        });
        Ok(service.datastore(&session, tree))
    }

    pub(crate) fn new(service: Service, session: Arc<Session>, tree: Tree) -> Self {
        Self {
            service,
            session,
            tree,
            served: None,
        }
    }

    /// The datastore whose anchor the access rules are for.
    pub(crate) fn governed(&self) -> &Tree {
        self.served.as_ref().unwrap_or(&self.tree)
    }

    /// For the state of the server, running of the served anchor; else this datastore.
    pub(crate) fn main(&self) -> Self {
        match &self.served {
            Some(served) => self.service.datastore(&self.session, served.clone()),
            None => self.clone(),
        }
    }

    /// The service.
    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// A datastore of the same anchor without the session.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The datastore.
    pub fn datastore(&self) -> Datastore {
        self.tree.datastore()
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        self.tree.schema()
    }

    /// Whether reads may take as long as a round trip over a network.
    pub fn is_remote(&self) -> bool {
        self.tree.store().driver().capability().remote
    }

    /// Another datastore of the same anchor, for the same session. Its candidate may be its own
    /// ([`Session::use_private_candidate`]).
    ///
    /// # Errors
    /// `invalid-value` for a private candidate of a session without a name.
    pub fn sibling(&self, datastore: Datastore) -> Result<Self> {
        let (datastore, owner) = match datastore {
            Datastore::PrivateCandidate => (datastore, self.session.owner()),
            Datastore::Candidate if self.session.has_private_candidate() => {
                (Datastore::PrivateCandidate, self.session.owner())
            }
            _ => (datastore, ""),
        };
        Ok(self.of_tree(self.tree.sibling_datastore(datastore, owner)?))
    }

    /// The datastore of a tree, for the same session.
    pub(super) fn of_tree(&self, tree: Tree) -> Self {
        Self::new(self.service.clone(), Arc::clone(&self.session), tree)
    }

    /// What the user may do.
    ///
    /// # Errors
    /// Those of reading the rules; `access-denied` if the session was killed.
    pub fn access(&self) -> Result<Arc<UserAccess>> {
        if self.session.is_killed() {
            let error = DataError::new(ErrorTag::AccessDenied, "the session was killed");
            return Err(error.of_type(ErrorType::Protocol).into());
        }
        self.service
            .access(&self.session, self.governed(), self.schema())
    }

    /// Requires that no rule restricts the user: for operations that concern all data.
    pub(crate) fn require_unrestricted(&self, name: &str) -> Result<()> {
        let access = self.access()?;
        let is_unrestricted = access
            .table()
            .is_none_or(|table| table.reads_all() && table.writes_all());
        match is_unrestricted {
            true => Ok(()),
            false => Err(self.denied_operation(name)),
        }
    }

    pub(crate) fn denied_operation(&self, name: &str) -> Error {
        self.service.count_denied_operation();
        let message = format!("access denied: {name}");
        let error = DataError::new(ErrorTag::AccessDenied, message);
        error.of_type(ErrorType::Protocol).into()
    }

    /// Requires that the user may invoke a base operation (RFC 8341 §3.4.4).
    pub(crate) fn require_operation(&self, name: &str) -> Result<()> {
        self.require(NETCONF, name)
    }

    /// Rejects an operation that the user may not invoke (RFC 8341 §3.4.4).
    ///
    /// # Errors
    /// `access-denied`; those of reading the rules.
    pub fn require(&self, module: &str, name: &str) -> Result<()> {
        if !READ_OPERATIONS.contains(&name) {
            self.require_write_scope()?;
        }
        let access = self.access()?;
        let schema = self.schema();
        let id = schema.module_by_name(module);
        let node = id.and_then(|module| schema.child(None, module, name));
        match access.may_invoke(schema, module, name, node) {
            true => Ok(()),
            false => Err(self.denied_operation(name)),
        }
    }

    /// Rejects a change by the bearer of a token that may only read.
    pub(crate) fn require_write_scope(&self) -> Result<()> {
        match self.session.caller().is_read_only {
            false => Ok(()),
            true => {
                let message = "access denied: the token may only read";
                let error = DataError::new(ErrorTag::AccessDenied, message);
                Err(error.of_type(ErrorType::Protocol).into())
            }
        }
    }

    /// Rejects a change that the session, or the datastore, does not permit.
    pub(super) fn require_change(&self) -> Result<()> {
        self.require_write_scope()?;
        self.require_stored()
    }

    /// Rejects a change of the server's state.
    pub(super) fn require_stored(&self) -> Result<()> {
        match self.served {
            None => Ok(()),
            Some(_) => {
                let message = "the state of the server is read-only";
                let error = DataError::new(ErrorTag::OperationNotSupported, message);
                Err(error.of_type(ErrorType::Protocol).into())
            }
        }
    }

    pub(super) fn change<T: Outcome>(
        &self,
        call: Call<'_>,
        note: ChangeNote<'_>,
        run: impl FnOnce(CommitOptions<'_>) -> Result<T>,
    ) -> Result<T> {
        self.changed(call, |access| {
            let author = self.author(note.author);
            run(CommitOptions {
                access: access.table(),
                ..self.commit_options(&author, note)
            })
        })
    }

    /// A change that the rules on data do not apply to.
    pub(super) fn unrestricted<T: Outcome>(
        &self,
        call: Call<'_>,
        note: ChangeNote<'_>,
        run: impl FnOnce(CommitOptions<'_>) -> Result<T>,
    ) -> Result<T> {
        self.changed(call, |_| {
            let author = self.author(note.author);
            run(self.commit_options(&author, note))
        })
    }

    pub(super) fn commit_options<'o>(
        &'o self,
        author: &'o str,
        note: ChangeNote<'o>,
    ) -> CommitOptions<'o> {
        CommitOptions {
            author,
            comment: note.comment,
            session: self.session.owner(),
            ..CommitOptions::default()
        }
    }

    /// The author of a change: the user; without one, the author that the request names.
    pub(super) fn author(&self, written: &str) -> String {
        let user = &self.session.caller().user;
        match user.is_empty() {
            true => written.to_owned(),
            false => user.clone(),
        }
    }

    /// Runs a call, counts it, and appends its audit record.
    pub(crate) fn counted<T>(
        &self,
        call: Call<'_>,
        run: impl FnOnce(&UserAccess) -> Result<T>,
    ) -> Result<T> {
        self.run(call, |_| None, run)
    }

    /// As [`Self::counted`], for a call whose second step hides in its errors what the user may not see.
    pub(crate) fn counted_steps<P, T>(
        &self,
        call: Call<'_>,
        prepare: impl FnOnce(&UserAccess) -> Result<P>,
        run: impl FnOnce(&UserAccess, P) -> Result<T>,
    ) -> Result<T> {
        let result = self.access().and_then(|access| {
            let prepared = prepare(&access).map_err(|error| self.shown(&access, error))?;
            run(&access, prepared)
        });
        self.record(call, |_| None, result)
    }

    /// As [`Self::counted`], for a change.
    pub(crate) fn changed<T: Outcome>(
        &self,
        call: Call<'_>,
        run: impl FnOnce(&UserAccess) -> Result<T>,
    ) -> Result<T> {
        let result = self.run(call, T::version, |access| {
            self.require_change()?;
            run(access)
        });
        self.service.record_change(&self.tree, &result);
        result
    }

    /// Counts a change that was made before, and appends its audit record.
    pub(super) fn finished<T: Outcome>(
        &self,
        call: Call<'_>,
        access: &UserAccess,
        result: Result<T>,
    ) -> Result<T> {
        let result = result.map_err(|error| self.shown(access, error));
        let result = self.record(call, T::version, result);
        self.service.record_change(&self.tree, &result);
        result
    }

    fn run<T>(
        &self,
        call: Call<'_>,
        version: impl FnOnce(&T) -> Option<u64>,
        run: impl FnOnce(&UserAccess) -> Result<T>,
    ) -> Result<T> {
        let result = self
            .access()
            .and_then(|access| run(&access).map_err(|error| self.shown(&access, error)));
        self.record(call, version, result)
    }

    /// An error as the user may see it.
    pub(crate) fn shown(&self, access: &UserAccess, error: Error) -> Error {
        match (error, access.table()) {
            (Error::Data(errors), Some(table)) => {
                Error::Data(hide_denied(table, self.schema(), errors))
            }
            (error, _) => error,
        }
    }

    fn record<T>(
        &self,
        call: Call<'_>,
        version: impl FnOnce(&T) -> Option<u64>,
        result: Result<T>,
    ) -> Result<T> {
        let now = self.tree.store().now();
        self.session.record_request(now, result.is_err());
        let audited = match &result {
            Ok(done) => self.audit(call, false, || AuditEntry {
                version: version(done),
                ..call.entry(self.schema())
            }),
            Err(error) => self.audit(call, is_denied(error), || {
                call.failed_entry(self.schema(), error)
            }),
        };
        // An operation that fails keeps its own error.
        result.and_then(|done| audited.map(|()| done))
    }

    /// Appends the record of a call, if such calls are recorded.
    fn audit(
        &self,
        call: Call<'_>,
        is_denied: bool,
        entry: impl FnOnce() -> AuditEntry,
    ) -> Result<()> {
        let audit = self.service.audit();
        if !audit.records(call.operation, is_denied) {
            return Ok(());
        }
        audit.append(AuditEntry {
            target: Some(audit.target(self.governed(), self.tree.datastore())),
            ..entry().of_session(&self.session)
        })
    }
}

/// Whether access control rejected the call.
fn is_denied(error: &Error) -> bool {
    let Error::Data(errors) = error else {
        return false;
    };
    errors
        .iter()
        .any(|error| error.tag == ErrorTag::AccessDenied)
}
