//! What all sessions share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use espalier_service::access::Caller;
use espalier_service::session::Transport;
use espalier_service::{Anchor, Service};
use espalier_yang::Errors;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::limits::NetconfLimits;
use super::session;
use super::url::UrlAccess;
use crate::anchors::ServedAnchors;
use crate::intake::Intake;

/// The peer of a connection, as its transport found it.
#[derive(Clone, Debug)]
pub struct NetconfPeer {
    /// The user.
    pub caller: Caller,
    /// How the connection was made.
    pub transport: Transport,
    /// The address.
    pub address: String,
    /// The name of the client, if the server called it: it can be a receiver of configured subscriptions.
    pub call_home_client: Option<Arc<str>>,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// By `close-session`.
    Closed,
    /// By `kill-session`, or by an operator.
    Killed,
    /// The client closed the connection, or it was lost.
    Dropped,
    /// There were no requests, or not all of a message, for too long.
    Timeout,
    /// The first message was no `hello`, for this reason.
    BadHello(String),
    /// A message was not well-formed, for this reason.
    Malformed(String),
    /// The server ends.
    Shutdown,
    /// The server cannot open a session, for this reason.
    Refused(String),
}

/// A NETCONF server, without its transports. Cheap to clone.
#[derive(Clone)]
pub struct NetconfServer {
    pub(super) inner: Arc<Inner>,
}

/// The right to run an operation. The permits are those of semaphores that are never closed.
pub(super) struct OperationPermit {
    _of_user: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

pub(super) struct Inner {
    pub service: Service,
    pub(super) anchors: ServedAnchors,
    pub limits: NetconfLimits,
    pub urls: UrlAccess,
    pub intake: Intake,
    operations: Arc<Semaphore>,
    /// By user.
    operations_of: Mutex<BTreeMap<String, Weak<Semaphore>>>,
    is_ended: AtomicBool,
    ended: Notify,
}

impl NetconfServer {
    /// A server of the default anchor, without documents of URLs.
    pub fn new(anchors: ServedAnchors, limits: NetconfLimits) -> Self {
        Self::with_urls(anchors, limits, UrlAccess::default())
    }

    /// A server of the default anchor.
    pub fn with_urls(anchors: ServedAnchors, limits: NetconfLimits, urls: UrlAccess) -> Self {
        let operations = Arc::new(Semaphore::new(limits.operations_max));
        Self {
            inner: Arc::new(Inner {
                service: anchors.server().service().clone(),
                intake: anchors.server().intake().clone(),
                anchors,
                limits,
                urls,
                operations,
                operations_of: Mutex::default(),
                is_ended: AtomicBool::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Runs a session on a connection until it ends.
    pub async fn serve<C>(&self, connection: C, peer: NetconfPeer) -> SessionEnd
    where
        C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        session::run(&self.inner, connection, peer).await
    }

    /// Ends all sessions; no further one can start.
    pub fn end(&self) {
        self.inner.is_ended.store(true, Ordering::Release);
        self.inner.ended.notify_waiters();
    }
}

impl Inner {
    /// The anchor that is served, as it is now.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub fn anchor(&self) -> Result<Anchor, Errors> {
        let served = self.anchors.default_anchor();
        let served = served.map_err(|error| error.into_parts().1)?;
        Ok(served.anchor().clone())
    }

    /// Opens the anchor again if its modules were replaced by another process; false if they were not. A request that
    /// failed may have failed for that, and can be repeated.
    pub fn renew_anchor(&self) -> bool {
        self.anchors.renew_default()
    }

    /// Waits until a user may run an operation. It may run until the result is dropped.
    pub async fn operation_permit(&self, user: &str) -> OperationPermit {
        // Without users there is one limit.
        let of_user = match user.is_empty() {
            true => None,
            false => self.operations_of(user).acquire_owned().await.ok(),
        };
        let of_all = Arc::clone(&self.operations).acquire_owned().await.ok();
        OperationPermit {
            _of_user: of_user,
            _of_all: of_all,
        }
    }

    fn operations_of(&self, user: &str) -> Arc<Semaphore> {
        let mut of_users = self.operations_of.lock();
        if let Some(found) = of_users.get(user).and_then(Weak::upgrade) {
            return found;
        }
        of_users.retain(|_, one| one.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.limits.operations_of_user_max));
        of_users.insert(user.to_owned(), Arc::downgrade(&new));
        new
    }

    /// Completes when all sessions have to end.
    pub async fn ended(&self) {
        let ended = self.ended.notified();
        if !self.is_ended.load(Ordering::Acquire) {
            ended.await;
        }
    }
}
