//! Opening schemas with the PostgreSQL driver: existing tables, access, and failures.
#![cfg(feature = "postgres")]

mod certificates;
mod opening;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_drivers::open;
use espalier_keyspace::{Batch, Driver, ErrorKind, Result};
use espalier_testkit::disk::{mount, mounted};
use espalier_testkit::servers::{Postgres, Signal, free_port};
use rand::RngCore;

use crate::certificates::{authority, certificate, self_signed};
use crate::opening::assert_refused;

fn put(driver: &dyn Driver, key: &str) -> Result<()> {
    let mut batch = Batch::new();
    batch.put(key, vec![7; 1000]);
    driver.commit(batch).map(drop)
}

/// The URL with something in it replaced.
fn with(url: &str, from: &str, to: &str) -> String {
    assert!(url.contains(from), "{url} has no {from}");
    url.replace(from, to)
}

#[test]
fn access_and_connection_errors() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    let wrong = with(&url, "p%40ss", "wrong");
    assert_refused(open(&wrong), ErrorKind::Denied, "password");
    let unknown_user = with(&url, "tester", "nobody_at_all");
    assert_refused(open(&unknown_user), ErrorKind::Denied, "nobody_at_all");
    let unknown_database = with(&url, "/postgres?", "/nothing?");
    assert_refused(open(&unknown_database), ErrorKind::Engine, "does not exist");
    let port = free_port();
    let absent = with(&url, &server.port().to_string(), &port.to_string());
    let start = Instant::now();
    assert_refused(open(&absent), ErrorKind::Unavailable, "cannot reach");
    assert!(start.elapsed() < Duration::from_secs(9));
    let unknown_host = with(&url, "127.0.0.1", "no.such.host.invalid");
    assert_refused(open(&unknown_host), ErrorKind::Unavailable, "cannot reach");
}

/// The error was only "db error", or that the server is not running.
#[test]
fn a_denied_login_is_reported_with_its_cause() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let url = server.url("");
    let bare = with(&url, ":p%40ss", "");
    assert_refused(open(&bare), ErrorKind::Denied, "requires the password");
    assert_refused(open(&bare), ErrorKind::Denied, "USER:PASSWORD@HOST");
    let wrong = with(&url, "p%40ss", "wrong");
    let cause = "password authentication failed for user \"tester\"";
    assert_refused(open(&wrong), ErrorKind::Denied, cause);
    server.run("CREATE ROLE shut_out LOGIN PASSWORD 'x'");
    server.run("CREATE DATABASE closed");
    server.run("REVOKE CONNECT ON DATABASE closed FROM PUBLIC");
    let closed = with(&url, "/postgres?", "/closed?");
    let guest = with(&closed, "tester:p%40ss", "shut_out:x");
    assert_refused(open(&guest), ErrorKind::Denied, "grant connect");
    server.run("ALTER DATABASE closed ALLOW_CONNECTIONS false");
    let cause = "not currently accepting connections";
    assert_refused(open(&closed), ErrorKind::Unavailable, cause);
    server.run("ALTER ROLE shut_out NOLOGIN");
    let guest = with(&url, "tester:p%40ss", "shut_out:x");
    assert_refused(open(&guest), ErrorKind::Denied, "not permitted to log in");
    server.put_file("pg_hba.conf", "host all tester all scram-sha-256\n");
    server.restart(Signal::Interrupt);
    assert_refused(open(&guest), ErrorKind::Denied, "no pg_hba.conf entry");
}

/// A server that accepts the connection and does not respond.
#[test]
fn a_server_without_responses_is_reported_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let start = Instant::now();
    let url = format!("postgres://a:b@127.0.0.1:{port}/c?connect_timeout=1&sslmode=disable");
    assert_refused(open(&url), ErrorKind::Unavailable, "127.0.0.1");
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn another_format_is_rejected() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("schema=later");
    put(&*open(&url).expect("opens"), "key").expect("a put");
    server.run("UPDATE later.state SET format = 9");
    assert_refused(open(&url), ErrorKind::WrongVersion, "format 9");
    server.run("UPDATE later.state SET format = 1");
    assert_eq!(open(&url).expect("opens").usage().expect("usage").keys, 1);
}

#[test]
fn foreign_tables_are_rejected_and_left_unchanged() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    server.run("CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.entries AS SELECT 5 AS mine");
    let url = server.url("schema=foreign_one");
    assert_refused(open(&url), ErrorKind::WrongVersion, "did not make");
    assert_eq!(server.run("SELECT mine FROM foreign_one.entries"), "5");
    server.run("CREATE SCHEMA foreign_two; CREATE TABLE foreign_two.state AS SELECT 5 AS mine");
    let url = server.url("schema=foreign_two");
    assert_refused(
        open(&url),
        ErrorKind::WrongVersion,
        "not as Espalier makes them",
    );
}

#[test]
fn a_read_only_server() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    let read_only = format!("{url}&options=-c%20default_transaction_read_only%3Don");
    assert_refused(open(&read_only), ErrorKind::ReadOnly, "read-only");
    put(&*open(&url).expect("opens"), "key").expect("a put");
    let driver = open(&read_only).expect("there is something to read");
    assert_refused(put(&*driver, "other"), ErrorKind::ReadOnly, "read-only");
    let refused = driver.write(&[], &mut |writer| writer.put(b"other", b""));
    assert_refused(refused, ErrorKind::ReadOnly, "read-only");
    let snapshot = driver.snapshot().expect("a snapshot");
    assert!(snapshot.get(b"key").expect("a get").is_some());
    assert!(snapshot.get(b"other").expect("a get").is_none());
}

#[test]
fn a_user_without_rights() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    server.run("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    let url = server.url("schema=walled");
    let guest = with(&url, "tester:p%40ss", "guest:guest");
    assert_refused(open(&guest), ErrorKind::Denied, "may not do this");
    drop(open(&url).expect("opens"));
    assert_refused(open(&guest), ErrorKind::Denied, "grant");
    server.run(
        "GRANT USAGE ON SCHEMA walled TO guest; GRANT ALL ON ALL TABLES IN SCHEMA walled TO guest",
    );
    put(&*open(&guest).expect("opens"), "key").expect("a put");
}

#[test]
fn too_many_snapshots_are_rejected_until_some_are_dropped() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let driver = open(&server.url("snapshots=3")).expect("opens");
    put(&*driver, "key").expect("a put");
    let mut held: Vec<_> = (0..3)
        .map(|_| driver.snapshot().expect("a snapshot"))
        .collect();
    assert_refused(driver.snapshot(), ErrorKind::Unavailable, "snapshots=");
    std::thread::scope(|scope| {
        let late = scope.spawn(|| driver.snapshot().map(drop));
        std::thread::sleep(Duration::from_millis(100));
        held.pop();
        late.join()
            .expect("a thread")
            .expect("it waited for a slot");
    });
    put(&*driver, "writers need no slot").expect("a put");
}

#[test]
fn a_server_without_connections_left() {
    let Some(server) = Postgres::start(&["max_connections=4", "superuser_reserved_connections=0"])
    else {
        return;
    };
    let driver = open(&server.url("")).expect("opens");
    let mut held = Vec::new();
    let refused = loop {
        match driver.snapshot() {
            Ok(snapshot) => held.push(snapshot),
            refused => break refused,
        }
    };
    assert_refused(refused, ErrorKind::Unavailable, "max_connections");
    drop(held);
    driver.snapshot().expect("there is space again");
}

#[test]
fn an_empty_schema_is_opened_concurrently() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let url = &url;
            scope.spawn(move || {
                let driver = open(url).expect("opens");
                put(&*driver, &format!("{thread}")).expect("a put");
            });
        }
    });
    assert_eq!(open(&url).expect("opens").usage().expect("usage").keys, 8);
}

#[test]
fn connections_use_tls_as_sslmode_requires() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let url = server.url("");
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (trusted, signer) = authority("trusted");
    fs::write(file("trusted"), trusted).expect("a file");
    fs::write(file("other"), authority("other").0).expect("a file");
    let open_with = |mode: &str, root: &str| -> Result<Arc<dyn Driver>> {
        open(&format!("{url}&sslmode={mode}&sslrootcert={}", file(root)))
    };
    assert_refused(
        open(&format!("{url}&sslmode=require")),
        ErrorKind::Denied,
        "turn ssl on there",
    );
    server.run("ALTER SYSTEM SET ssl = on");
    let serve = |years| {
        let (certificate, key) = certificate(&signer, years);
        server.put_file("server.crt", &certificate);
        server.put_file("server.key", &key);
        server.restart(Signal::Interrupt);
    };
    serve((2020, 2100));
    for mode in ["require", "verify-ca", "verify-full"] {
        let driver = open_with(mode, "trusted").expect("it is trusted");
        put(&*driver, "key").expect("a put");
        let other = open_with(mode, "other");
        assert_refused(
            other,
            ErrorKind::Denied,
            "name the authority with sslrootcert=FILE",
        );
    }
    let tls_connections = "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid <> pg_backend_pid()";
    let driver = open(&url).expect("it is preferred");
    assert_eq!(server.run(tls_connections), "1");
    drop(driver);
    let local = with(&url, "127.0.0.1", "localhost");
    let named = format!("{local}&sslrootcert={}", file("trusted"));
    assert_refused(
        open(&format!("{named}&sslmode=verify-full")),
        ErrorKind::Denied,
        "name the host as the certificate does",
    );
    open(&format!("{named}&sslmode=verify-ca")).expect("any name will do");
    assert_refused(
        open_with("verify-full", "missing"),
        ErrorKind::Denied,
        "missing",
    );
    for (years, advice) in [
        ((2020, 2021), "renew it there"),
        ((2090, 2100), "compare the clocks"),
    ] {
        serve(years);
        let refused = open_with("verify-full", "trusted");
        assert_refused(refused, ErrorKind::Denied, advice);
    }
    open(&format!("{url}&sslmode=require")).expect("nothing is verified");
}

/// The certificate may sign others, as `openssl req -x509` creates it.
#[test]
fn a_self_signed_server_certificate_is_accepted() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let url = server.url("");
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
    fs::write(file("other"), authority("other").0).expect("a file");
    let open_with = |mode: &str, root: &str| -> Result<Arc<dyn Driver>> {
        open(&format!("{url}&sslmode={mode}&sslrootcert={}", file(root)))
    };
    server.run("ALTER SYSTEM SET ssl = on");
    for (name, full) in [("127.0.0.1", true), ("other.example", false)] {
        let (certificate, key) = self_signed(name);
        fs::write(file("own"), &certificate).expect("a file");
        server.put_file("server.crt", &certificate);
        server.put_file("server.key", &key);
        server.restart(Signal::Interrupt);
        open_with("verify-ca", "own").expect("it is the one that is named");
        assert_eq!(open_with("verify-full", "own").is_ok(), full, "{name}");
        assert_refused(
            open_with("verify-ca", "other"),
            ErrorKind::Denied,
            "sslrootcert=FILE",
        );
    }
}

/// `pg_hba.conf` requires a certificate in addition to the password from some users, and instead of it from others.
#[test]
fn client_certificates_are_used() {
    const RULES: &str = "hostssl all tester all scram-sha-256 clientcert=verify-ca\n\
                         hostnossl all tester all scram-sha-256\n\
                         hostssl all all all cert\n";
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (trusted, signer) = authority("trusted");
    for (name, signer) in [("ours", &signer), ("others", &authority("other").1)] {
        let (certificate, key) = certificate(signer, (2020, 2100));
        fs::write(file(&format!("{name}.crt")), certificate).expect("a file");
        fs::write(file(&format!("{name}.key")), key).expect("a file");
    }
    // The certificates of tests are of "loopback".
    for user in ["loopback", "else"] {
        server.run(&format!("CREATE ROLE \"{user}\" LOGIN SUPERUSER"));
    }
    server.run("ALTER SYSTEM SET ssl = on");
    server.run("ALTER SYSTEM SET ssl_ca_file = 'trusted.crt'");
    let (certificate, key) = certificate(&signer, (2020, 2100));
    server.put_file("trusted.crt", &trusted);
    server.put_file("server.crt", &certificate);
    server.put_file("server.key", &key);
    server.put_file("pg_hba.conf", RULES);
    server.restart(Signal::Interrupt);
    let url = format!("{}&sslmode=require", server.url("schema=known"));
    let signed = |url: &str, name: &str| {
        let name = file(name);
        open(&format!("{url}&sslcert={name}.crt&sslkey={name}.key"))
    };
    let by = |user: &str| with(&url, "tester:p%40ss", user);
    put(&*signed(&url, "ours").expect("it is accepted"), "key").expect("a put");
    signed(&by("loopback"), "ours").expect("no password is required");
    let advice = "sslcert=FILE&sslkey=FILE";
    let others = signed(&url, "others");
    for refused in [
        others,
        open(&url),
        open(&by("loopback")),
        signed(&by("else"), "ours"),
    ] {
        assert_refused(refused, ErrorKind::Denied, advice);
    }
    let plain = with(&by("loopback"), "sslmode=require", "sslmode=disable");
    assert_refused(open(&plain), ErrorKind::Denied, "sslmode=require");
    let wrong = format!("{url}&sslcert={0}&sslkey={0}", file("ours.crt"));
    assert_refused(open(&wrong), ErrorKind::Denied, "ours.crt");
    assert_refused(signed(&url, "missing"), ErrorKind::Denied, "missing.crt");
}

/// The transaction of a rejected commit has ended when the next one starts.
#[test]
fn a_commit_succeeds_after_one_that_the_server_rejected() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let driver = open(&server.url("schema=refusing")).expect("opens");
    server.run("ALTER TABLE refusing.entries ADD CHECK (key <> 'bad')");
    for _ in 0..3 {
        assert_refused(
            put(&*driver, "bad"),
            ErrorKind::Engine,
            "refused a statement",
        );
        put(&*driver, "good").expect("nothing is wrong with it");
    }
}

/// The server's disk is full: the commit has no effect, and later ones succeed when there is space.
#[test]
fn a_full_disk_changes_nothing() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    mounted("size=8m,mode=777", |dir| {
        let path = dir.display();
        server.own(dir);
        server.run(&format!("CREATE TABLESPACE small LOCATION '{path}'"));
        server.run("ALTER DATABASE postgres SET default_tablespace = small");
        let driver = open(&server.url("schema=filled")).expect("opens");
        let mut committed = 0;
        let refused = loop {
            let mut batch = Batch::new();
            batch.add("count", 1);
            // Incompressible.
            let mut value = vec![0; 100_000];
            rand::rng().fill_bytes(&mut value);
            batch.put(format!("{committed}"), value);
            match driver.commit(batch) {
                Ok(_) => committed += 1,
                refused => break refused,
            }
            assert!(committed < 200, "the disk is never full");
        };
        assert_refused(refused, ErrorKind::Full, "full");
        let keys = || driver.usage().expect("usage").keys;
        assert_eq!(keys(), committed + 1);
        mount(dir, &["-o", "remount,size=16m"]);
        put(&*driver, "there is space again").expect("a put");
        assert_eq!(keys(), committed + 2);
        drop(driver);
        server.run("ALTER DATABASE postgres RESET default_tablespace");
        server.process().stop(Signal::Quit);
    });
}

/// A byte of a page has changed on the server's disk.
#[test]
fn a_damaged_page_is_reported() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let url = server.url("schema=damaged");
    let driver = open(&url).expect("opens");
    put(&*driver, "key").expect("a put");
    drop(driver);
    let file = server.run("SELECT pg_relation_filepath('damaged.entries')");
    server.process().stop(Signal::Interrupt);
    let path = server.process().dir().join("data").join(file);
    let mut bytes = fs::read(&path).expect("the table");
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).expect("the table");
    server.start_again();
    let driver = open(&url).expect("only the entries are damaged");
    let snapshot = driver.snapshot().expect("a snapshot");
    assert_refused(snapshot.get(b"key"), ErrorKind::Corrupt, "damaged");
    drop(snapshot);
    assert_ne!(driver.check().expect("a check"), []);
    bytes[last] ^= 1;
    drop(driver);
    server.process().stop(Signal::Interrupt);
    fs::write(&path, &bytes).expect("the table");
    server.start_again();
    let driver = open(&url).expect("opens");
    let snapshot = driver.snapshot().expect("a snapshot");
    assert!(snapshot.get(b"key").expect("it is restored").is_some());
}
