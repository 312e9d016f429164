//! Serves SSH connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use russh::server::{Config, run_stream};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::config::config;
use super::handler::{RunningSessions, SshHandler};
use super::host_keys::HostKeys;
use crate::netconf::transport::closable_stream::ClosableStream;
use crate::netconf::transport::{Connection, NetworkTransport, SessionRunner, TransportContext};

/// How often it is looked whether a client has authenticated.
const AUTHENTICATION_CHECK: Duration = Duration::from_millis(500);

/// NETCONF over SSH. Clones share everything.
#[derive(Clone)]
pub struct SshTransport<R> {
    context: TransportContext<R>,
    config: Arc<RwLock<Arc<Config>>>,
}

impl<R: SessionRunner> SshTransport<R> {
    /// The transport of a server with these host keys.
    pub fn new(context: TransportContext<R>, keys: &HostKeys) -> Self {
        let config = Arc::new(config(keys, context.limits()));
        Self {
            context,
            config: Arc::new(RwLock::new(config)),
        }
    }

    /// Replaces the host keys for the connections that are accepted from now on.
    pub fn replace_keys(&self, keys: &HostKeys) {
        *self.config.write() = Arc::new(config(keys, self.context.limits()));
    }

    /// Completes when a connection must end, with the reason.
    async fn expiry(
        &self,
        was_authenticated: &AtomicBool,
        sessions: &RunningSessions,
    ) -> &'static str {
        let authenticated = async {
            while !was_authenticated.load(Ordering::Acquire) {
                sleep(AUTHENTICATION_CHECK).await;
            }
        };
        let grace = self.context.limits().login_grace;
        if timeout(grace, authenticated).await.is_err() {
            return "its client did not authenticate in time (login_grace)";
        }
        match self.context.idle_timeout() {
            Some(time) => sessions.absent_for(time).await,
            None => std::future::pending().await,
        }
        "it had no session for too long (idle-timeout)"
    }
}

impl<R: SessionRunner> NetworkTransport for SshTransport<R> {
    type Runner = R;

    fn context(&self) -> &TransportContext<R> {
        &self.context
    }

    fn with_context(&self, context: TransportContext<R>) -> Self {
        Self {
            context,
            config: Arc::clone(&self.config),
        }
    }

    async fn serve_connection(&self, stream: TcpStream, connection: Connection) {
        let (peer, signal) = (connection.peer(), connection.signal().clone());
        let stream = ClosableStream::new(stream, &signal);
        let was_authenticated = connection.was_authenticated();
        let handler = SshHandler::new(self.context.clone(), connection);
        let sessions = handler.sessions();
        let config = Arc::clone(&self.config.read());
        let serve = async { run_stream(config, stream, handler).await?.await };
        let mut serve = std::pin::pin!(serve);
        let ended = tokio::select! {
            ended = &mut serve => ended,
            reason = self.expiry(&was_authenticated, &sessions) => {
                tracing::info!(?peer, "an SSH connection is closed: {reason}");
                signal.close();
                serve.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(?peer, %error, "an SSH connection ended early");
        }
        // The sessions of its channels learn of its end.
        signal.close();
    }
}
