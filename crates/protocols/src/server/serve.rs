//! Accepts connections and serves a router on each.

use std::future::{Future, pending};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use espalier_service::Service;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::time::timeout;

use super::connection::{Accepted, Connections};
use super::registry::Registry;
use super::{Hosts, Limits, Tls};

/// The delay after the system failed to accept a connection, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The configuration of a server.
#[derive(Default)]
pub struct Config {
    /// TLS; cleartext if absent.
    pub tls: Option<Tls>,
    /// The limits.
    pub limits: Limits,
    /// The hosts that requests may name, in addition to the listening address and the names of the
    /// certificate.
    pub hosts: Hosts,
    /// What authenticates clients; if absent, all are served, and nobody is subject to access control.
    pub service: Option<Service>,
    /// Also serves this Unix socket, in cleartext.
    pub unix_socket: Option<UnixListener>,
}

/// Serves `router` on `listener` until `shutdown` completes. Then stops accepting, lets requests in
/// progress finish, up to [`Limits::shutdown_timeout`], and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let registry = Registry::new(config.limits.connections_max);
    let shutdown_timeout = config.limits.shutdown_timeout;
    let (close, is_closing) = watch::channel(false);
    let hosts = config.hosts.with_address(listener.local_addr()?.ip());
    let connections = Connections {
        router,
        hosts: Arc::new(hosts),
        limits: Arc::new(config.limits),
        tls: config.tls,
        service: config.service,
        is_closing,
    };
    let unix_socket = config.unix_socket;
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted.map(|(stream, _)| Accepted::Tcp(stream)),
            accepted = accept_unix(unix_socket.as_ref()) => accepted,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                registry.evict();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let slot = tokio::select! {
            () = &mut shutdown => break,
            slot = registry.acquire_slot() => slot,
        };
        let connections = connections.clone();
        tokio::spawn(async move {
            connections.serve(stream, Arc::clone(slot.activity())).await;
            drop(slot);
        });
    }
    drop((listener, unix_socket));
    let _ = close.send(true);
    if timeout(shutdown_timeout, registry.all_closed())
        .await
        .is_err()
    {
        tracing::warn!("requests were still in progress at the shutdown timeout");
    }
    Ok(())
}

/// The next connection to a Unix socket; never, if there is none.
async fn accept_unix(listener: Option<&UnixListener>) -> io::Result<Accepted> {
    match listener {
        Some(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
        None => pending().await,
    }
}
