//! The servers: who is asked, as whom, and what happens when one does not answer.

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

use super::error::{engine_error, is_distrusted, is_passing, is_unknown_user};
use super::wire::{
    AuthenticateRequest, AuthenticateResponse, RangeRequest, RangeResponse, StatusRequest,
    StatusResponse, TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest, WatchResponse,
};
use crate::credentials::{Identity, Tls, read};
use crate::etcd::NAME;
use crate::etcd::config::Config;
use crate::file_verifier::FileVerifier;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// The longest that one server may take for one answer, before another is asked.
const ANSWER: Duration = Duration::from_secs(5);

/// The longest that one server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// How often a silent connection is tested.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How long to wait before asking again, at first and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// Bytes of one answer: a page of the largest cells.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// The oldest servers that have what is used.
const SERVER_VERSION_MIN: [u32; 2] = [3, 4];

const TXN: &str = "/etcdserverpb.KV/Txn";
const RANGE: &str = "/etcdserverpb.KV/Range";
const WATCH: &str = "/etcdserverpb.Watch/Watch";
const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";

/// How a server is asked whether it speaks TLS: HTTP/2 begins with its settings. RFC 9113 §3.4
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    advice_without_tls: "leave tls, ca, cert and key out",
    advice_with_tls: "add tls&ca=FILE to the URL",
};

type Token = MetadataValue<Ascii>;

/// The servers of an etcd, and the runtime that speaks with them.
pub(crate) struct Engine {
    runtime: Option<Runtime>,
    channels: Vec<Channel>,
    /// The one to ask.
    current: AtomicUsize,
    tls_probe: TlsProbe,
    pub(crate) place: String,
    pub(crate) timeout: Duration,
    pub(crate) operations: usize,
    login: Option<AuthenticateRequest>,
    token: RwLock<Option<Token>>,
}

/// Events as a server tells them.
pub(crate) type Watching = Streaming<WatchResponse>;

impl Engine {
    /// Connects to the first server that answers.
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
            place: config.servers.shown(),
            timeout: config.timeout,
            operations: config.operations,
            login,
            token: RwLock::new(None),
        };
        engine.check_version()?;
        Ok(engine)
    }

    fn check_version(&self) -> Result<()> {
        let status: StatusResponse = self.ask(STATUS, StatusRequest {})?;
        let mut numbers = status.version.split('.').map(|number| number.parse().ok());
        let version = numbers.next().flatten().zip(numbers.next().flatten());
        if version.is_some_and(|(major, minor)| [major, minor] < SERVER_VERSION_MIN) {
            let message = format!(
                "etcd at {} is version {}; it has to be 3.4 or later",
                self.place, status.version
            );
            return Err(Error::new(ErrorKind::WrongVersion, message));
        }
        Ok(())
    }

    /// Reads, on whichever server answers. The request may be made twice.
    pub(crate) fn range(&self, request: RangeRequest) -> Result<RangeResponse> {
        self.ask(RANGE, request)
    }

    /// Runs a transaction that may be made twice.
    pub(crate) fn read_txn(&self, request: TxnRequest) -> Result<TxnResponse> {
        self.ask(TXN, request)
    }

    /// Runs a transaction once. `Err` with `true` when it may have happened.
    pub(crate) fn txn_once(
        &self,
        request: TxnRequest,
    ) -> std::result::Result<TxnResponse, (Error, Certainty)> {
        let mut logged_in = false;
        let mut distrusted = 0;
        loop {
            let answer = self
                .log_in()
                .and_then(|()| self.call(TXN, request.clone(), ANSWER.max(self.timeout)));
            match answer {
                Ok(response) => return Ok(response),
                Err(status) if is_unknown_user(&status) && !logged_in => {
                    *self.token.write() = None;
                    logged_in = true;
                }
                Err(status) if self.may_trust_another(&status, &mut distrusted) => {}
                Err(status) => {
                    let certainty = match is_passing(&status) {
                        true => Certainty::Unknown,
                        false => Certainty::NotDone,
                    };
                    self.turn_away(&status);
                    return Err((engine_error(&self.place, &status), certainty));
                }
            }
        }
    }

    /// Asks until somebody answers, or the time is out.
    fn ask<Q, A>(&self, path: &'static str, request: Q) -> Result<A>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let deadline = Instant::now() + self.timeout;
        let mut wait = BACKOFF_MIN;
        let mut distrusted = 0;
        loop {
            let answer = self
                .log_in()
                .and_then(|()| self.call(path, request.clone(), ANSWER));
            let status = match answer {
                Ok(answer) => {
                    self.tls_probe.set_confirmed();
                    return Ok(answer);
                }
                Err(status) if self.may_trust_another(&status, &mut distrusted) => continue,
                Err(status) => status,
            };
            if self.tls_probe.is_undecided()
                && is_passing(&status)
                && let Some(mismatch) = self.tls_probe.mismatch()
            {
                return Err(mismatch);
            }
            let in_time = Instant::now() + wait < deadline;
            if is_unknown_user(&status) && in_time {
                *self.token.write() = None;
            } else if is_passing(&status) && in_time {
                self.turn_away(&status);
            } else {
                return Err(engine_error(&self.place, &status));
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(BACKOFF_MAX);
        }
    }

    /// Whether a server is not trusted, and another one is asked that may be.
    fn may_trust_another(&self, status: &Status, distrusted: &mut usize) -> bool {
        if !is_distrusted(status) {
            return false;
        }
        *distrusted += 1;
        self.turn_away(status);
        *distrusted < self.channels.len()
    }

    /// Asks another server from now on.
    pub(crate) fn turn_away(&self, status: &Status) {
        tracing::debug!(%status, "asking another etcd server");
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    /// Gets a token where a user is given and has none yet.
    fn log_in(&self) -> std::result::Result<(), Status> {
        let Some(login) = &self.login else {
            return Ok(());
        };
        if self.token.read().is_some() {
            return Ok(());
        }
        let answer: AuthenticateResponse = self.call(AUTHENTICATE, login.clone(), ANSWER)?;
        let token = answer.token.parse();
        let token = token.map_err(|_| Status::internal("etcd gives a token that is no text"))?;
        *self.token.write() = Some(token);
        Ok(())
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &*self.token.read() {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    fn grpc(&self) -> Grpc<Channel> {
        let current = self.current.load(Ordering::Relaxed) % self.channels.len();
        Grpc::new(self.channels[current].clone()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    fn call<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        patience: Duration,
    ) -> std::result::Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = self.request(message);
        request.set_timeout(patience);
        let mut grpc = self.grpc();
        self.wait_for(async move {
            let asked = async {
                grpc.ready().await.map_err(unreachable)?;
                let path = PathAndQuery::from_static(path);
                let codec: ProstCodec<Q, A> = ProstCodec::default();
                grpc.unary(request, path, codec).await
            };
            match tokio::time::timeout(patience, asked).await {
                Ok(answer) => answer.map(tonic::Response::into_inner),
                Err(_) => Err(Status::deadline_exceeded("etcd does not answer")),
            }
        })
    }

    /// Begins to watch.
    pub(crate) fn watch(
        &self,
        create: WatchCreateRequest,
    ) -> std::result::Result<Watching, Status> {
        self.log_in()?;
        let create = Some(create);
        let first = tokio_stream::once(WatchRequest { create });
        let request = self.request(first.chain(tokio_stream::pending()));
        let mut grpc = self.grpc();
        self.wait_for(async move {
            let asked = async {
                grpc.ready().await.map_err(unreachable)?;
                let path = PathAndQuery::from_static(WATCH);
                let codec: ProstCodec<WatchRequest, WatchResponse> = ProstCodec::default();
                grpc.streaming(request, path, codec).await
            };
            match tokio::time::timeout(ANSWER, asked).await {
                Ok(answer) => answer.map(tonic::Response::into_inner),
                Err(_) => Err(Status::deadline_exceeded("etcd does not answer")),
            }
        })
    }

    /// Waits for work that runs on the runtime: callers may be threads of a runtime of their own,
    /// which must not run another.
    pub(crate) fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = std::result::Result<T, Status>> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let ended = || Status::cancelled("the etcd driver has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn(async move {
            // Whoever asked has gone when nobody takes the answer.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| ended())?
    }

    pub(crate) fn error(&self, status: Status) -> Error {
        engine_error(&self.place, &status)
    }
}

/// Whether a transaction without an answer may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    NotDone,
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

fn unreachable(error: tonic::transport::Error) -> Status {
    let mut status = Status::unavailable(error.to_string());
    status.set_source(Arc::new(error));
    status
}

fn channels(config: &Config) -> Result<Vec<Channel>> {
    let wrong = |error: tonic::transport::Error| {
        Error::new(ErrorKind::Engine, "the etcd URL makes no sense").with_source(error)
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
                .connect_timeout(CONNECT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(KEEPALIVE)
                .keep_alive_timeout(KEEPALIVE);
            if let Some((tls, verifier)) = &tls {
                let secured = match verifier {
                    Some(verifier) => {
                        let verifier = Arc::clone(verifier) as Arc<dyn ServerCertVerifier>;
                        endpoint.tls_config_with_verifier(tls.clone(), verifier)
                    }
                    None => endpoint.tls_config(tls.clone()),
                };
                endpoint = secured.map_err(wrong)?;
            }
            Ok(endpoint.connect_lazy())
        })
        .collect()
}

/// How connections are secured, and who verifies the servers' certificates where that is not the system.
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
