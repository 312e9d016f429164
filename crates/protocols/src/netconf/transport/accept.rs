//! Accepts TCP connections.

use std::future::Future;
use std::time::Duration;

use espalier_service::identity::Peer;
use tokio::net::{TcpListener, TcpStream};

use super::connections::Connection;
use super::context::TransportContext;
use super::session_runner::SessionRunner;
use super::tcp_options::set_tcp_options;

/// The delay after the system failed to accept a connection, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A transport over TCP: [`SshTransport`](super::ssh::SshTransport) or [`TlsTransport`](super::tls::TlsTransport).
pub trait NetworkTransport: Clone + Send + Sync + 'static {
    /// What runs the sessions.
    type Runner: SessionRunner;

    /// What this transport shares with the others of the server.
    fn context(&self) -> &TransportContext<Self::Runner>;

    /// The same transport with another context.
    fn with_context(&self, context: TransportContext<Self::Runner>) -> Self;

    /// Serves a connection, accepted or made by this server, until its last session has ended.
    fn serve_connection(
        &self,
        stream: TcpStream,
        connection: Connection,
    ) -> impl Future<Output = ()> + Send;
}

/// Serves the connections that a listener accepts, until [`TransportContext::shut_down`].
pub async fn serve_listener<T: NetworkTransport>(listener: TcpListener, transport: T) {
    let context = transport.context();
    let mut closing = std::pin::pin!(context.closing());
    loop {
        let accepted = tokio::select! {
            () = &mut closing => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // An IPv6 socket that serves both versions has IPv4-mapped addresses.
        match context.admit_connection(Peer::Address(address.ip().to_canonical())) {
            Ok(connection) => {
                if let Err(error) = set_tcp_options(&stream, context.limits()) {
                    tracing::debug!(%error, %address, "a connection ended early");
                    continue;
                }
                let transport = transport.clone();
                tokio::spawn(async move { transport.serve_connection(stream, connection).await });
            }
            Err(error) => tracing::info!(%error, %address, "a connection was refused"),
        }
    }
}
