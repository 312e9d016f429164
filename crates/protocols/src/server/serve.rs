//! Accepting connections and serving a router on each.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::server::Limits;

/// How long to wait after the system refused a connection (out of file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What each connection needs.
#[derive(Clone)]
struct Host {
    builder: Arc<auto::Builder<TokioExecutor>>,
    router: Router,
    tls: Option<TlsAcceptor>,
    handshake_timeout: Duration,
    is_closing: watch::Receiver<()>,
}

/// Serves `router` on `listener` until `shutdown` completes; then accepts no more, lets requests
/// under way finish, up to [`Limits::shutdown_timeout`], and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let permits_all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
    let (close, is_closing) = watch::channel(());
    let host = Host {
        builder: Arc::new(builder(&limits)),
        router,
        tls: tls.map(TlsAcceptor::from),
        handshake_timeout: limits.handshake_timeout,
        is_closing,
    };
    let mut shutdown = pin!(shutdown);
    loop {
        let permit = tokio::select! {
            () = &mut shutdown => break,
            permit = Arc::clone(&permits).acquire_owned() => permit.map_err(io::Error::other)?,
        };
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let host = host.clone();
                tokio::spawn(async move {
                    host.connection(stream).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = close.send(());
    let finished = timeout(limits.shutdown_timeout, permits.acquire_many(permits_all)).await;
    if finished.is_err() {
        tracing::warn!("requests were still under way when the time for shutdown ended");
    }
    Ok(())
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.headers_max)
        .max_buf_size(limits.header_bytes_max as usize)
        .pipeline_flush(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits.header_bytes_max)
        .max_concurrent_streams(limits.streams_max)
        .keep_alive_interval(limits.header_timeout)
        .keep_alive_timeout(limits.header_timeout);
    builder
}

impl Host {
    async fn connection(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let Some(tls) = self.tls.clone() else {
            return self.requests(stream).await;
        };
        match timeout(self.handshake_timeout, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.requests(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => tracing::debug!("the TLS handshake took too long"),
        }
    }

    async fn requests<S>(mut self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(self.router);
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            _ = self.is_closing.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
