//! Connections to the servers: authentication, requests, and failover to another server.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Result};
use http::uri::PathAndQuery;
use parking_lot::RwLock;
use prost::Message;
use rustls::client::danger::ServerCertVerifier;
use tokio::runtime::Runtime;
use tokio_stream::StreamExt;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Identity as Pem};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::error::{engine_error, is_invalid_token, is_tls_failure, is_transient};
use super::wire::{
    AuthenticateRequest, AuthenticateResponse, RangeRequest, RangeResponse, StatusRequest,
    StatusResponse, TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse,
};
use crate::credentials::{Identity, Tls, read};
use crate::etcd::NAME;
use crate::etcd::config::Config;
use crate::file_verifier::FileVerifier;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// How long one server may take for one response, before another one is used.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long one server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How often an idle connection is tested, and how long the response may take.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// How long to wait before a retry, at first and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// Bytes of one response: a page of the largest cells.
const RESPONSE_BYTES_MAX: usize = 256 << 20;

/// The oldest supported server.
const SERVER_VERSION_MIN: [u32; 2] = [3, 4];

const TXN: &str = "/etcdserverpb.KV/Txn";
const RANGE: &str = "/etcdserverpb.KV/Range";
const WATCH: &str = "/etcdserverpb.Watch/Watch";
const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";

/// How to detect whether a server uses TLS: a plain one responds to the HTTP/2 preface. RFC 9113 §3.4
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    advice_without_tls: "leave tls, ca, cert and key out",
    advice_with_tls: "add tls&ca=FILE to the URL",
};

type Token = MetadataValue<Ascii>;

/// The servers of an etcd cluster, and the runtime of the connections to them.
pub(crate) struct Engine {
    runtime: Option<Runtime>,
    channels: Vec<Channel>,
    /// The server that requests go to, modulo the number of servers.
    current: AtomicUsize,
    tls_probe: TlsProbe,
    pub(crate) address: String,
    pub(crate) timeout: Duration,
    pub(crate) operations: usize,
    login: Option<AuthenticateRequest>,
    token: RwLock<Option<Token>>,
}

/// The stream of a watch.
pub(crate) type WatchStream = Streaming<WatchResponse>;

impl Engine {
    /// Connects to the first server that responds.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Engine, "cannot start a thread").with_source(error)
            })?;
        let channels = {
            let _runtime = runtime.enter();
            channels(config)?
        };
        let user = config.servers.user.clone();
        let password = config.servers.password.clone();
        let login = user.map(|name| AuthenticateRequest {
            name,
            password: password.unwrap_or_default(),
        });
        let engine = Self {
            runtime: Some(runtime),
            channels,
            current: AtomicUsize::new(0),
            tls_probe: TlsProbe::new(
                &config.servers,
                Protocol::of_options(config.tls.as_ref()),
                PROBE_OPTIONS,
            ),
            address: config.servers.shown(),
            timeout: config.timeout,
            operations: config.operations,
            login,
            token: RwLock::new(None),
        };
        engine.check_version()?;
        Ok(engine)
    }

    fn check_version(&self) -> Result<()> {
        let status: StatusResponse = self.request(STATUS, StatusRequest {})?;
        let mut numbers = status.version.split('.').map(|number| number.parse().ok());
        let version = numbers.next().flatten().zip(numbers.next().flatten());
        if version.is_some_and(|(major, minor)| [major, minor] < SERVER_VERSION_MIN) {
            let message = format!(
                "etcd at {} is version {}; the oldest supported version is 3.4",
                self.address, status.version
            );
            return Err(Error::new(ErrorKind::WrongVersion, message));
        }
        Ok(())
    }

    /// Reads from any server. The request may be sent more than once.
    pub(crate) fn range(&self, request: RangeRequest) -> Result<RangeResponse> {
        self.request(RANGE, request)
    }

    /// Runs a transaction that only reads. It may be sent more than once.
    pub(crate) fn read_txn(&self, request: TxnRequest) -> Result<TxnResponse> {
        self.request(TXN, request)
    }

    /// Runs a transaction at most once.
    pub(crate) fn txn_once(
        &self,
        request: TxnRequest,
    ) -> std::result::Result<TxnResponse, (Error, TxnOutcome)> {
        let mut is_login_renewed = false;
        let mut tls_failures = 0;
        loop {
            let response = self
                .log_in()
                .and_then(|()| self.call(TXN, request.clone(), REQUEST_TIMEOUT.max(self.timeout)));
            match response {
                Ok(response) => return Ok(response),
                Err(status) if is_invalid_token(&status) && !is_login_renewed => {
                    *self.token.write() = None;
                    is_login_renewed = true;
                }
                Err(status) if self.try_next_server(&status, &mut tls_failures) => {}
                Err(status) => {
                    let outcome = match is_transient(&status) {
                        true => TxnOutcome::Unknown,
                        false => TxnOutcome::NotApplied,
                    };
                    self.use_next_server(&status);
                    return Err((engine_error(&self.address, &status), outcome));
                }
            }
        }
    }

    /// Sends a request, with retries on all servers until the timeout.
    fn request<Q, A>(&self, path: &'static str, request: Q) -> Result<A>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let deadline = Instant::now() + self.timeout;
        let mut wait = BACKOFF_MIN;
        let mut tls_failures = 0;
        loop {
            let response = self
                .log_in()
                .and_then(|()| self.call(path, request.clone(), REQUEST_TIMEOUT));
            let status = match response {
                Ok(response) => {
                    self.tls_probe.set_confirmed();
                    return Ok(response);
                }
                Err(status) if self.try_next_server(&status, &mut tls_failures) => continue,
                Err(status) => status,
            };
            if self.tls_probe.is_undecided()
                && is_transient(&status)
                && let Some(mistake) = self.tls_probe.mismatch()
            {
                return Err(mistake);
            }
            let in_time = Instant::now() + wait < deadline;
            if is_invalid_token(&status) && in_time {
                *self.token.write() = None;
            } else if is_transient(&status) && in_time {
                self.use_next_server(&status);
            } else {
                return Err(engine_error(&self.address, &status));
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(BACKOFF_MAX);
        }
    }

    /// Whether the TLS handshake failed, and another server is left to try: uses that one from now on.
    fn try_next_server(&self, status: &Status, tls_failures: &mut usize) -> bool {
        if !is_tls_failure(status) {
            return false;
        }
        *tls_failures += 1;
        self.use_next_server(status);
        *tls_failures < self.channels.len()
    }

    /// Uses the next server from now on.
    pub(crate) fn use_next_server(&self, status: &Status) {
        tracing::debug!(%status, "switching to another etcd server");
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    /// Gets a token if a user is configured and has none yet.
    fn log_in(&self) -> std::result::Result<(), Status> {
        let Some(login) = &self.login else {
            return Ok(());
        };
        if self.token.read().is_some() {
            return Ok(());
        }
        let response: AuthenticateResponse =
            self.call(AUTHENTICATE, login.clone(), REQUEST_TIMEOUT)?;
        let token = response.token.parse();
        let token = token.map_err(|_| Status::internal("the token from etcd is not ASCII text"))?;
        *self.token.write() = Some(token);
        Ok(())
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &*self.token.read() {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    fn grpc(&self) -> Grpc<Channel> {
        let current = self.current.load(Ordering::Relaxed) % self.channels.len();
        Grpc::new(self.channels[current].clone()).max_decoding_message_size(RESPONSE_BYTES_MAX)
    }

    fn call<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        timeout: Duration,
    ) -> std::result::Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = self.with_token(message);
        request.set_timeout(timeout);
        let mut grpc = self.grpc();
        self.wait_for(async move {
            let call = async {
                grpc.ready().await.map_err(unavailable)?;
                let path = PathAndQuery::from_static(path);
                let codec: ProstCodec<Q, A> = ProstCodec::default();
                grpc.unary(request, path, codec).await
            };
            match tokio::time::timeout(timeout, call).await {
                Ok(response) => response.map(tonic::Response::into_inner),
                Err(_) => Err(Status::deadline_exceeded("etcd does not respond")),
            }
        })
    }

    /// Starts a watch.
    pub(crate) fn watch(
        &self,
        create: WatchCreateRequest,
    ) -> std::result::Result<WatchStream, Status> {
        self.log_in()?;
        let create = Some(create);
        let first = tokio_stream::once(WatchRequest { create });
        let request = self.with_token(first.chain(tokio_stream::pending()));
        let mut grpc = self.grpc();
        self.wait_for(async move {
            let call = async {
                grpc.ready().await.map_err(unavailable)?;
                let path = PathAndQuery::from_static(WATCH);
                let codec: ProstCodec<WatchRequest, WatchResponse> = ProstCodec::default();
                grpc.streaming(request, path, codec).await
            };
            match tokio::time::timeout(REQUEST_TIMEOUT, call).await {
                Ok(response) => response.map(tonic::Response::into_inner),
                Err(_) => Err(Status::deadline_exceeded("etcd does not respond")),
            }
        })
    }

    /// Runs a future on the runtime and waits for it: callers may be threads of another runtime, which
    /// must not run a second one.
    pub(crate) fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = std::result::Result<T, Status>> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let ended = || Status::cancelled("the etcd driver is closed");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn(async move {
            // An error means that the caller is gone.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| ended())?
    }

    pub(crate) fn error(&self, status: Status) -> Error {
        engine_error(&self.address, &status)
    }
}

/// Whether a transaction that failed may have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxnOutcome {
    NotApplied,
    Unknown,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would wait, which threads of another runtime must not.
            runtime.shutdown_background();
        }
    }
}

fn unavailable(error: tonic::transport::Error) -> Status {
    let mut status = Status::unavailable(error.to_string());
    status.set_source(Arc::new(error));
    status
}

fn channels(config: &Config) -> Result<Vec<Channel>> {
    let wrong = |error: tonic::transport::Error| {
        Error::new(ErrorKind::Engine, "the etcd URL is not valid").with_source(error)
    };
    let tls = config.tls.as_ref().map(tls).transpose()?;
    let hosts = config.servers.hosts.iter();
    hosts
        .map(|(host, port)| {
            let host = match host.contains(':') {
                true => format!("[{host}]"),
                false => host.clone(),
            };
            let scheme = if tls.is_some() { "https" } else { "http" };
            let endpoint = Endpoint::from_shared(format!("{scheme}://{host}:{port}"));
            let mut endpoint = endpoint
                .map_err(wrong)?
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
                .keep_alive_timeout(KEEPALIVE_INTERVAL);
            if let Some((tls, verifier)) = &tls {
                let with_tls = match verifier {
                    Some(verifier) => {
                        let verifier = Arc::clone(verifier) as Arc<dyn ServerCertVerifier>;
                        endpoint.tls_config_with_verifier(tls.clone(), verifier)
                    }
                    None => endpoint.tls_config(tls.clone()),
                };
                endpoint = with_tls.map_err(wrong)?;
            }
            Ok(endpoint.connect_lazy())
        })
        .collect()
}

/// The TLS configuration, and the verifier of server certificates if it is not the system's.
fn tls(tls: &Tls) -> Result<(ClientTlsConfig, Option<Arc<FileVerifier>>)> {
    let mut config = ClientTlsConfig::new();
    let verifier = match &tls.ca {
        Some(ca) => {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            Some(Arc::new(FileVerifier::of_file(ca, provider)?))
        }
        None => {
            config = config.with_enabled_roots();
            None
        }
    };
    if let Some(Identity { certificate, key }) = tls.identity(NAME)? {
        config = config.identity(Pem::from_pem(read(&certificate)?, read(&key)?));
    }
    Ok((config, verifier))
}
