//! Serves SSH connections.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;
use russh::server::{Config, run_stream};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::config::config;
use super::handler::SshHandler;
use super::host_keys::HostKeys;
use crate::netconf::transport::closable_stream::ClosableStream;
use crate::netconf::transport::{Connection, NetworkTransport, SessionRunner, TransportContext};

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
        let config = Arc::clone(&self.config.read());
        let serve = async { run_stream(config, stream, handler).await?.await };
        let mut serve = std::pin::pin!(serve);
        let grace = sleep(self.context.limits().login_grace);
        let ended = tokio::select! {
            ended = &mut serve => ended,
            () = grace => {
                if !was_authenticated.load(Ordering::Acquire) {
                    tracing::info!(?peer, "an SSH client did not authenticate in time (login_grace)");
                    signal.close();
                }
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
