//! What all transports of a server share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use espalier_service::access::Caller;
use espalier_service::identity::Peer;
use espalier_service::{Door, Service};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep_until, timeout};

use super::closable_stream::{ClosableStream, CloseSignal};
use super::connections::{Connection, ConnectionRefused, Connections};
use super::limits::TransportLimits;
use super::session_runner::SessionRunner;
use super::session_slots::{SessionSlot, SessionSlots};
use super::session_stream::{LastTransfer, SessionStream};
use crate::netconf::NetconfPeer;

/// How long the end of a session may take to be sent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The service, the limits and the sessions of a server. Clones share them.
pub struct TransportContext<R> {
    shared: Arc<Shared<R>>,
    /// How long a session may transfer nothing; without limit if absent.
    idle_timeout: Option<Duration>,
    /// The name of the client that the server calls.
    call_home_client: Option<Arc<str>>,
}

struct Shared<R> {
    service: Service,
    runner: R,
    limits: TransportLimits,
    slots: Arc<SessionSlots>,
    connections: Arc<Connections>,
    closing: CloseSignal,
}

/// A session that may begin: it has a slot.
pub(super) struct AdmittedSession {
    slot: SessionSlot,
    peer: NetconfPeer,
}

impl<R> Clone for TransportContext<R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            idle_timeout: self.idle_timeout,
            call_home_client: self.call_home_client.clone(),
        }
    }
}

impl<R: SessionRunner> TransportContext<R> {
    /// The context of a server whose clients `service` authenticates and whose sessions `runner` runs.
    pub fn new(service: Service, runner: R, limits: TransportLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                service,
                runner,
                limits,
                slots: Arc::default(),
                connections: Arc::default(),
                closing: CloseSignal::new(),
            }),
            idle_timeout: None,
            call_home_client: None,
        }
    }

    /// The same for a client that the server calls, with an end of sessions that transfer nothing for this long.
    pub(super) fn of_call_home_client(
        mut self,
        name: &str,
        idle_timeout: Option<Duration>,
    ) -> Self {
        self.idle_timeout = idle_timeout;
        self.call_home_client = Some(name.into());
        self
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.shared.slots.len()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.len()
    }

    /// How long a session may transfer nothing, and a connection may be without a session.
    pub(super) fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout
    }

    pub(super) fn service(&self) -> &Service {
        &self.shared.service
    }

    pub(super) fn limits(&self) -> &TransportLimits {
        &self.shared.limits
    }

    /// Closes all connections, lets their sessions end, up to [`TransportLimits::shutdown_timeout`], and ends
    /// [`serve_listener`](super::serve_listener) and all others that accept or make connections.
    pub async fn shut_down(&self) {
        self.shared.closing.close();
        self.shared.connections.close_all();
        let ended = self.shared.connections.all_ended();
        if timeout(self.limits().shutdown_timeout, ended)
            .await
            .is_err()
        {
            tracing::warn!("NETCONF sessions were still open at the shutdown timeout");
        }
    }

    /// Completes when the server shuts down.
    pub(super) fn closing(&self) -> impl Future<Output = ()> + Send + use<R> {
        self.shared.closing.closed()
    }

    /// Admits a connection.
    ///
    /// # Errors
    /// There are too many.
    pub fn admit_connection(&self, peer: Peer) -> Result<Connection, ConnectionRefused> {
        let connection = self.shared.connections.admit(self.limits(), peer)?;
        if self.shared.closing.is_closed() {
            connection.signal().close();
        }
        Ok(connection)
    }

    /// Admits a session of an authenticated client; `None` if there are too many, which is logged: a client learns no
    /// reason before the hello.
    pub(super) fn admit_session(&self, caller: Caller, door: Door) -> Option<AdmittedSession> {
        let slots = &self.shared.slots;
        let slot = slots.acquire(self.limits(), &caller.user, door.peer);
        let slot = slot.inspect_err(|error| {
            let user = &caller.user;
            tracing::warn!(peer = ?door.peer, user, %error, "a NETCONF session was refused");
        });
        Some(AdmittedSession {
            slot: slot.ok()?,
            peer: NetconfPeer {
                caller,
                transport: door.transport,
                address: match door.peer {
                    Peer::Address(address) => address.to_string(),
                    Peer::Local => String::new(),
                },
                call_home_client: self.call_home_client.clone(),
            },
        })
    }

    /// Serves the only session of a connection, and ends its stream.
    pub(super) async fn serve_session<S>(
        &self,
        caller: Caller,
        door: Door,
        stream: S,
        connection: &Connection,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
    {
        let Some(session) = self.admit_session(caller, door) else {
            return;
        };
        let stream = self.run_session(session, stream, connection.signal());
        if let Some(mut stream) = stream.await {
            // An error or a timeout means that the client is gone.
            let _ = timeout(CLOSE_TIMEOUT, stream.shutdown()).await;
        }
        connection.signal().close();
    }

    /// Runs an admitted session on a stream that `signal` closes, and returns the stream afterwards; `None` if it is still
    /// being written to, because the client does not read.
    pub(super) async fn run_session<S>(
        &self,
        session: AdmittedSession,
        stream: S,
        signal: &CloseSignal,
    ) -> Option<ClosableStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
    {
        let last_transfer = self.idle_timeout.map(|_| LastTransfer::now());
        let stream = ClosableStream::new(stream, signal);
        let (stream, returned) = SessionStream::new(stream, last_transfer.clone());
        let AdmittedSession { slot, peer } = session;
        let run = self.shared.runner.run(stream, peer);
        match (self.idle_timeout, last_transfer) {
            (Some(idle_timeout), Some(last_transfer)) => {
                let mut run = std::pin::pin!(run);
                tokio::select! {
                    () = &mut run => {}
                    () = idle(&last_transfer, idle_timeout) => {
                        tracing::debug!("a session transferred nothing for {idle_timeout:?}");
                        signal.close();
                        run.await;
                    }
                }
            }
            _ => run.await,
        }
        drop(slot);
        timeout(CLOSE_TIMEOUT, returned).await.ok().flatten()
    }
}

/// Completes when nothing was transferred for this long.
async fn idle(last_transfer: &LastTransfer, idle_timeout: Duration) {
    loop {
        let end = last_transfer.instant() + idle_timeout;
        if end <= tokio::time::Instant::now() {
            return;
        }
        sleep_until(end).await;
    }
}
