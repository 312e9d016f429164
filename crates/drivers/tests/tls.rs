//! Drivers and servers with TLS: verification of certificates, and the errors if it fails.
#![cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]

mod certificates;
mod opening;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use espalier_drivers::open;
use espalier_keyspace::ErrorKind;
use rcgen::{Issuer, KeyPair};

use crate::certificates::{authority, certificate};
use crate::opening::{assert_refused, put};

/// The time in which a TLS failure has to be reported, as retries are of no use: well before the timeout of the driver,
/// also on a slow machine.
const PROMPT: Duration = Duration::from_secs(60);

/// The timeout of the driver.
const TIMEOUT_MS: u32 = 180_000;

/// The same URL with that timeout.
fn with_long_timeout(url: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}timeout_ms={TIMEOUT_MS}")
}

const VALID: (i32, i32) = (2020, 2100);

/// The files of a server and of its clients.
struct Files {
    dir: tempfile::TempDir,
    signer: Issuer<'static, KeyPair>,
}

impl Files {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (trusted, signer) = authority("trusted");
        let files = Self { dir, signer };
        fs::write(files.path("ca"), trusted).expect("a file");
        fs::write(files.path("other"), authority("other").0).expect("a file");
        files.sign("server", VALID);
        files.sign("client", VALID);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn sign(&self, name: &str, years: (i32, i32)) {
        let (certificate, key) = certificate(&self.signer, years);
        fs::write(self.path(&format!("{name}.crt")), certificate).expect("a file");
        fs::write(self.path(&format!("{name}.key")), key).expect("a file");
    }
}

/// `url` has no options of certificates yet; `restart` makes the server reload its certificate.
fn check(files: &Files, url: &str, restart: &dyn Fn()) {
    let url = with_long_timeout(url);
    let start = Instant::now();
    let with = |ca: &str| format!("{url}&ca={}", files.text(ca));
    let trusted = with("ca");
    put(&*open(&trusted).expect("it is trusted"), "key");
    assert_refused(open(&with("other")), ErrorKind::Denied, "authority");
    assert_refused(open(&with("missing")), ErrorKind::Engine, "missing");
    let elsewhere = trusted.replace("127.0.0.1", "localhost");
    assert_refused(open(&elsewhere), ErrorKind::Denied, "another host");
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
    let driver = open(&trusted).expect("it is trusted");
    for (years, part) in [((2020, 2021), "expired"), ((2090, 2100), "not valid yet")] {
        files.sign("server", years);
        restart();
        let start = Instant::now();
        assert_refused(open(&trusted), ErrorKind::Denied, part);
        assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
        // A driver that was open before reports the same when it reconnects.
        let refused = driver
            .snapshot()
            .and_then(|snapshot| snapshot.get(b"key").map(drop));
        assert_refused(refused, ErrorKind::Denied, part);
    }
    files.sign("server", VALID);
    restart();
    for driver in [driver, open(&trusted).expect("it is trusted again")] {
        assert_eq!(driver.usage().expect("usage").keys, 1);
        put(&*driver, "key");
    }
}

/// The server has a self-signed certificate that may sign others, as `openssl req -x509` creates it.
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
fn self_signed(name: &str) -> Files {
    let files = Files::new();
    let (certificate, key) = certificates::self_signed(name);
    fs::write(files.path("server.crt"), &certificate).expect("a file");
    fs::write(files.path("server.key"), key).expect("a file");
    fs::write(files.path("own"), certificate).expect("a file");
    files
}

/// The server requires client certificates of `files`.
fn check_clients(files: &Files, url: &str) {
    let url = format!("{url}&ca={}", files.text("ca"));
    let with = |dir: &Path| {
        let (certificate, key) = (dir.join("client.crt"), dir.join("client.key"));
        format!("{url}&cert={}&key={}", certificate.display(), key.display())
    };
    put(
        &*open(&with(files.dir.path())).expect("it is accepted"),
        "key",
    );
    assert_refused(open(&url), ErrorKind::Denied, "our certificate");
    let others = Files::new();
    assert_refused(
        open(&with(others.dir.path())),
        ErrorKind::Denied,
        "our certificate",
    );
    let half = format!("{url}&cert={}", files.text("client.crt"));
    assert_refused(open(&half), ErrorKind::Engine, "both or neither");
}

/// The URL requires TLS and the server has none, or the other way round.
fn check_tls_mismatch(url: &str, advice: &str) {
    let start = Instant::now();
    assert_refused(open(&with_long_timeout(url)), ErrorKind::Engine, advice);
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
}

#[cfg(feature = "redis")]
mod redis {
    use espalier_drivers::open;
    use espalier_keyspace::ErrorKind;
    use espalier_testkit::servers::{Redis, Signal, free_port};

    use super::{Files, check, check_clients, check_tls_mismatch, self_signed};
    use crate::opening::assert_refused;

    /// The client of the `redis` crate does not support a custom verifier: the error names what the server needs.
    #[test]
    fn a_certificate_that_may_sign_others_is_rejected_with_advice() {
        let files = self_signed("127.0.0.1");
        if let Some((_redis, url)) = start_with_tls(&files, "no") {
            let url = format!("{url}&ca={}", files.text("own"));
            assert_refused(open(&url), ErrorKind::Denied, "CA:FALSE");
        }
    }

    /// A server with a second port for TLS, and the URL of that port.
    fn start_with_tls(files: &Files, clients: &str) -> Option<(Redis, String)> {
        let port = free_port().to_string();
        let [certificate, key, ca] =
            ["server.crt", "server.key", "ca"].map(|name| files.text(name));
        let redis = Redis::start(&[
            "--appendonly",
            "yes",
            "--tls-port",
            &port,
            "--tls-auth-clients",
            clients,
            "--tls-cert-file",
            &certificate,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &ca,
        ])?;
        let url = redis.url("durability=relaxed");
        let url = url
            .replace("redis:", "rediss:")
            .replace(&redis.port().to_string(), &port);
        Some((redis, url))
    }

    #[test]
    fn the_server_certificate_is_verified() {
        let files = Files::new();
        if let Some((redis, url)) = start_with_tls(&files, "no") {
            check(&files, &url, &|| redis.restart(Signal::Terminate));
        }
    }

    #[test]
    fn client_certificates_are_verified() {
        let files = Files::new();
        if let Some((_redis, url)) = start_with_tls(&files, "yes") {
            check_clients(&files, &url);
        }
    }

    #[test]
    fn a_tls_mismatch_is_reported_with_advice() {
        let files = Files::new();
        if let Some((redis, url)) = start_with_tls(&files, "no") {
            check_tls_mismatch(&url.replace("rediss:", "redis:"), "write rediss://");
            let plain = redis.url("durability=relaxed");
            check_tls_mismatch(&plain.replace("redis:", "rediss:"), "write redis://");
        }
    }
}

#[cfg(feature = "mongo")]
mod mongo {
    use std::fs;
    use std::thread;
    use std::time::{Duration, Instant};

    use espalier_drivers::open;
    use espalier_keyspace::{Batch, Driver, ErrorKind};
    use espalier_testkit::servers::{Mongo, Proxy, Signal};
    use espalier_testkit::threads_on_counter::sum;
    use mongodb::bson::doc;

    use super::{
        Files, PROMPT, VALID, assert_refused, check, check_clients, check_tls_mismatch, put,
    };

    fn start_with_tls(files: &Files, more: &[&str]) -> Option<Mongo> {
        let certificate = format!("--listen-tls-cert-file={}", files.text("server.crt"));
        let key = format!("--listen-tls-key-file={}", files.text("server.key"));
        Mongo::start_ferretdb(&[&[certificate.as_str(), key.as_str()], more].concat())
    }

    /// MongoDB does not start with an expired certificate, so these are tested with FerretDB.
    #[test]
    fn certificates_of_mongodb_and_its_clients_are_verified() {
        let files = Files::new();
        let parts = ["server.crt", "server.key"].map(|name| fs::read(files.path(name)));
        let parts = parts.map(|part| part.expect("a file"));
        fs::write(files.path("server.pem"), parts.concat()).expect("a file");
        let identity = format!("--tlsCertificateKeyFile={}", files.text("server.pem"));
        let ca = format!("--tlsCAFile={}", files.text("ca"));
        let options = ["--tlsMode=requireTLS", &identity, &ca];
        let Some(mongo) = Mongo::start_with(&options) else {
            return;
        };
        let url = mongo.url(&format!("tls&timeout_ms=2000&ca={}", files.text("ca")));
        let [certificate, key] = ["client.crt", "client.key"].map(|name| files.text(name));
        let with_identity = format!("{url}&cert={certificate}&key={key}");
        put(&*open(&with_identity).expect("it is accepted"), "key");
        // The server closes a connection without a certificate, without a message.
        assert_refused(open(&url), ErrorKind::Unavailable, "cannot reach");
        drop(mongo);
        let optional = "--tlsAllowConnectionsWithoutCertificates";
        let mongo = Mongo::start_with(&[&options[..], &[optional]].concat()).expect("as before");
        let url = mongo.url("tls");
        let with = |ca: &str| format!("{url}&ca={}", files.text(ca));
        put(&*open(&with("ca")).expect("it is trusted"), "key");
        assert_refused(open(&with("other")), ErrorKind::Denied, "authority");
        check_tls_mismatch(&mongo.url(""), "add tls&ca=FILE");
        if let Some(plain) = Mongo::start() {
            check_tls_mismatch(&plain.url("tls"), "leave tls, ca, cert and key out");
        }
    }

    #[test]
    fn the_server_certificate_is_verified() {
        let files = Files::new();
        if let Some(mongo) = start_with_tls(&files, &[]) {
            let restart = || mongo.restart(Signal::Terminate);
            check(&files, &mongo.url("tls"), &restart);
        }
    }

    #[test]
    fn client_certificates_are_verified() {
        let files = Files::new();
        let ca = format!("--listen-tls-ca-file={}", files.text("ca"));
        if let Some(mongo) = start_with_tls(&files, &[&ca]) {
            check_clients(&files, &mongo.url("tls"));
        }
    }

    #[test]
    fn a_tls_mismatch_is_reported_with_advice() {
        let files = Files::new();
        if let Some(mongo) = start_with_tls(&files, &[]) {
            check_tls_mismatch(&mongo.url(""), "add tls&ca=FILE");
        }
        if let Some(mongo) = Mongo::start_ferretdb(&[]) {
            check_tls_mismatch(&mongo.url("tls"), "leave tls, ca, cert and key out");
        }
    }

    /// Responses are lost, and the retry fails as the server's certificate has expired: that is not the outcome of the
    /// first attempt. A commit that fails with `Denied` was not applied.
    #[test]
    fn a_request_from_before_a_tls_failure_is_not_denied() {
        const DRIVERS: usize = 4;
        const ROUNDS: usize = 3;
        let files = Files::new();
        let Some(mongo) = start_with_tls(&files, &[]) else {
            return;
        };
        let proxy = Proxy::start(mongo.port());
        let url = mongo.url(&format!("tls&ca={}", files.text("ca")));
        let port = |port: u16| format!(":{port}/");
        let url = url.replace(&port(mongo.port()), &port(proxy.port()));
        let drivers = [(); DRIVERS].map(|()| open(&url).expect("it is trusted"));
        let (mut acknowledged, mut unknown) = (0, 0);
        for _ in 0..ROUNDS {
            let ends = thread::scope(|scope| {
                let adding = drivers
                    .each_ref()
                    .map(|it| scope.spawn(move || add_until_error(&**it)));
                thread::sleep(Duration::from_millis(300));
                proxy.lose_answers();
                thread::sleep(Duration::from_millis(200));
                files.sign("server", (2020, 2021));
                mongo.restart(Signal::Kill);
                proxy.cut_after_requests();
                adding.map(|thread| thread.join().expect("an end"))
            });
            for (added, kind) in ends {
                acknowledged += added;
                unknown += i64::from(kind == ErrorKind::OutcomeUnknown);
            }
            files.sign("server", VALID);
            mongo.restart(Signal::Kill);
            let sum = sum(&*drivers[0]);
            assert!(
                acknowledged <= sum && sum <= acknowledged + unknown,
                "{sum} after {acknowledged} acknowledged and {unknown} unknown"
            );
        }
        assert_eq!(drivers[0].check().expect("a check"), []);
    }

    /// The number of acknowledged commits, and the error of the next one.
    fn add_until_error(driver: &dyn Driver) -> (i64, ErrorKind) {
        for added in 0.. {
            let mut batch = Batch::new();
            batch.add("sum", 1);
            match driver.commit(batch).map_err(|error| error.kind()) {
                Ok(_) => {}
                Err(kind @ (ErrorKind::Denied | ErrorKind::OutcomeUnknown)) => {
                    return (added, kind);
                }
                Err(kind) => panic!("{kind:?} after {added}"),
            }
        }
        unreachable!("commits fail without a valid certificate")
    }

    fn as_user(url: &str, user: &str) -> String {
        url.replace("://", &format!("://{user}@"))
    }

    fn check_passwords(url: &str, causes: [&str; 3]) {
        let start = Instant::now();
        let url = super::with_long_timeout(url);
        let wrong = ["root:wrong", "nobody:p%40ss"].map(|user| as_user(&url, user));
        for (wrong, cause) in [&url, &wrong[0], &wrong[1]].iter().zip(causes) {
            assert_refused(open(wrong), ErrorKind::Denied, "user and password");
            assert_refused(open(wrong), ErrorKind::Denied, cause);
        }
        assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
    }

    /// A successful login to FerretDB cannot be tested: 1.24 ends SCRAM with one exchange more than the client
    /// requests, and than MongoDB has since 4.4.
    #[test]
    fn ferretdb_requires_and_checks_passwords() {
        if let Some(ferretdb) = Mongo::start_ferretdb(&[
            "--test-enable-new-auth",
            "--setup-database=admin",
            "--setup-username=root",
            "--setup-password=p@ss",
        ]) {
            let causes = [
                "requires authentication",
                "Authentication failed",
                "SCRAM failure",
            ];
            check_passwords(&ferretdb.url(""), causes);
        }
    }

    #[test]
    fn users_have_the_granted_permissions() {
        let Some(mongo) = Mongo::start_with(&["--auth"]) else {
            return;
        };
        // A local connection may create the first user without a login.
        let root = doc! { "createUser": "root", "pwd": "p@ss", "roles": ["root"] };
        mongo.run("admin", &root.to_string());
        let url = mongo.url("");
        let failed = "Authentication failed";
        check_passwords(&url, ["requires authentication", failed, failed]);
        let database = Mongo::database(&url);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let admin = as_user(&url, "root:p%40ss").replace(database, "admin");
            let client = mongodb::Client::with_uri_str(&admin).await.expect("a URL");
            for (user, role) in [("writer", "readWrite"), ("reader", "read")] {
                let roles = vec![doc! { "role": role, "db": database }];
                let create = doc! { "createUser": user, "pwd": "p@ss", "roles": roles };
                let created = client.database("admin").run_command(create).await;
                created.expect("a user");
            }
        });
        let [writer, reader] = ["writer:p%40ss", "reader:p%40ss"].map(|user| as_user(&url, user));
        assert_refused(open(&reader), ErrorKind::Denied, "grant readWrite");
        put(&*open(&writer).expect("accepted"), "key");
        let reader = open(&reader).expect("reads are permitted");
        assert_eq!(reader.usage().expect("usage").keys, 1);
        let mut batch = Batch::new();
        batch.put("key", "another");
        assert_refused(reader.commit(batch), ErrorKind::Denied, "grant readWrite");
        put(&*open(&writer).expect("accepted"), "another");
        assert_eq!(reader.usage().expect("usage").keys, 2);
    }
}

#[cfg(feature = "etcd")]
mod etcd {
    use espalier_drivers::open;
    use espalier_keyspace::ErrorKind;
    use espalier_testkit::servers::{Etcd, Signal};

    use super::{Files, check, check_clients, check_tls_mismatch, self_signed};
    use crate::opening::{assert_refused, put};

    #[test]
    fn a_self_signed_certificate_that_may_sign_others_is_accepted() {
        for (name, is_accepted) in [("127.0.0.1", true), ("other.example", false)] {
            let files = self_signed(name);
            let Some(etcd) = start_with_tls(&files, &[]) else {
                return;
            };
            let with = |file: &str| etcd.url(&format!("tls&ca={}", files.text(file)));
            match is_accepted {
                true => put(&*open(&with("own")).expect("it is trusted"), "key"),
                false => assert_refused(open(&with("own")), ErrorKind::Denied, "another host"),
            }
            assert_refused(open(&with("ca")), ErrorKind::Denied, "authority");
        }
    }

    fn start_with_tls(files: &Files, clients: &[&str]) -> Option<Etcd> {
        let certificate = format!("--cert-file={}", files.text("server.crt"));
        let key = format!("--key-file={}", files.text("server.key"));
        Etcd::start_one(&[&[certificate.as_str(), key.as_str()], clients].concat())
    }

    #[test]
    fn the_server_certificate_is_verified() {
        let files = Files::new();
        if let Some(etcd) = start_with_tls(&files, &[]) {
            check(&files, &etcd.url("tls"), &|| {
                etcd.restart(0, Signal::Terminate)
            });
        }
    }

    #[test]
    fn client_certificates_are_verified() {
        let files = Files::new();
        let ca = format!("--trusted-ca-file={}", files.text("ca"));
        if let Some(etcd) = start_with_tls(&files, &["--client-cert-auth", &ca]) {
            check_clients(&files, &etcd.url("tls"));
        }
    }

    #[test]
    fn a_tls_mismatch_is_reported_with_advice() {
        let files = Files::new();
        if let Some(etcd) = start_with_tls(&files, &[]) {
            check_tls_mismatch(&etcd.url(""), "add tls&ca=FILE");
        }
        if let Some(etcd) = Etcd::start_one(&[]) {
            check_tls_mismatch(&etcd.url("tls"), "leave tls, ca, cert and key out");
        }
    }
}
