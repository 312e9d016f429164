//! The service of a store.

use std::sync::{Arc, Weak};

use espalier_store::{Datastore, Error, Result, Store, SystemClock, Timestamp, Tree};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};
use parking_lot::Mutex;

use crate::access::{
    AccessPolicy, AnchorAccess, Caller, NacmConfig, ResourceAccess, RulesCache, UserAccess,
};
use crate::anchor::Anchor;
use crate::audit::{AuditEntry, AuditOperation, FailedLogins, ServiceLog};
use crate::configuration::ConfigurationTrees;
use crate::datastore::SessionDatastore;
use crate::denied::{DeniedCounters, DeniedRequests};
use crate::identity::{
    Accounts, Anonymous, AuthenticationError, Authenticator, Credentials, ExternalPasswords,
    Identity, Method, NameService, Peer, RandomError, TokenStore,
};
use crate::notifications::{
    ConfiguredSubscriptions, ConfirmEvent, EstablishedSubscriptions, EventContext,
    ServiceNotifications,
};
use crate::open_logins::OpenLogins;
use crate::operations::Operations;
use crate::providers::ProviderConnections;
use crate::server_presence::ServerPresence;
use crate::server_state::{
    DescribedAnchor, LibraryTag, ServedAnchor, ServerState, StateSources, StateStore,
};
use crate::session::{Session, SessionChange, Sessions};

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
    trees: Arc<ConfigurationTrees>,
    rules: RulesCache,
    accounts: Accounts,
    unrestricted: Arc<UserAccess>,
    sessions: Arc<Sessions>,
    audit: ServiceLog,
    /// Those in the name of a user, and all others.
    failed_logins: [FailedLogins; 2],
    open_logins: OpenLogins,
    presence: ServerPresence,
    denied: Arc<DeniedRequests>,
    operations: Arc<Operations>,
    providers: ProviderConnections,
    state: ServerState,
    notifications: ServiceNotifications,
    module_observers: Mutex<Vec<ModuleObserver>>,
}

/// Called after modules were replaced.
type ModuleObserver = Box<dyn Fn() + Send + Sync>;

/// A service that does not stay open for this reference.
#[derive(Clone)]
pub(crate) struct WeakService(Weak<Inner>);

impl WeakService {
    /// The service, if it is still open.
    pub fn upgrade(&self) -> Option<Service> {
        self.0.upgrade().map(|inner| Service { inner })
    }
}

/// How the clients of a server are authenticated.
#[derive(Clone, Debug, Default)]
pub struct LoginPolicy {
    /// Whether clients without credentials are let in.
    pub anonymous: Anonymous,
    /// The certificates, in DER, of the authorities that the TLS server trusts.
    pub authorities: Vec<Vec<u8>>,
    /// The passwords of users that are not in ietf-system.
    pub external_passwords: Option<Arc<dyn ExternalPasswords>>,
}

impl Service {
    /// The service of a store, with the users and rules of `trees`.
    ///
    /// # Errors
    /// The users cannot be read; `operation-failed` if the operating system gives no random bytes.
    pub fn new(
        trees: ConfigurationTrees,
        control: AccessControl,
        sessions: Sessions,
        login: LoginPolicy,
    ) -> Result<Self> {
        let trees = Arc::new(trees);
        let tokens = TokenStore::new(Arc::clone(trees.store().driver()));
        let audit = ServiceLog::new(Arc::clone(trees.store().driver()));
        let authenticator = Authenticator::new(tokens, NameService, login.anonymous);
        let mut authenticator = authenticator.map_err(no_random_bytes)?;
        if let Some(external) = login.external_passwords {
            authenticator = authenticator.with_external_passwords(external);
        }
        let accounts = Accounts::new(Arc::clone(&trees), authenticator, login.authorities);
        if control == AccessControl::Rules {
            accounts.refresh()?;
        }
        let (sessions, denied) = (Arc::new(sessions), Arc::new(DeniedRequests::default()));
        let established = Arc::new(EstablishedSubscriptions::new(sessions.clock()));
        let configured = Arc::new(ConfiguredSubscriptions::new(sessions.clock()));
        let sources = StateSources {
            sessions: Arc::clone(&sessions),
            denied: Arc::clone(&denied),
            trees: Arc::clone(&trees),
            established: Arc::clone(&established),
            configured: Arc::clone(&configured),
            enforces_rules: control == AccessControl::Rules,
            store: StateStore::default(),
        };
        let service = Self {
            inner: Arc::new(Inner {
                control,
                rules: RulesCache::new(Arc::clone(&trees)),
                trees,
                accounts,
                unrestricted: Arc::new(UserAccess::unrestricted()),
                sessions,
                audit,
                failed_logins: Default::default(),
                open_logins: OpenLogins::default(),
                presence: ServerPresence::default(),
                denied,
                operations: Arc::default(),
                providers: ProviderConnections::default(),
                state: ServerState::new(sources),
                notifications: ServiceNotifications::new(established, configured),
                module_observers: Mutex::default(),
            }),
        };
        service.notify_of_sessions();
        Ok(service)
    }

    /// Sends notifications of the beginnings and ends of sessions (RFC 6470).
    fn notify_of_sessions(&self) {
        let service = self.downgrade();
        self.sessions().observe(Box::new(move |session, change| {
            match (service.upgrade(), change) {
                (None, _) => {}
                (Some(service), SessionChange::Opened) => service.notify_session_start(session),
                (Some(service), SessionChange::Ended(reason)) => {
                    service.notify_session_end(session, reason);
                }
            }
        }));
    }

    /// Registers what is called after a session replaced the modules of an anchor, before the session gets the result.
    pub fn observe_modules(&self, observer: Box<dyn Fn() + Send + Sync>) {
        self.inner.module_observers.lock().push(observer);
    }

    pub(crate) fn modules_changed(&self) {
        for observer in &*self.inner.module_observers.lock() {
            observer();
        }
    }

    pub(crate) fn downgrade(&self) -> WeakService {
        WeakService(Arc::downgrade(&self.inner))
    }

    /// What the delivery of events needs.
    pub(crate) fn event_context(&self) -> Arc<dyn EventContext> {
        Arc::clone(&self.inner) as Arc<dyn EventContext>
    }

    pub(crate) fn notifications(&self) -> &ServiceNotifications {
        &self.inner.notifications
    }

    /// The schema of the server's state and notifications.
    pub(crate) fn server_schema(&self) -> Result<Arc<Schema>> {
        self.inner.server_schema()
    }

    /// The service of a datastore without access control, for programs and commands that have the store open anyway.
    ///
    /// # Errors
    /// As [`Self::offline`].
    pub fn without_access_control(running: Tree) -> Result<Self> {
        Self::offline(running.store().clone(), Some(running))
    }

    /// The service of a store without access control. `served` is running of the anchor that a server would serve. The
    /// users are not read: see [`Accounts::refresh`].
    ///
    /// # Errors
    /// `operation-failed` if the operating system gives no random bytes.
    pub fn offline(store: Store, served: Option<Tree>) -> Result<Self> {
        let sessions = Sessions::new(Arc::new(SystemClock));
        let trees = ConfigurationTrees::new(store, served);
        Self::new(trees, AccessControl::Off, sessions, LoginPolicy::default())
    }

    /// The datastores with the users and rules.
    pub fn configuration(&self) -> &ConfigurationTrees {
        &self.inner.trees
    }

    /// The users.
    pub fn accounts(&self) -> &Accounts {
        &self.inner.accounts
    }

    /// The audit log.
    pub fn audit(&self) -> &ServiceLog {
        &self.inner.audit
    }

    pub(crate) fn failed_logins(&self, are_of_user: bool) -> &FailedLogins {
        match are_of_user {
            true => &self.inner.failed_logins[0],
            false => &self.inner.failed_logins[1],
        }
    }

    pub(crate) fn presence(&self) -> &ServerPresence {
        &self.inner.presence
    }

    pub(crate) fn open_logins(&self) -> &OpenLogins {
        &self.inner.open_logins
    }

    /// Authenticates a client. Blocks: it may compute a password hash or read from the engine.
    pub(crate) fn authenticate(
        &self,
        credentials: &Credentials,
        peer: Peer,
        now: Timestamp,
    ) -> std::result::Result<Caller, AuthenticationError> {
        let identity = self
            .inner
            .accounts
            .authenticator()
            .authenticate(credentials, peer, now)?;
        let is_exempt = self.is_exempt(&identity)?;
        Ok(Caller {
            user: match identity.method {
                Method::Anonymous => String::new(),
                _ => identity.user,
            },
            groups: identity.groups,
            is_recovery: is_exempt,
            is_read_only: identity.is_read_only,
        })
    }

    /// Whether no rule applies to a client: root of this machine; everybody who is let in as long as neither users nor
    /// groups of users are configured.
    fn is_exempt(&self, identity: &Identity) -> Result<bool> {
        Ok(match identity.method {
            Method::Anonymous => true,
            Method::Certificate => {
                let accounts = &self.inner.accounts;
                accounts.is_empty()
                    && !accounts.authenticator().has_external_passwords()
                    && self.access_config()?.groups.is_empty()
            }
            Method::Password | Method::Token | Method::PublicKey | Method::UnixPeer => {
                identity.is_recovery
            }
        })
    }

    /// The groups and access rules.
    ///
    /// # Errors
    /// Those of reading them.
    pub fn access_config(&self) -> Result<Arc<NacmConfig>> {
        self.inner.rules.config()
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// A datastore, for a session.
    pub fn datastore(&self, session: &Arc<Session>, tree: Tree) -> SessionDatastore {
        SessionDatastore::new(self.clone(), Arc::clone(session), tree)
    }

    /// Opens an anchor.
    ///
    /// # Errors
    /// Those of [`Store::tree`](espalier_store::Store::tree).
    pub fn open_anchor(&self, dataspace: &str, anchor: &str) -> Result<Anchor> {
        let store = self.configuration().store();
        let running = store.tree(dataspace, anchor, Datastore::Running)?;
        Ok(Anchor { running })
    }

    /// Running of an anchor, for a session.
    pub fn running(&self, session: &Arc<Session>, anchor: &Anchor) -> SessionDatastore {
        self.datastore(session, anchor.running.clone())
    }

    /// Makes an anchor the one that is served by default: users and rules are in it if its models have them.
    pub fn set_default_anchor(&self, anchor: &Anchor) {
        self.configuration().set_served(anchor.running.clone());
    }

    /// What the user of a session may do with the data of an anchor, under one of its schemas.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn access(
        &self,
        session: &Session,
        tree: &Tree,
        schema: &Arc<Schema>,
    ) -> Result<Arc<UserAccess>> {
        self.inner.access_of_caller(session.caller(), tree, schema)
    }

    /// The access rules for the data of an anchor.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn access_policy(&self, tree: &Tree, schema: &Arc<Schema>) -> Result<Arc<AccessPolicy>> {
        self.inner.rules.policy(tree, schema)
    }

    /// What a user may do with collections and statistics.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn resource_access(&self, caller: &Caller) -> Result<ResourceAccess> {
        match self.inner.control {
            AccessControl::Off => Ok(ResourceAccess::unrestricted()),
            AccessControl::Rules => Ok(ResourceAccess::new(&self.access_config()?, caller)),
        }
    }

    /// Which anchors a user can know of.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn anchor_access(&self, caller: &Caller) -> Result<AnchorAccess> {
        if self.inner.control == AccessControl::Off || caller.is_recovery {
            return Ok(AnchorAccess::unrestricted());
        }
        Ok(AnchorAccess::new(&self.access_config()?, caller))
    }

    /// Rolls back the confirmed commits whose time is over (RFC 6241 §8.4), and returns their number.
    ///
    /// # Errors
    /// Those of [`Store::expire`].
    pub fn roll_back_expired_commits(&self) -> Result<usize> {
        let expired = self.inner.trees.store().expire()?;
        for running in &expired {
            self.notify_confirmed_commit(running, None, ConfirmEvent::Timeout);
        }
        let count = expired.len();
        if count > 0 {
            self.audit().append(AuditEntry {
                message: format!("not confirmed in time: {count}"),
                ..AuditEntry::new(AuditOperation::Cancel)
            })?;
        }
        Ok(count)
    }

    /// The registered operations.
    pub fn operations(&self) -> &Arc<Operations> {
        &self.inner.operations
    }

    /// The connected programs.
    pub fn providers(&self) -> &ProviderConnections {
        &self.inner.providers
    }

    /// The numbers of denied requests.
    pub fn denied(&self) -> DeniedCounters {
        self.inner.denied.counters()
    }

    /// Describes an anchor that a front end serves: the server's state then has its YANG library and its datastores. A
    /// later description of the same anchor replaces the earlier one. It ends when the result is dropped.
    ///
    /// # Errors
    /// Those of the store.
    pub fn describe(&self, served: ServedAnchor) -> Result<DescribedAnchor> {
        self.inner.state.describe(served)
    }

    /// The YANG library of a served anchor: what changes when it does. `None` for an anchor that no front end described.
    ///
    /// # Errors
    /// Those of the store in memory.
    pub fn library_tag(&self, anchor: &Anchor) -> Result<Option<LibraryTag>> {
        self.library_tag_of(anchor.running())
    }

    /// The capabilities of NETCONF for the modules of a served anchor that are in YANG 1 (RFC 6020 §5.6.4).
    ///
    /// # Errors
    /// Those of the store in memory.
    pub fn module_capabilities(&self, anchor: &Anchor) -> Result<Arc<[String]>> {
        self.inner.state.module_capabilities(anchor.running())
    }

    pub(crate) fn library_tag_of(&self, anchor: &Tree) -> Result<Option<LibraryTag>> {
        self.inner.state.library_tag(anchor)
    }

    /// The text of a module or submodule of a served anchor, or of the server's state.
    ///
    /// # Errors
    /// `operation-failed` if there are several revisions and none is named (RFC 6022 §3.1).
    pub(crate) fn module_text(
        &self,
        anchor: &Tree,
        name: &str,
        revision: Option<&str>,
    ) -> Result<Option<Arc<str>>> {
        self.inner.state.module_text(anchor, name, revision)
    }

    /// The datastore with the server's state that the models of a served anchor do not define.
    pub(crate) fn state_tree(&self, anchor: &Tree) -> Result<Option<Tree>> {
        self.inner.state.tree(anchor)
    }

    pub(crate) fn count_denied_operation(&self) {
        self.inner.denied.count_operation();
    }

    /// Counts a denied change, and applies a change of the rules at once.
    pub(crate) fn record_change<T>(&self, tree: &Tree, result: &Result<T>) {
        match result {
            Err(Error::Data(errors)) => {
                // That of an operation is of the layer of protocols, and counted already.
                let is_denied = |error: &DataError| {
                    error.tag == ErrorTag::AccessDenied && error.kind == ErrorType::Application
                };
                if errors.iter().any(is_denied) {
                    self.inner.denied.count_data_write();
                }
            }
            Ok(_) => {
                self.inner.rules.invalidate_after_change_of(tree);
                self.inner.accounts.refresh_after_change_of(tree);
                self.refresh_subscriptions_after_change_of(tree);
            }
            Err(_) => {}
        }
    }
}

impl EventContext for Inner {
    fn access_of_caller(
        &self,
        caller: &Caller,
        tree: &Tree,
        schema: &Arc<Schema>,
    ) -> Result<Arc<UserAccess>> {
        if self.control == AccessControl::Off || caller.is_recovery {
            return Ok(Arc::clone(&self.unrestricted));
        }
        let policy = self.rules.policy(tree, schema)?;
        Ok(policy.access_of(caller))
    }

    fn server_schema(&self) -> Result<Arc<Schema>> {
        self.state.schema()
    }

    fn reopened(&self, running: &Tree) -> Result<Tree> {
        let dataspace = running.store().dataspace_of(running)?;
        let store = self.trees.store();
        store.tree(&dataspace, running.anchor_name(), Datastore::Running)
    }

    fn count_denied_notifications(&self, count: usize) {
        self.denied.count_notifications(count);
    }
}

pub(crate) fn no_random_bytes(error: RandomError) -> Error {
    Error::data(ErrorTag::OperationFailed, error.to_string())
}
