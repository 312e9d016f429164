//! Connects to a client, for ever.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use espalier_service::identity::Peer;
use espalier_store::Timestamp;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::client::{CallHomeClient, ConnectionType, Endpoint, Protocol};
use super::endpoint_order::EndpointOrder;
use crate::netconf::transport::closable_stream::CloseSignal;
use crate::netconf::transport::connections::ConnectionRefused;
use crate::netconf::transport::ssh::SshTransport;
use crate::netconf::transport::tcp_options::set_tcp_options;
use crate::netconf::transport::tls::TlsTransport;
use crate::netconf::transport::{NetworkTransport, SessionRunner, TransportContext};

/// The pause before a lost persistent connection is replaced.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// The transports by which the server calls its clients.
#[derive(Clone)]
pub struct CallHome<R> {
    context: TransportContext<R>,
    ssh: Option<SshTransport<R>>,
    tls: Option<TlsTransport<R>>,
}

/// A client that cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallHomeError {
    /// It has no endpoint.
    #[error("{0}: there is no endpoint")]
    NoEndpoint(String),
    /// The server has no transport of this protocol.
    #[error("{client}: the server has no {} to call home with", .protocol.name())]
    NoTransport {
        /// The client.
        client: String,
        /// The protocol.
        protocol: Protocol,
    },
}

/// Why a try has failed.
#[derive(Debug, thiserror::Error)]
enum FailedCall {
    #[error("it did not accept the connection in time (wait_max)")]
    Timeout,
    #[error(transparent)]
    Connect(#[from] io::Error),
    #[error(transparent)]
    Refused(#[from] ConnectionRefused),
    #[error("the client did not authenticate")]
    NotAuthenticated,
}

impl<R: SessionRunner> CallHome<R> {
    /// Call home over these transports.
    pub fn new(
        context: TransportContext<R>,
        ssh: Option<SshTransport<R>>,
        tls: Option<TlsTransport<R>>,
    ) -> Self {
        Self { context, ssh, tls }
    }

    /// Checks that a client can be called.
    ///
    /// # Errors
    /// It has no endpoint, or one with a protocol that the server does not have.
    pub fn check(&self, client: &CallHomeClient) -> Result<(), CallHomeError> {
        if client.endpoints.is_empty() {
            return Err(CallHomeError::NoEndpoint(client.name.clone()));
        }
        let has = |protocol| match protocol {
            Protocol::Ssh => self.ssh.is_some(),
            Protocol::Tls => self.tls.is_some(),
        };
        let mut protocols = client.endpoints.iter().map(|endpoint| endpoint.protocol);
        match protocols.find(|&protocol| !has(protocol)) {
            Some(protocol) => Err(CallHomeError::NoTransport {
                client: client.name.clone(),
                protocol,
            }),
            None => Ok(()),
        }
    }

    /// The transports for a client, with an end of idle sessions.
    fn of_client(&self, client: &CallHomeClient, idle_timeout: Option<Duration>) -> Self {
        let context = self.context.clone();
        let context = context.of_call_home_client(&client.name, idle_timeout);
        let (ssh, tls) = (self.ssh.as_ref(), self.tls.as_ref());
        Self {
            ssh: ssh.map(|ssh| ssh.with_context(context.clone())),
            tls: tls.map(|tls| tls.with_context(context.clone())),
            context,
        }
    }

    /// Connects to an endpoint and serves the connection until its end.
    async fn call(&self, endpoint: &Endpoint, wait_max: Duration) -> Result<(), FailedCall> {
        let connect = TcpStream::connect((&*endpoint.host, endpoint.port));
        let stream = timeout(wait_max, connect).await;
        let stream = stream.map_err(|_| FailedCall::Timeout)??;
        set_tcp_options(&stream, self.context.limits())?;
        let address = stream.peer_addr()?.ip().to_canonical();
        let connection = self.context.admit_connection(Peer::Address(address))?;
        let was_authenticated = connection.was_authenticated();
        // A client that is not called any more has no connection either.
        let _closes = CloseOnDrop(connection.signal().clone());
        match (endpoint.protocol, &self.ssh, &self.tls) {
            (Protocol::Ssh, Some(ssh), _) => ssh.serve_connection(stream, connection).await,
            (Protocol::Tls, _, Some(tls)) => tls.serve_connection(stream, connection).await,
            // `check` has found that there is a transport.
            _ => {}
        }
        match was_authenticated.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(FailedCall::NotAuthenticated),
        }
    }

    /// Tries the endpoints of a client until a session with one of them has ended.
    async fn call_until_connected(&self, client: &CallHomeClient, order: &mut EndpointOrder) {
        order.start(client);
        loop {
            let endpoint = &client.endpoints[order.current()];
            match self.call(endpoint, client.wait_max).await {
                Ok(()) => {
                    order.connected();
                    return;
                }
                Err(error) => {
                    let pause = order.failed(client);
                    let (name, host, port) = (&client.name, &endpoint.host, endpoint.port);
                    tracing::info!(
                        client = name, host, port, %error,
                        "call home failed; the next try is in {pause:?}"
                    );
                    sleep(pause).await;
                }
            }
        }
    }
}

/// Calls a client for which [`CallHome::check`] finds no error, until [`TransportContext::shut_down`].
pub async fn serve_call_home<R: SessionRunner>(call_home: CallHome<R>, client: CallHomeClient) {
    let closing = call_home.context.closing();
    tokio::select! {
        () = closing => {}
        () = call_for_ever(call_home, client) => {}
    }
}

/// Closes a connection when it is dropped.
struct CloseOnDrop(CloseSignal);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The clients that a server calls, which can be replaced while it runs.
pub struct CalledClients<R> {
    call_home: CallHome<R>,
    called: Mutex<Vec<(CallHomeClient, CloseSignal)>>,
}

impl<R: SessionRunner> CalledClients<R> {
    /// No clients yet.
    pub fn new(call_home: CallHome<R>) -> Self {
        Self {
            call_home,
            called: Mutex::default(),
        }
    }

    /// Calls these clients from now on, in tasks of the runtime that calls this. The connections of those that are not
    /// among them, or have other endpoints or times, are closed; those of all others are kept.
    ///
    /// # Errors
    /// That of [`CallHome::check`]. Then nothing was changed.
    pub fn replace(&self, clients: Vec<CallHomeClient>) -> Result<(), CallHomeError> {
        clients
            .iter()
            .try_for_each(|client| self.call_home.check(client))?;
        let mut called = self.called.lock();
        called.retain(|(client, stop)| {
            let is_kept = clients.contains(client);
            if !is_kept {
                stop.close();
            }
            is_kept
        });
        for client in clients {
            if called.iter().any(|(one, _)| *one == client) {
                continue;
            }
            let stop = CloseSignal::new();
            called.push((client.clone(), stop.clone()));
            let calls = serve_call_home(self.call_home.clone(), client);
            tokio::spawn(async move {
                tokio::select! {
                    () = calls => {}
                    () = stop.closed() => {}
                }
            });
        }
        Ok(())
    }
}

async fn call_for_ever<R: SessionRunner>(call_home: CallHome<R>, client: CallHomeClient) {
    let service = call_home.context.service().clone();
    let start = service.configuration().store().now();
    let mut order = EndpointOrder::new(&client);
    let (idle_timeout, schedule) = match client.connection_type {
        ConnectionType::Persistent => (None, None),
        ConnectionType::Periodic {
            period,
            anchor,
            idle_timeout,
        } => (idle_timeout, Some((anchor.unwrap_or(start), period))),
    };
    let call_home = call_home.of_client(&client, idle_timeout);
    let mut is_first = true;
    loop {
        match schedule {
            None if is_first => {}
            None => sleep(RECONNECT_PAUSE).await,
            Some((anchor, period)) => {
                let now = service.configuration().store().now();
                sleep(until_next(anchor, period, now, is_first)).await;
            }
        }
        is_first = false;
        call_home.call_until_connected(&client, &mut order).await;
    }
}

/// The time until the next connection of a period. A connection at the anchor itself is due at the first time only: the
/// end of a short one may be in the same millisecond.
fn until_next(anchor: Timestamp, period: Duration, now: Timestamp, is_first: bool) -> Duration {
    let period = u64::try_from(period.as_millis()).unwrap_or(u64::MAX).max(1);
    let offset = match now.0 >= anchor.0 {
        true => (now.0 - anchor.0) % period,
        // Before the anchor.
        false => (period - (anchor.0 - now.0) % period) % period,
    };
    match offset {
        0 if is_first => Duration::ZERO,
        offset => Duration::from_millis(period - offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_counted_from_the_anchor() {
        let until = |anchor, now, is_first| {
            let period = Duration::from_millis(100);
            until_next(Timestamp(anchor), period, Timestamp(now), is_first).as_millis()
        };
        assert_eq!(until(1000, 1000, true), 0);
        assert_eq!(until(1000, 1000, false), 100);
        assert_eq!(until(1000, 1030, true), 70);
        assert_eq!(until(1000, 1230, false), 70);
        assert_eq!(until(1000, 970, true), 30);
        assert_eq!(until(1000, 770, false), 30);
        assert_eq!(until(1000, 900, true), 0);
    }
}
