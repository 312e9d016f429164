//! Drivers and servers that speak TLS: who is trusted, and what is said where nobody is.
#![cfg(any(feature = "redis", feature = "etcd"))]

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

#[cfg(feature = "redis")]
mod redis {
    use espalier_testkit::servers::{Redis, Signal, free_port};

    use super::{Files, check, check_clients};

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
}

#[cfg(feature = "etcd")]
mod etcd {
    use espalier_testkit::servers::{Etcd, Signal};

    use super::{Files, check, check_clients};

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
}
