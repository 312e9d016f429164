//! Sessions: who makes requests, and since when.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use espalier_store::{Clock, Timestamp};
use parking_lot::Mutex;

use crate::access::Caller;

/// The maximum number of sessions of a process.
pub const SESSIONS_MAX: usize = 100_000;

/// A session without requests for this long is closed, unless it is [`SessionKind::Connection`].
pub const SESSION_IDLE_MAX: Duration = Duration::from_secs(3600);

/// The number of a session, from 1. Unique in a process (RFC 6241 §1.1 `session-id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// How a session reaches the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A program that has the library in it.
    Library,
    /// A command on a store.
    CommandLine,
    /// RESTCONF and the other HTTP routes.
    Http,
    /// The same over a Unix socket.
    UnixSocket,
    /// NETCONF over SSH (RFC 6242).
    NetconfSsh,
    /// NETCONF over TLS (RFC 7589).
    NetconfTls,
    /// NETCONF over a Unix socket, or the standard streams of a process.
    NetconfLocal,
}

impl Transport {
    /// Its name in listings and in the audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::CommandLine => "command-line",
            Self::Http => "http",
            Self::UnixSocket => "unix-socket",
            Self::NetconfSsh => "netconf-ssh",
            Self::NetconfTls => "netconf-tls",
            Self::NetconfLocal => "netconf-local",
        }
    }
}

/// What ends a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// The end of its connection.
    Connection,
    /// No request for [`SESSION_IDLE_MAX`]: requests name it, as those of HTTP.
    Named,
}

/// The description of a new session.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The user.
    pub caller: Caller,
    /// How it reaches the service.
    pub transport: Transport,
    /// The address of the peer; empty for the same process.
    pub peer: String,
    /// What ends it.
    pub kind: SessionKind,
    /// The name that requests give it; empty if they give none. Locks and private candidates belong to it.
    pub name: String,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    caller: Caller,
    transport: Transport,
    peer: String,
    kind: SessionKind,
    owner: String,
    login: Timestamp,
    last_request: AtomicU64,
    requests: AtomicU64,
    errors: AtomicU64,
    bad_requests: AtomicU64,
    notifications: AtomicU64,
    is_killed: AtomicBool,
    has_private_candidate: AtomicBool,
}

impl Session {
    fn new(id: SessionId, owner: String, new: NewSession, now: Timestamp) -> Self {
        Self {
            id,
            owner,
            caller: new.caller,
            transport: new.transport,
            peer: new.peer,
            kind: new.kind,
            login: now,
            last_request: AtomicU64::new(now.0),
            requests: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            bad_requests: AtomicU64::new(0),
            notifications: AtomicU64::new(0),
            is_killed: AtomicBool::new(false),
            has_private_candidate: AtomicBool::new(false),
        }
    }

    /// Its number; 0 for a session of one request.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// What ends it.
    pub fn kind(&self) -> SessionKind {
        self.kind
    }

    /// The user.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// How it reaches the service.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The address of the peer.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// The address of the peer, without its port.
    pub fn host(&self) -> String {
        let address = self.peer.parse::<std::net::SocketAddr>();
        address.map_or_else(|_| self.peer.clone(), |address| address.ip().to_string())
    }

    /// The owner of its locks and private candidates in the store. Users cannot name the sessions of others: the name
    /// of an authenticated user is part of it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// From now on, its candidate is its own (draft-ietf-netconf-privcand).
    pub fn use_private_candidate(&self) {
        self.has_private_candidate.store(true, Ordering::Relaxed);
    }

    /// Whether its candidate is its own.
    pub fn has_private_candidate(&self) -> bool {
        self.has_private_candidate.load(Ordering::Relaxed)
    }

    /// The time of its beginning.
    pub fn login(&self) -> Timestamp {
        self.login
    }

    /// The time of its last request.
    pub fn last_request(&self) -> Timestamp {
        Timestamp(self.last_request.load(Ordering::Relaxed))
    }

    /// The number of its requests.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The number of its requests that failed.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// The number of its messages that were no requests.
    pub fn bad_requests(&self) -> u64 {
        self.bad_requests.load(Ordering::Relaxed)
    }

    /// Counts a message that is no request.
    pub fn record_bad_request(&self) {
        self.bad_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of notifications that were sent to it.
    pub fn notifications(&self) -> u64 {
        self.notifications.load(Ordering::Relaxed)
    }

    /// Counts a notification that was sent to it.
    pub fn record_notification(&self) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was killed: its requests are rejected.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Acquire)
    }

    /// Counts a request.
    pub fn record_request(&self, now: Timestamp, has_failed: bool) {
        self.last_request.fetch_max(now.0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.errors
            .fetch_add(u64::from(has_failed), Ordering::Relaxed);
    }
}

/// Why a session is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There are too many.
    #[error("the server has {SESSIONS_MAX} sessions (SESSIONS_MAX)")]
    TooMany,
}

/// The numbers of sessions since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTotals {
    /// The start.
    pub started: Timestamp,
    /// How many were opened and listed.
    pub opened: u64,
    /// How many of these were killed, lost, or closed because they were idle.
    pub dropped: u64,
    /// How many of these ended because their first message was no `hello`.
    pub bad_hellos: u64,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminationReason {
    /// By its client.
    Closed,
    /// By an administrator.
    Killed,
    /// With its connection.
    Dropped,
    /// After too long without requests.
    Timeout,
    /// Its first message was no `hello`.
    BadHello,
}

impl TerminationReason {
    /// Its name in notifications (RFC 6470).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Killed => "killed",
            Self::Dropped => "dropped",
            Self::Timeout => "timeout",
            Self::BadHello => "bad-hello",
        }
    }
}

/// A change of the list of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionChange {
    /// The session began.
    Opened,
    /// The session ended for this reason.
    Ended(TerminationReason),
}

/// Called after each change of the list of sessions.
type SessionObserver = Box<dyn Fn(&Session, SessionChange) + Send + Sync>;

/// The sessions of a process.
pub struct Sessions {
    clock: Arc<dyn Clock>,
    started: Timestamp,
    open: Mutex<OpenSessions>,
    observer: OnceLock<SessionObserver>,
}

#[derive(Default)]
struct OpenSessions {
    last: u32,
    opened: u64,
    dropped: u64,
    bad_hellos: u64,
    by_id: BTreeMap<SessionId, Arc<Session>>,
    /// Named sessions by their owner.
    by_owner: BTreeMap<String, SessionId>,
}

impl Sessions {
    /// No sessions yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            started: clock.now(),
            clock,
            open: Mutex::default(),
            observer: OnceLock::new(),
        }
    }

    /// Calls `observer` after each change of the list. There is one observer, the first.
    pub(crate) fn observe(&self, observer: SessionObserver) {
        let _ = self.observer.set(observer);
    }

    /// The clock.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    fn changed(&self, session: &Session, change: SessionChange) {
        if let Some(observer) = self.observer.get() {
            observer(session, change);
        }
    }

    fn all_changed(&self, sessions: &[Arc<Session>], change: SessionChange) {
        for session in sessions {
            self.changed(session, change);
        }
    }

    /// Opens a session; for a name that the same user has open over the same transport, returns that session. If there
    /// are too many, the idle ones are closed first.
    ///
    /// # Errors
    /// [`SessionError::TooMany`].
    pub fn open(&self, new: NewSession) -> Result<Arc<Session>, SessionError> {
        let owner = owner_of(&new.caller, &new.name);
        let now = self.clock.now();
        let mut open = self.open.lock();
        if new.kind == SessionKind::Named
            && let Some(session) = open.by_owner.get(&owner).and_then(|id| open.by_id.get(id))
            && session.caller == new.caller
            && session.transport == new.transport
        {
            return Ok(Arc::clone(session));
        }
        let idle = match open.by_id.len() >= SESSIONS_MAX {
            true => open.remove_idle(now),
            false => Vec::new(),
        };
        if open.by_id.len() >= SESSIONS_MAX {
            return Err(SessionError::TooMany);
        }
        let id = open.next_id();
        let session = Arc::new(Session::new(id, owner, new, now));
        if !session.owner.is_empty() {
            open.by_owner.insert(session.owner.clone(), id);
        }
        open.by_id.insert(id, Arc::clone(&session));
        open.opened += 1;
        drop(open);
        self.all_changed(&idle, SessionChange::Ended(TerminationReason::Timeout));
        self.changed(&session, SessionChange::Opened);
        Ok(session)
    }

    /// A session of one request, which is not in the list.
    pub fn unlisted(&self, new: NewSession) -> Arc<Session> {
        let owner = owner_of(&new.caller, &new.name);
        Arc::new(Session::new(SessionId(0), owner, new, self.clock.now()))
    }

    /// Closes a session.
    pub fn close(&self, id: SessionId) -> Option<Arc<Session>> {
        self.end(id, TerminationReason::Closed)
    }

    /// Closes a session for a reason.
    pub(crate) fn end(&self, id: SessionId, reason: TerminationReason) -> Option<Arc<Session>> {
        let session = {
            let mut open = self.open.lock();
            let session = open.remove(id)?;
            match reason {
                TerminationReason::Closed => {}
                TerminationReason::BadHello => open.bad_hellos += 1,
                TerminationReason::Killed
                | TerminationReason::Dropped
                | TerminationReason::Timeout => open.dropped += 1,
            }
            session
        };
        self.changed(&session, SessionChange::Ended(reason));
        Some(session)
    }

    /// Closes a session and rejects its further requests.
    pub fn kill(&self, id: SessionId) -> Option<Arc<Session>> {
        let session = {
            let mut open = self.open.lock();
            let session = open.remove(id)?;
            open.dropped += 1;
            session
        };
        session.is_killed.store(true, Ordering::Release);
        self.changed(&session, SessionChange::Ended(TerminationReason::Killed));
        Some(session)
    }

    /// A session.
    pub fn get(&self, id: SessionId) -> Option<Arc<Session>> {
        self.open.lock().by_id.get(&id).cloned()
    }

    /// The named session that owns locks and private candidates under this name ([`Session::owner`]).
    pub fn of_owner(&self, owner: &str) -> Option<Arc<Session>> {
        let open = self.open.lock();
        let id = open.by_owner.get(owner)?;
        open.by_id.get(id).cloned()
    }

    /// The numbers of sessions.
    pub fn totals(&self) -> SessionTotals {
        let open = self.open.lock();
        SessionTotals {
            started: self.started,
            opened: open.opened,
            dropped: open.dropped,
            bad_hellos: open.bad_hellos,
        }
    }

    /// The sessions, in the order of their numbers.
    pub fn list(&self) -> Vec<Arc<Session>> {
        self.open.lock().by_id.values().cloned().collect()
    }

    /// Closes the named sessions that have been idle for too long, and returns them.
    pub fn close_idle(&self) -> Vec<Arc<Session>> {
        let idle = self.open.lock().remove_idle(self.clock.now());
        self.all_changed(&idle, SessionChange::Ended(TerminationReason::Timeout));
        idle
    }
}

impl OpenSessions {
    /// The next free number.
    fn next_id(&mut self) -> SessionId {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            let id = SessionId(self.last);
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    fn remove_idle(&mut self, now: Timestamp) -> Vec<Arc<Session>> {
        let is_idle = |session: &&Arc<Session>| {
            session.kind == SessionKind::Named
                && now.since(session.last_request()) >= SESSION_IDLE_MAX
        };
        let idle = self.by_id.values().filter(is_idle);
        let idle: Vec<SessionId> = idle.map(|session| session.id).collect();
        let removed = idle.into_iter().filter_map(|id| self.remove(id));
        let removed: Vec<Arc<Session>> = removed.collect();
        self.dropped += removed.len() as u64;
        removed
    }

    fn remove(&mut self, id: SessionId) -> Option<Arc<Session>> {
        let session = self.by_id.remove(&id)?;
        if self.by_owner.get(&session.owner) == Some(&id) {
            self.by_owner.remove(&session.owner);
        }
        Some(session)
    }
}

/// The owner of the locks of a session: the user, then `/`, then the name. Different for different users: a `/` of the
/// user's name is escaped. Without a user, the name alone, if it has no `/`.
fn owner_of(caller: &Caller, name: &str) -> String {
    let is_plain = caller.user.is_empty() && !name.contains('/');
    match is_plain || name.is_empty() {
        true => name.to_owned(),
        false => {
            let user = caller.user.replace('%', "%25").replace('/', "%2F");
            format!("{user}/{name}")
        }
    }
}
