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

/// How soon a server that is not trusted is refused: trying again is of no use.
const AT_ONCE: Duration = Duration::from_secs(5);

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
    assert_refused(open(url), ErrorKind::Engine, advice);
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

#[cfg(feature = "redis")]
mod redis {
    use espalier_testkit::servers::{Redis, Signal, free_port};

    use super::{Files, check, check_clients, check_speech};

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
    use std::thread;
    use std::time::{Duration, Instant};

    use espalier_drivers::open;
    use espalier_keyspace::{Batch, Driver, ErrorKind};
    use espalier_testkit::adding::sum;
    use espalier_testkit::servers::{Mongo, Proxy, Signal};

    use super::{AT_ONCE, Files, VALID, assert_refused, check, check_clients, check_speech};

    fn secured(files: &Files, more: &[&str]) -> Option<Mongo> {
        let certificate = format!("--listen-tls-cert-file={}", files.text("server.crt"));
        let key = format!("--listen-tls-key-file={}", files.text("server.key"));
        Mongo::start_with(&[&[certificate.as_str(), key.as_str()], more].concat())
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
        if let Some(mongo) = Mongo::start() {
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

    /// What the server refuses. That it lets somebody in cannot be tested here: FerretDB 1.24 ends SCRAM
    /// with one exchange more than the client has asked for, and than MongoDB has since 4.4.
    #[test]
    fn passwords_are_needed_and_tested() {
        let Some(mongo) = Mongo::start_with(&[
            "--test-enable-new-auth",
            "--setup-database=admin",
            "--setup-username=root",
            "--setup-password=p@ss",
        ]) else {
            return;
        };
        let url = mongo.url("");
        let with = |who: &str| url.replace("://", &format!("://{who}@"));
        let start = Instant::now();
        for (wrong, words) in [
            (&url, "requires authentication"),
            (&with("root:wrong"), "Authentication failed"),
            (&with("nobody:p%40ss"), "SCRAM failure"),
        ] {
            assert_refused(open(wrong), ErrorKind::Denied, "user and password");
            assert_refused(open(wrong), ErrorKind::Denied, words);
        }
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    }
}

#[cfg(feature = "etcd")]
mod etcd {
    use espalier_testkit::servers::{Etcd, Signal};

    use super::{Files, check, check_clients, check_speech};

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
