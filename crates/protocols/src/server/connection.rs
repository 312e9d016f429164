//! One connection: TLS handshake, HTTP version, requests, and shutdown.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use bytes::Bytes;
use espalier_service::Service;
use espalier_service::identity::Credentials;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Phase};
use super::authentication::ConnectionLogin;
use super::hosts::Hosts;
use super::requests::Requests;
use super::tracked_stream::TrackedStream;
use super::{Limits, Tls};

/// The first bytes of an HTTP/2 client (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The ALPN name of HTTP/2.
const ALPN_H2: &[u8] = b"h2";

/// How often a connection is checked within the shortest of its timeouts.
const CHECKS_PER_TIMEOUT: u32 = 4;

/// The first byte of a TLS handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

/// The response to a too long request line. hyper has none for a line that does not end.
const LINE_TOO_LONG: &[u8] = b"HTTP/1.1 414 URI Too Long\r\nconnection: close\r\n\
    content-type: text/plain\r\ncontent-length: 29\r\n\r\nthe request line is too long\n";

/// The response to a cleartext request on a TLS port.
const TLS_REQUIRED: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: text/plain\r\ncontent-length: 42\r\n\r\nthis port serves TLS: use an https:// URL\n";

/// The state that all connections share.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) router: Router,
    pub(super) hosts: Arc<Hosts>,
    pub(super) limits: Arc<Limits>,
    pub(super) tls: Option<Tls>,
    /// What authenticates clients; `None` if nothing does.
    pub(super) service: Option<Service>,
    pub(super) is_closing: watch::Receiver<bool>,
}

/// An accepted connection.
pub(super) enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The ends of a connection.
struct PeerOfStream {
    /// The server address that the client connected to.
    local: Option<IpAddr>,
    login: Option<Arc<ConnectionLogin>>,
}

/// The certificate that a client proved to have, if any.
fn certificate_of(stream: &TlsStream<TcpStream>) -> Credentials {
    match stream.get_ref().1.peer_certificates() {
        Some(chain) => Credentials::Certificate(chain.iter().map(|one| one.to_vec()).collect()),
        None => Credentials::None,
    }
}

/// The HTTP version of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpVersion {
    Http1,
    Http2,
}

/// How serving the requests of a connection ended.
enum ConnectionEnd {
    /// By the protocol: all responses are written; the client may still be sending.
    Answered,
    /// Reading or writing failed.
    Failed,
    /// The connection is closed without further response.
    Aborted,
}

impl Connections {
    /// Serves a connection until it ends or is evicted.
    pub(super) async fn serve(self, stream: Accepted, activity: Arc<Activity>) {
        let evicted = Arc::clone(&activity);
        let serve = async {
            match stream {
                Accepted::Tcp(stream) => self.serve_tcp(stream, activity).await,
                Accepted::Unix(stream) => self.serve_unix(stream, activity).await,
            }
        };
        tokio::select! {
            biased;
            () = evicted.evicted() => tracing::debug!("a connection was evicted"),
            end = serve => {
                if let Err(error) = end {
                    tracing::debug!(%error, "a connection ended early");
                }
            }
        }
    }

    async fn serve_unix(self, stream: UnixStream, activity: Arc<Activity>) -> io::Result<()> {
        let uid = stream.peer_cred()?.uid();
        let service = self.service.clone();
        let login = service.map(|service| Arc::new(ConnectionLogin::of_unix_socket(service, uid)));
        let peer = PeerOfStream { local: None, login };
        self.serve_requests(stream, None, peer, activity).await
    }

    async fn serve_tcp(mut self, stream: TcpStream, activity: Arc<Activity>) -> io::Result<()> {
        let _ = stream.set_nodelay(true);
        let local = stream.local_addr().ok();
        // An IPv6 socket that serves both versions has IPv4-mapped addresses.
        let local = local.map(|address| address.ip().to_canonical());
        let remote = stream.peer_addr()?.ip().to_canonical();
        let service = self.service.clone();
        let peer_with = |proven| PeerOfStream {
            local,
            login: service
                .map(|service| Arc::new(ConnectionLogin::of_address(service, remote, proven))),
        };
        let Some(tls) = self.tls.as_ref().map(Tls::config) else {
            let peer = peer_with(Credentials::None);
            return self.serve_requests(stream, None, peer, activity).await;
        };
        let hosts = Hosts::clone(&self.hosts).with_certificate(tls.certificate.clone());
        self.hosts = Arc::new(hosts);
        let tls = TlsAcceptor::from(Arc::clone(&tls.server));
        let handshake = async {
            let mut first = [0];
            if stream.peek(&mut first).await? == 1 && first[0] != TLS_HANDSHAKE {
                return Ok(Err(stream));
            }
            tls.accept(stream).await.map(Ok)
        };
        let mut is_closing = self.is_closing.clone();
        let handshake = tokio::select! {
            handshake = timeout(self.limits.handshake_timeout, handshake) => handshake,
            () = closing(&mut is_closing) => return Ok(()),
        };
        match handshake.map_err(|_| timed_out("the TLS handshake"))?? {
            Ok(stream) => {
                let is_h2 = stream.get_ref().1.alpn_protocol() == Some(ALPN_H2);
                let version = is_h2.then_some(HttpVersion::Http2);
                let peer = peer_with(certificate_of(&stream));
                self.serve_requests(stream, version, peer, activity).await
            }
            Err(mut stream) => {
                stream.write_all(TLS_REQUIRED).await?;
                self.linger(&mut stream).await;
                Ok(())
            }
        }
    }

    async fn serve_requests<S>(
        mut self,
        mut stream: S,
        negotiated: Option<HttpVersion>,
        peer: PeerOfStream,
        activity: Arc<Activity>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (version, start) = match negotiated {
            Some(version) => (version, Bytes::new()),
            None => {
                let deadline = Instant::now() + self.limits.header_timeout;
                let mut is_closing = self.is_closing.clone();
                let detected = tokio::select! {
                    detected = timeout_at(deadline, detect_version(&mut stream)) => detected,
                    () = closing(&mut is_closing) => return Ok(()),
                };
                detected.map_err(|_| timed_out("the first request"))??
            }
        };
        let line_max = self.limits.request_line_bytes_max;
        let stream = TrackedStream::new(stream, start, Arc::clone(&activity), line_max);
        let requests = Requests {
            router: self.router.clone(),
            hosts: Arc::clone(&self.hosts),
            limits: Arc::clone(&self.limits),
            activity: Arc::clone(&activity),
            local: peer.local,
            login: peer.login,
        };
        match version {
            HttpVersion::Http1 => {
                let builder = http1_builder(&self.limits);
                let mut connection = builder.serve_connection(TokioIo::new(stream), requests);
                let end = self.drive(&mut connection, &activity).await;
                let stream = connection.into_parts().io.into_inner();
                let is_line_too_long = stream.is_line_too_long();
                let mut stream = stream.into_stream();
                // In this case hyper fails. Otherwise, the bytes belonged to a body that it skipped.
                if is_line_too_long && matches!(end, ConnectionEnd::Failed) {
                    stream.write_all(LINE_TOO_LONG).await?;
                    self.linger(&mut stream).await;
                } else if let ConnectionEnd::Answered = end {
                    self.linger(&mut stream).await;
                }
            }
            HttpVersion::Http2 => {
                let builder = http2_builder(&self.limits);
                let connection = builder.serve_connection(TokioIo::new(stream), requests);
                self.drive(&mut Box::pin(connection), &activity).await;
            }
        }
        Ok(())
    }

    /// Runs a connection until it ends, is overdue, or the server shuts down and no request is in progress.
    async fn drive(
        &mut self,
        connection: &mut impl Connection,
        activity: &Activity,
    ) -> ConnectionEnd {
        let (mut closed_at, mut is_idle) = (None, false);
        loop {
            let due = self.next_check(activity, closed_at);
            tokio::select! {
                end = poll_fn(|cx| connection.poll(cx)) => return match end {
                    // Its responses were sent before the shutdown.
                    Ok(()) if is_idle => ConnectionEnd::Aborted,
                    Ok(()) => ConnectionEnd::Answered,
                    // hyper has written the error response.
                    Err(error) if error.is_parse() => ConnectionEnd::Answered,
                    Err(error) => {
                        tracing::debug!(%error, "a connection ended early");
                        ConnectionEnd::Failed
                    }
                },
                () = closing(&mut self.is_closing), if closed_at.is_none() => {
                    connection.shut_down();
                    is_idle = activity.snapshot().phase == Phase::Waiting;
                    closed_at = Some(Instant::now());
                }
                () = sleep_until(due) => {
                    if self.is_overdue(activity, closed_at) {
                        let phase = activity.snapshot().phase;
                        tracing::debug!(?phase, "a connection was closed by a timeout");
                        return ConnectionEnd::Aborted;
                    }
                }
            }
        }
    }

    /// The next time to check whether a connection is overdue.
    fn next_check(&self, activity: &Activity, closed_at: Option<Instant>) -> Instant {
        let (now, state) = (Instant::now(), activity.snapshot());
        let Limits {
            header_timeout,
            response_pause_max,
            shutdown_receive_timeout,
            ..
        } = *self.limits;
        match (closed_at, state.phase) {
            (Some(closed_at), _) if now < closed_at + shutdown_receive_timeout => {
                closed_at + shutdown_receive_timeout
            }
            (Some(_), _) => now + shutdown_receive_timeout,
            (None, phase) => {
                let at = match phase {
                    Phase::Waiting => state.since + header_timeout,
                    Phase::Sending => state.since + response_pause_max,
                    Phase::Receiving | Phase::Working => now + header_timeout,
                };
                // The phase may change in the meantime.
                at.min(now + header_timeout.min(response_pause_max) / CHECKS_PER_TIMEOUT)
            }
        }
    }

    fn is_overdue(&self, activity: &Activity, closed_at: Option<Instant>) -> bool {
        let state = activity.snapshot();
        let since = match (closed_at, state.phase) {
            (_, Phase::Working) => return false,
            // Bytes that trickle in do not delay the shutdown.
            (Some(closed_at), Phase::Receiving) => closed_at,
            // A client may still be reading the last response.
            (Some(closed_at), _) => state.since.max(closed_at),
            // Bodies have their own timeouts (`timed_body.rs`).
            (None, Phase::Receiving) => return false,
            (None, _) => state.since,
        };
        since.elapsed()
            >= match (closed_at, state.phase) {
                (Some(_), _) => self.limits.shutdown_receive_timeout,
                (None, Phase::Sending) => self.limits.response_pause_max,
                (None, _) => self.limits.header_timeout,
            }
    }

    /// Closes the sending half and discards incoming bytes, within limits. Closing a socket with unread
    /// bytes resets it, and the client may lose the response that it has not read yet.
    async fn linger<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: &mut S) {
        let linger = async {
            stream.shutdown().await?;
            let mut bytes_left = self.limits.linger_bytes_max;
            let mut buffer = vec![0; 16 * 1024];
            while bytes_left > 0 {
                let read = timeout(self.limits.linger_pause, stream.read(&mut buffer)).await??;
                if read == 0 {
                    break;
                }
                bytes_left = bytes_left.saturating_sub(read as u64);
            }
            Ok::<(), io::Error>(())
        };
        let linger = timeout(self.limits.linger_timeout, linger);
        let receive_timeout = self.limits.shutdown_receive_timeout;
        let ending = async {
            closing(&mut self.is_closing).await;
            tokio::time::sleep(receive_timeout).await;
        };
        tokio::select! {
            _ = linger => {}
            () = ending => {}
        }
    }
}

/// Completes when the server shuts down.
async fn closing(is_closing: &mut watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = is_closing.wait_for(|is_closing| *is_closing).await;
}

fn timed_out(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} took too long"))
}

/// Reads the bytes that determine the HTTP version, and returns them with it.
async fn detect_version<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(HttpVersion, Bytes)> {
    let mut start = [0; PREFACE.len()];
    let mut length = 0;
    while length < PREFACE.len() {
        let read = stream.read(&mut start[length..]).await?;
        length += read;
        if read == 0 || start[..length] != PREFACE[..length] {
            return Ok((HttpVersion::Http1, Bytes::copy_from_slice(&start[..length])));
        }
    }
    Ok((HttpVersion::Http2, Bytes::copy_from_slice(&start)))
}

/// Responses are flushed one by one: with `pipeline_flush`, hyper delays a response while bytes of another
/// request, or stray bytes, follow its request.
fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // [`Connections::drive`] has a timer for both versions.
        .header_read_timeout(None)
        // A client may close its sending half after the request and still read the response.
        .half_close(true)
        .max_headers(limits.headers_max)
        .max_buf_size(limits.header_bytes_max as usize);
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(limits.header_bytes_max)
        .max_concurrent_streams(limits.streams_max)
        .keep_alive_interval(limits.header_timeout)
        .keep_alive_timeout(limits.header_timeout);
    builder
}

// A close with unread bytes is a reset, which discards the response: docs/decisions/0052.
/// A connection of either version of HTTP.
trait Connection {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>>;

    /// Stops accepting requests.
    fn shut_down(&mut self);
}

impl<S> Connection for http1::Connection<TokioIo<TrackedStream<S>>, Requests>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        // [`Connections::linger`] shuts down the stream.
        self.poll_without_shutdown(cx)
    }

    fn shut_down(&mut self) {
        Pin::new(self).graceful_shutdown();
    }
}

type Http2<S> = http2::Connection<TokioIo<TrackedStream<S>>, Requests, TokioExecutor>;

impl<S> Connection for Pin<Box<Http2<S>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        Future::poll(self.as_mut(), cx)
    }

    fn shut_down(&mut self) {
        self.as_mut().graceful_shutdown();
    }
}
