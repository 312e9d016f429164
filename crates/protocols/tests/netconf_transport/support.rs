//! A server of sessions of lines.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use espalier_protocols::netconf::transport::ssh::{HostKeys, SshTransport};
use espalier_protocols::netconf::transport::tls::TlsTransport;
use espalier_protocols::netconf::transport::{
    NetworkTransport, TransportContext, TransportLimits, serve_listener,
};
use espalier_service::audit::{AuditEntry, AuditQuery};
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::identity::{Scheme, hash_password};
use espalier_service::session::Sessions;
use espalier_service::{AccessControl, LoginPolicy, Service};
use espalier_store::{CommitOptions, Edit, Store, SystemClock};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::pki::Pki;
use crate::session::Lines;

/// The password of `ann`.
pub const PASSWORD: &str = "correct horse";

/// How long tests wait for something that happens soon.
pub const SOON: Duration = Duration::from_secs(20);

/// A server, with a folder of the test. It ends when dropped; then nothing of it may remain.
pub struct Server {
    pub address: SocketAddr,
    pub context: TransportContext<Lines>,
    pub lines: Lines,
    pub service: Service,
    pub folder: TempDir,
    pub runtime: Runtime,
    /// The number of tasks without connections.
    tasks: usize,
}

/// The limits of tests: rejections take no time.
pub fn limits() -> TransportLimits {
    TransportLimits {
        rejection_time: Duration::ZERO,
        ..TransportLimits::default()
    }
}

/// Host keys that all tests share, as making an RSA key takes a second.
pub fn host_keys() -> &'static HostKeys {
    static KEYS: OnceLock<HostKeys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("netconf-host-keys");
        HostKeys::open(&folder).expect("host keys")
    })
}

/// The public key in a file of OpenSSH, as an entry of ietf-system.
pub fn authorized_key(file: &Path) -> Value {
    let text = fs::read_to_string(file).expect("a public key");
    let mut words = text.split_whitespace();
    let (algorithm, data) = (words.next().unwrap(), words.next().unwrap());
    STANDARD.decode(data).expect("base64");
    json!({"name": "key", "algorithm": algorithm, "key-data": data})
}

/// A service without users.
pub fn service_with(policy: LoginPolicy) -> Service {
    let driver = espalier_drivers::open("memory:").expect("a driver");
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    let (trees, sessions) = (
        ConfigurationTrees::new(store, None),
        Sessions::new(Arc::new(SystemClock)),
    );
    Service::new(trees, AccessControl::Rules, sessions, policy).expect("a service")
}

/// A service with `ann`, who has [`PASSWORD`], and `bob`, who has the public keys. Clients with certificates of the
/// authorities have their common names.
pub fn service(keys: &[Value], authorities: Vec<Vec<u8>>) -> Service {
    let service = service_with(LoginPolicy {
        authorities,
        ..LoginPolicy::default()
    });
    let hash = hash_password(PASSWORD, Scheme::Sha512).expect("a hash");
    let keys: Vec<Value> = keys.iter().enumerate().map(numbered).collect();
    configure(
        &service,
        &json!({"ietf-system:system": {"authentication": {
            "user-authentication-order": ["local-users"],
            "user": [
                {"name": "ann", "password": hash.as_str()},
                {"name": "bob", "authorized-key": keys},
            ],
        }}}),
    );
    service
}

fn numbered((number, key): (usize, &Value)) -> Value {
    let mut key = key.clone();
    key["name"] = json!(format!("key {number}"));
    key
}

/// Merges users into those of a service.
pub fn configure(service: &Service, document: &Value) {
    let system = service.configuration().for_writing("ietf-system");
    let system = system.expect("the server anchor");
    let document = json_document(system.schema(), &document.to_string());
    let edit = Edit::merge(InstancePath::root(), document);
    system
        .commit(&[edit], CommitOptions::default())
        .expect("users");
    service.accounts().refresh().expect("users");
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a key pair of OpenSSH.
pub fn key_pair(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let file = folder.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(options).args(["-q", "-N", "", "-f"]);
    run(command.arg(&file));
    file
}

/// Waits until something is true.
pub fn soon(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < SOON, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Server {
    /// A server over SSH.
    pub fn ssh(limits: TransportLimits) -> Self {
        Self::ssh_with_keys(limits, &[], tempfile::tempdir().expect("a folder"))
    }

    /// The same; `bob` has these keys.
    pub fn ssh_with_keys(limits: TransportLimits, keys: &[Value], folder: TempDir) -> Self {
        let mut server = Self::silent(service(keys, Vec::new()), limits, folder);
        let transport = SshTransport::new(server.context.clone(), host_keys());
        server.listen(transport);
        server
    }

    /// A server over TLS.
    pub fn tls(limits: TransportLimits, pki: &Pki, folder: TempDir) -> Self {
        let tls = pki.tls();
        let authorities = tls.client_authorities();
        let mut server = Self::silent(service(&[], authorities), limits, folder);
        let transport = TlsTransport::new(server.context.clone(), tls);
        server.listen(transport.expect("authorities"));
        server
    }

    /// A server that does not listen.
    pub fn silent(service: Service, limits: TransportLimits, folder: TempDir) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let lines = Lines::default();
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            context: TransportContext::new(service.clone(), lines.clone(), limits),
            lines,
            service,
            folder,
            runtime,
            tasks: 0,
        }
    }

    /// Listens on a port.
    pub fn listen(&mut self, transport: impl NetworkTransport) {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        self.address = listener.local_addr().expect("an address");
        self.spawn(serve_listener(listener, transport));
    }

    /// Runs a task until the server shuts down.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
        self.tasks += 1;
    }

    /// Waits until there is no session.
    pub fn assert_no_sessions(&self) {
        soon("sessions end", || self.context.sessions() == 0);
    }

    /// Waits until all connections and tasks have ended.
    pub fn assert_idle(&self) {
        let is_idle = || self.context.connections() == 0 && self.context.sessions() == 0;
        soon("connections end", is_idle);
        let metrics = self.runtime.metrics();
        soon("tasks end", || metrics.num_alive_tasks() <= self.tasks);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lines.release();
        self.runtime.block_on(self.context.shut_down());
        if !std::thread::panicking() {
            self.tasks = 0;
            self.assert_idle();
        }
    }
}

/// The audit records of a service, oldest first: operation, transport, address, user.
pub fn audit(service: &Service) -> Vec<String> {
    let log = service.audit().log().expect("the log");
    log.flush().expect("stored records");
    let page = log.query(&AuditQuery::default()).expect("a page");
    let mut records: Vec<_> = page
        .records
        .into_iter()
        .map(|record| record.entry)
        .collect();
    records.reverse();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let line = |entry: &AuditEntry| {
        let operation = entry.operation.name();
        let parts = [&entry.transport, &entry.peer, &entry.user].map(text);
        format!("{operation} {} {}", parts.join(" "), entry.message)
    };
    records.iter().map(line).collect()
}
