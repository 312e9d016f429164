//! Serves TLS connections.

use espalier_service::Door;
use espalier_service::access::Caller;
use espalier_service::identity::Credentials;
use espalier_service::session::Transport;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::config::config;
use super::failed_check::FailedCheck;
use crate::netconf::transport::closable_stream::ClosableStream;
use crate::netconf::transport::login::log_in;
use crate::netconf::transport::{Connection, NetworkTransport, SessionRunner, TransportContext};
use crate::server::Tls;

/// NETCONF over TLS. Clones share everything.
#[derive(Clone)]
pub struct TlsTransport<R> {
    context: TransportContext<R>,
    tls: Tls,
}

impl<R: SessionRunner> TlsTransport<R> {
    /// The transport of a server with this certificate; `None` if it has no authorities of client certificates, as every
    /// client must have one (RFC 7589 §4).
    pub fn new(context: TransportContext<R>, tls: Tls) -> Option<Self> {
        config(&tls, context.service())?;
        Some(Self { context, tls })
    }

    /// Completes the handshake, and finds the user of the client's certificate.
    async fn log_in(
        &self,
        stream: ClosableStream<TcpStream>,
        door: Door,
        connection: &Connection,
    ) -> Option<(Caller, TlsStream<ClosableStream<TcpStream>>)> {
        let config = config(&self.tls, self.context.service())?;
        let handshake = TlsAcceptor::from(config).accept(stream);
        let stream = match timeout(self.context.limits().login_grace, handshake).await {
            Ok(accepted) => accepted.map_err(FailedCheck::of),
            Err(_) => Err(FailedCheck::Timeout),
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                self.record_failure(door, error).await;
                return None;
            }
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let chain = chain.iter().map(|certificate| certificate.to_vec());
        let credentials = Credentials::Certificate(chain.collect());
        let caller = log_in(self.context.service(), credentials, door, connection).await?;
        Some((caller, stream))
    }

    /// Logs which check failed, and adds it to the audit log.
    async fn record_failure(&self, door: Door, error: FailedCheck) {
        tracing::info!(peer = ?door.peer, %error, "a TLS handshake failed");
        if error.is_recorded() {
            let service = self.context.service().clone();
            let record = move || service.record_failed_handshake(door, &error);
            if let Err(error) = tokio::task::spawn_blocking(record).await {
                tracing::error!(%error, "an audit record ended early");
            }
        }
    }
}

impl<R: SessionRunner> NetworkTransport for TlsTransport<R> {
    type Runner = R;

    fn context(&self) -> &TransportContext<R> {
        &self.context
    }

    fn with_context(&self, context: TransportContext<R>) -> Self {
        Self {
            context,
            tls: self.tls.clone(),
        }
    }

    async fn serve_connection(&self, stream: TcpStream, connection: Connection) {
        let door = Door {
            transport: Transport::NetconfTls,
            peer: connection.peer(),
        };
        let stream = ClosableStream::new(stream, connection.signal());
        let Some((caller, stream)) = self.log_in(stream, door, &connection).await else {
            return;
        };
        let session = self
            .context
            .serve_session(caller, door, stream, &connection);
        session.await;
    }
}
