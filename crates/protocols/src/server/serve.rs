//! Accepts connections and serves a router on each.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::connection::Connections;
use super::registry::Registry;
use super::{Hosts, Limits, Tls};

/// The delay after the system failed to accept a connection, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The configuration of a server.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// TLS; cleartext if absent.
    pub tls: Option<Tls>,
    /// The limits.
    pub limits: Limits,
    /// The hosts that requests may name, in addition to the listening address and the names of the
    /// certificate.
    pub hosts: Hosts,
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
    let mut hosts = config.hosts.with_address(listener.local_addr()?.ip());
    if let Some(tls) = &config.tls {
        hosts = hosts.with_certificate(tls.certificate.clone());
    }
    let connections = Connections {
        router,
        hosts: Arc::new(hosts),
        limits: Arc::new(config.limits),
        tls: config.tls.map(|tls| TlsAcceptor::from(tls.config)),
        is_closing,
    };
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
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
    drop(listener);
    let _ = close.send(true);
    if timeout(shutdown_timeout, registry.all_closed())
        .await
        .is_err()
    {
        tracing::warn!("requests were still in progress at the shutdown timeout");
    }
    Ok(())
}
