//! Drivers and servers that speak TLS: who is trusted, and what is said where nobody is.
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

/// How soon a server that is not trusted is refused, as trying again is of no use: well before the driver gives up,
/// on a slow machine too.
const AT_ONCE: Duration = Duration::from_secs(60);

/// How long the driver would try.
const TRIED_MS: u32 = 180_000;

/// The same URL, with so much time.
fn patient(url: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}timeout_ms={TRIED_MS}")
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

/// `url` has nothing about certificates yet; `restart` has the server read its own again.
fn check(files: &Files, url: &str, restart: &dyn Fn()) {
    let url = patient(url);
    let start = Instant::now();
    let with = |ca: &str| format!("{url}&ca={}", files.text(ca));
    let trusted = with("ca");
    put(&*open(&trusted).expect("it is trusted"), "key");
    assert_refused(open(&with("other")), ErrorKind::Denied, "authority");
    assert_refused(open(&with("missing")), ErrorKind::Engine, "missing");
    let elsewhere = trusted.replace("127.0.0.1", "localhost");
    assert_refused(open(&elsewhere), ErrorKind::Denied, "another host");
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    let driver = open(&trusted).expect("it is trusted");
    for (years, part) in [((2020, 2021), "expired"), ((2090, 2100), "not valid yet")] {
        files.sign("server", years);
        restart();
        let start = Instant::now();
        assert_refused(open(&trusted), ErrorKind::Denied, part);
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
        // One that was open before says the same as soon as it connects again.
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

/// The server has a certificate that signs itself and may sign others, as `openssl req -x509` makes it.
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
fn self_signed(name: &str) -> Files {
    let files = Files::new();
    let (certificate, key) = certificates::self_signed(name);
    fs::write(files.path("server.crt"), &certificate).expect("a file");
    fs::write(files.path("server.key"), key).expect("a file");
    fs::write(files.path("own"), certificate).expect("a file");
    files
}

/// The server takes nobody without a certificate of `files`.
fn check_clients(files: &Files, url: &str) {
    let url = format!("{url}&ca={}", files.text("ca"));
    let with = |dir: &Path| {
        let (certificate, key) = (dir.join("client.crt"), dir.join("client.key"));
        format!("{url}&cert={}&key={}", certificate.display(), key.display())
    };
    put(&*open(&with(files.dir.path())).expect("it is known"), "key");
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

/// A server that is asked for TLS and has none, or has nothing else and is not asked for it.
fn check_speech(url: &str, advice: &str) {
    let start = Instant::now();
    assert_refused(open(&patient(url)), ErrorKind::Engine, advice);
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

#[cfg(feature = "redis")]
mod redis {
    use espalier_drivers::open;
    use espalier_keyspace::ErrorKind;
    use espalier_testkit::servers::{Redis, Signal, free_port};

    use super::{Files, check, check_clients, check_speech, self_signed};
    use crate::opening::assert_refused;

    /// Its client takes no verifier of ours: the error says what the server needs.
    #[test]
    fn a_certificate_that_may_sign_others_is_refused_with_what_to_do() {
        let files = self_signed("127.0.0.1");
        if let Some((_redis, url)) = secured(&files, "no") {
            let url = format!("{url}&ca={}", files.text("own"));
            assert_refused(open(&url), ErrorKind::Denied, "CA:FALSE");
        }
    }

    /// A server with a second port for TLS, and the URL there.
    fn secured(files: &Files, clients: &str) -> Option<(Redis, String)> {
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
    fn the_server_has_to_be_trusted() {
        let files = Files::new();
        if let Some((redis, url)) = secured(&files, "no") {
            check(&files, &url, &|| redis.restart(Signal::Terminate));
        }
    }

    #[test]
    fn clients_have_to_be_trusted() {
        let files = Files::new();
        if let Some((_redis, url)) = secured(&files, "yes") {
            check_clients(&files, &url);
        }
    }

    #[test]
    fn servers_without_tls_and_with_nothing_else_are_told_apart() {
        let files = Files::new();
        if let Some((redis, url)) = secured(&files, "no") {
            check_speech(&url.replace("rediss:", "redis:"), "write rediss://");
            let plain = redis.url("durability=relaxed");
            check_speech(&plain.replace("redis:", "rediss:"), "write redis://");
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
    use espalier_testkit::adding::sum;
    use espalier_testkit::servers::{Mongo, Proxy, Signal};
    use mongodb::bson::doc;

    use super::{AT_ONCE, Files, VALID, assert_refused, check, check_clients, check_speech, put};

    fn secured(files: &Files, more: &[&str]) -> Option<Mongo> {
        let certificate = format!("--listen-tls-cert-file={}", files.text("server.crt"));
        let key = format!("--listen-tls-key-file={}", files.text("server.key"));
        Mongo::start_ferretdb(&[&[certificate.as_str(), key.as_str()], more].concat())
    }

    /// MongoDB refuses to start with a certificate that is not valid now, so it is FerretDB that has such.
    #[test]
    fn mongodb_and_its_clients_have_to_be_trusted() {
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
        let known = format!("{url}&cert={certificate}&key={key}");
        put(&*open(&known).expect("it is known"), "key");
        // It ends the connection of who has none without a word.
        assert_refused(open(&url), ErrorKind::Unavailable, "cannot reach");
        drop(mongo);
        let anybody = "--tlsAllowConnectionsWithoutCertificates";
        let mongo = Mongo::start_with(&[&options[..], &[anybody]].concat()).expect("as before");
        let url = mongo.url("tls");
        let with = |ca: &str| format!("{url}&ca={}", files.text(ca));
        put(&*open(&with("ca")).expect("it is trusted"), "key");
        assert_refused(open(&with("other")), ErrorKind::Denied, "authority");
        check_speech(&mongo.url(""), "add tls&ca=FILE");
        if let Some(plain) = Mongo::start() {
            check_speech(&plain.url("tls"), "leave tls, ca, cert and key out");
        }
    }

    #[test]
    fn the_server_has_to_be_trusted() {
        let files = Files::new();
        if let Some(mongo) = secured(&files, &[]) {
            let restart = || mongo.restart(Signal::Terminate);
            check(&files, &mongo.url("tls"), &restart);
        }
    }

    #[test]
    fn clients_have_to_be_trusted() {
        let files = Files::new();
        let ca = format!("--listen-tls-ca-file={}", files.text("ca"));
        if let Some(mongo) = secured(&files, &[&ca]) {
            check_clients(&files, &mongo.url("tls"));
        }
    }

    #[test]
    fn servers_without_tls_and_with_nothing_else_are_told_apart() {
        let files = Files::new();
        if let Some(mongo) = secured(&files, &[]) {
            check_speech(&mongo.url(""), "add tls&ca=FILE");
        }
        if let Some(mongo) = Mongo::start_ferretdb(&[]) {
            check_speech(&mongo.url("tls"), "leave tls, ca, cert and key out");
        }
    }

    /// Answers are lost, and when the driver asks again, the server is not trusted any more: that is
    /// no answer to what was asked before. What was denied did not happen.
    #[test]
    fn what_was_asked_before_the_trust_was_lost_is_not_denied() {
        const DRIVERS: usize = 4;
        const ROUNDS: usize = 3;
        let files = Files::new();
        let Some(mongo) = secured(&files, &[]) else {
            return;
        };
        let proxy = Proxy::start(mongo.port());
        let url = mongo.url(&format!("tls&ca={}", files.text("ca")));
        let port = |port: u16| format!(":{port}/");
        let url = url.replace(&port(mongo.port()), &port(proxy.port()));
        let drivers = [(); DRIVERS].map(|()| open(&url).expect("it is trusted"));
        let (mut known, mut unknown) = (0, 0);
        for _ in 0..ROUNDS {
            let ends = thread::scope(|scope| {
                let adding = drivers
                    .each_ref()
                    .map(|it| scope.spawn(move || add_until_refused(&**it)));
                thread::sleep(Duration::from_millis(300));
                proxy.lose_answers();
                thread::sleep(Duration::from_millis(200));
                files.sign("server", (2020, 2021));
                mongo.restart(Signal::Kill);
                proxy.cut_after_requests();
                adding.map(|thread| thread.join().expect("an end"))
            });
            for (added, kind) in ends {
                known += added;
                unknown += i64::from(kind == ErrorKind::OutcomeUnknown);
            }
            files.sign("server", VALID);
            mongo.restart(Signal::Kill);
            let sum = sum(&*drivers[0]);
            assert!(
                known <= sum && sum <= known + unknown,
                "{sum} after {known} acknowledged and {unknown} unknown"
            );
        }
        assert_eq!(drivers[0].check().expect("a check"), []);
    }

    /// How many commits were acknowledged, and why the next was not.
    fn add_until_refused(driver: &dyn Driver) -> (i64, ErrorKind) {
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
        unreachable!("a server that is not trusted takes no commits")
    }

    fn as_user(url: &str, who: &str) -> String {
        url.replace("://", &format!("://{who}@"))
    }

    fn check_passwords(url: &str, words: [&str; 3]) {
        let start = Instant::now();
        let url = super::patient(url);
        let wrong = ["root:wrong", "nobody:p%40ss"].map(|who| as_user(&url, who));
        for (wrong, words) in [&url, &wrong[0], &wrong[1]].iter().zip(words) {
            assert_refused(open(wrong), ErrorKind::Denied, "user and password");
            assert_refused(open(wrong), ErrorKind::Denied, words);
        }
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    }

    /// That FerretDB lets somebody in cannot be tested: 1.24 ends SCRAM with one exchange more than the
    /// client has asked for, and than MongoDB has since 4.4.
    #[test]
    fn passwords_are_needed_and_tested_by_ferretdb() {
        if let Some(ferretdb) = Mongo::start_ferretdb(&[
            "--test-enable-new-auth",
            "--setup-database=admin",
            "--setup-username=root",
            "--setup-password=p@ss",
        ]) {
            let words = [
                "requires authentication",
                "Authentication failed",
                "SCRAM failure",
            ];
            check_passwords(&ferretdb.url(""), words);
        }
    }

    #[test]
    fn users_may_what_they_are_granted() {
        let Some(mongo) = Mongo::start_with(&["--auth"]) else {
            return;
        };
        // Who comes from the same machine may make the first user.
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
        let [writer, reader] = ["writer:p%40ss", "reader:p%40ss"].map(|who| as_user(&url, who));
        assert_refused(open(&reader), ErrorKind::Denied, "grant readWrite");
        put(&*open(&writer).expect("let in"), "key");
        let reader = open(&reader).expect("what is there can be read");
        assert_eq!(reader.usage().expect("usage").keys, 1);
        let mut batch = Batch::new();
        batch.put("key", "another");
        assert_refused(reader.commit(batch), ErrorKind::Denied, "grant readWrite");
        put(&*open(&writer).expect("let in"), "another");
        assert_eq!(reader.usage().expect("usage").keys, 2);
    }
}

#[cfg(feature = "etcd")]
mod etcd {
    use espalier_drivers::open;
    use espalier_keyspace::ErrorKind;
    use espalier_testkit::servers::{Etcd, Signal};

    use super::{Files, check, check_clients, check_speech, self_signed};
    use crate::opening::{assert_refused, put};

    #[test]
    fn a_certificate_that_may_sign_others_is_accepted_as_the_servers_own() {
        for (name, is_accepted) in [("127.0.0.1", true), ("other.example", false)] {
            let files = self_signed(name);
            let Some(etcd) = secured(&files, &[]) else {
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

    fn secured(files: &Files, clients: &[&str]) -> Option<Etcd> {
        let certificate = format!("--cert-file={}", files.text("server.crt"));
        let key = format!("--key-file={}", files.text("server.key"));
        Etcd::start_one(&[&[certificate.as_str(), key.as_str()], clients].concat())
    }

    #[test]
    fn the_server_has_to_be_trusted() {
        let files = Files::new();
        if let Some(etcd) = secured(&files, &[]) {
            check(&files, &etcd.url("tls"), &|| {
                etcd.restart(0, Signal::Terminate)
            });
        }
    }

    #[test]
    fn clients_have_to_be_trusted() {
        let files = Files::new();
        let ca = format!("--trusted-ca-file={}", files.text("ca"));
        if let Some(etcd) = secured(&files, &["--client-cert-auth", &ca]) {
            check_clients(&files, &etcd.url("tls"));
        }
    }

    #[test]
    fn servers_without_tls_and_with_nothing_else_are_told_apart() {
        let files = Files::new();
        if let Some(etcd) = secured(&files, &[]) {
            check_speech(&etcd.url(""), "add tls&ca=FILE");
        }
        if let Some(etcd) = Etcd::start_one(&[]) {
            check_speech(&etcd.url("tls"), "leave tls, ca, cert and key out");
        }
    }
}
