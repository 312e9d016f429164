//! `serve` beside RESTCONF: health, metrics, signals.

use std::thread;
use std::time::{Duration, Instant};

use crate::documents::store;
use crate::engines::servers_under;
use crate::process::{Bench, Server};

#[test]
fn health_and_metrics_are_served() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    assert_eq!(server.request("GET", "/healthz", None).body, "ok\n");
    server.request("GET", "/restconf/data", None);
    let metrics = server.request("GET", "/metrics", None);
    assert_eq!(metrics.status, 200);
    for name in ["# TYPE", "espalier_validation_fallbacks_total 0"] {
        assert!(metrics.body.contains(name), "{}", metrics.body);
    }
}

#[test]
fn a_signal_ends_it_well_and_the_store_is_sound() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    assert_eq!(server.request("GET", "/restconf/data", None).status, 200);
    assert_eq!(server.terminate(), Some(0));
    bench.run(&[&["check"], &access[..]].concat()).ok();
}

#[test]
fn an_address_in_use_is_told() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    let address = server.url.trim_start_matches("http://").to_owned();
    let said = bench
        .run(&[&["serve", "--listen", &address], &access[..]].concat())
        .failed(1);
    assert!(said.contains("--listen"), "{said}");
}

#[test]
fn tls_is_served_and_spoken() {
    let (bench, access) = store();
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    bench.write("cert.pem", made.cert.pem());
    bench.write("key.pem", made.signing_key.serialize_pem());
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let server = bench.serve(&[&tls, &access[..]].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    let direct = bench.run(&[&["export"], &access[..]].concat()).ok();
    let trusted = ["export", "--server", &url, "--server-ca", "cert.pem"];
    assert_eq!(bench.run(&trusted).ok(), direct);
    let distrusted = bench.run(&["export", "--server", &url]).failed(1);
    assert!(distrusted.contains("certificate"), "{distrusted}");
}

/// Statistics and documents are kept in a store without models.
#[test]
fn a_store_of_statistics_and_documents_alone_is_served() {
    let bench = Bench::new();
    let access = ["--store", "embedded:only"];
    bench
        .run(&[&["stats", "configure"], &access[..]].concat())
        .ok();
    bench
        .run(&[&["documents", "configure", "cars"], &access[..]].concat())
        .ok();
    let server = bench.serve(&access);
    assert_eq!(server.request("GET", "/healthz", None).body, "ok\n");
    for path in [
        "/stats/settings",
        "/documents/cars",
        "/metrics",
        "/openapi/stats.json",
    ] {
        assert_eq!(server.request("GET", path, None).status, 200, "{path}");
    }
    let data = server.request("GET", "/restconf/data", None);
    assert_eq!(data.status, 404);
    assert!(data.body.contains("--yang"), "{}", data.body);
    let told = bench.run(&["get", "/", "--server", &server.url]).failed(1);
    assert!(told.contains("no models"), "{told}");
    assert_eq!(server.terminate(), Some(0));
    let modules = ["serve", "--anchor", "nosuch", "--listen", "127.0.0.1:0"];
    bench.run(&[&modules, &access[..]].concat()).failed(1);
}

#[test]
fn serving_a_mistyped_folder_makes_none() {
    let bench = Bench::new();
    let told = bench
        .run(&["serve", "--store", "embedded:mistyped"])
        .failed(2);
    assert!(told.contains("there is no store"), "{told}");
    assert!(!bench.path("mistyped").exists());
}

#[cfg(feature = "redis")]
#[test]
fn an_engine_that_does_not_answer_is_told_and_holds_up_nobody() {
    use espalier_testkit::servers::{Redis, Signal};

    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let bench = Bench::new();
    bench.write("interfaces.json", crate::documents::INTERFACES);
    let url = redis.url("durability=relaxed&timeout_ms=6000");
    let load = ["load", "interfaces.json", "--store", &url];
    bench
        .run(&[&load, &crate::documents::MODULES[..]].concat())
        .ok();
    let server = bench.serve(&["--store", &url]);
    assert_eq!(server.request("GET", "/healthz", None).status, 200);
    redis.process().signal(Signal::Pause);
    let (metrics, health) = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let answer = server.request("GET", "/restconf/data", None);
                assert_eq!(answer.status, 503, "{answer:?}");
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        let metrics = server.request("GET", "/metrics", None);
        let health = server.request("GET", "/healthz", None);
        (metrics, health)
    });
    assert_eq!(metrics.status, 200);
    assert_eq!(health.status, 503);
    assert!(health.body.contains("did not respond"), "{}", health.body);
    redis.process().signal(Signal::Continue);
    assert_eq!(server.request("GET", "/restconf/data", None).status, 200);
}

/// Two modules of the same form, whose names alone differ.
fn module(name: &str, [container, leaf]: [&str; 2], more: &str) -> String {
    format!(
        "module {name} {{ yang-version 1.1; namespace urn:{name}; prefix {name}; \
         container {container} {{ leaf {leaf} {{ type string; }} {more} }} }}"
    )
}

/// Asks until the answer is as it should be.
fn wait_for(server: &Server, path: &str, wanted: &str) {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = server.request("GET", path, None);
        if answer.body == wanted {
            return;
        }
        assert!(Instant::now() < patience, "{answer:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The engines that processes share, each with a store of its own.
fn shared(check: impl Fn(&Bench, &str)) {
    let local = ["embedded:served", "sqlite:served.db"].map(str::to_owned);
    for url in [local.to_vec(), servers_under("policy=cached")].concat() {
        eprintln!("over {url}");
        check(&Bench::new(), &url);
    }
}

#[test]
fn a_server_goes_over_to_the_modules_that_another_process_puts_in_place() {
    shared(|bench, url| {
        bench.write("old.yang", module("a", ["top", "x"], ""));
        bench.write(
            "new/a.yang",
            module("a", ["top", "x"], "leaf y { type int8; }"),
        );
        bench.write("a.json", r#"{"a:top":{"x":"one"}}"#);
        let load = ["load", "a.json", "--store", url, "--yang", "old.yang"];
        bench.run(&load).ok();
        let server = bench.serve(&["--store", url]);
        wait_for(&server, "/restconf/data/a:top/x", r#"{"a:x":"one"}"#);
        let set = [
            "set",
            "/a:top/y",
            "5",
            "--store",
            url,
            "--yang",
            "new/a.yang",
        ];
        bench.run(&set).ok();
        wait_for(&server, "/restconf/data/a:top/y", r#"{"a:y":5}"#);
        let patch = r#"{"a:top":{"x":"two","y":6}}"#;
        let answer = server.request("PATCH", "/restconf/data/a:top", Some(patch));
        assert_eq!(answer.status, 204, "{answer:?}");
        wait_for(&server, "/restconf/data/a:top/y", r#"{"a:y":6}"#);
    });
}

/// It once showed the new rows under the old names, and let them be written so.
#[test]
fn a_server_goes_over_to_a_store_that_is_copied_over_its_own() {
    shared(|bench, url| {
        bench.write("a.yang", module("a", ["top", "x"], ""));
        bench.write("b.yang", module("b", ["zop", "p"], ""));
        bench.write("a.json", r#"{"a:top":{"x":"one"}}"#);
        bench.write("b.json", r#"{"b:zop":{"p":"other"}}"#);
        let source = "embedded:source";
        bench
            .run(&["load", "b.json", "--store", source, "--yang", "b.yang"])
            .ok();
        bench
            .run(&["load", "a.json", "--store", url, "--yang", "a.yang"])
            .ok();
        let server = bench.serve(&["--store", url]);
        wait_for(&server, "/restconf/data/a:top/x", r#"{"a:x":"one"}"#);
        bench.run(&["copy", source, url, "--force"]).ok();
        // Whoever still writes to what was there is told so, whether that is noticed yet or not.
        let patch = r#"{"a:top":{"x":"two"}}"#;
        let answer = server.request("PATCH", "/restconf/data/a:top", Some(patch));
        assert!(answer.status >= 400, "{answer:?}");
        wait_for(&server, "/restconf/data/b:zop/p", r#"{"b:p":"other"}"#);
        assert_eq!(
            server.request("GET", "/restconf/data/a:top/x", None).status,
            404
        );
        // The same again: it is gone while it is copied, and back in the end.
        bench.run(&["copy", source, url, "--force"]).ok();
        thread::sleep(Duration::from_millis(300));
        wait_for(&server, "/restconf/data/b:zop/p", r#"{"b:p":"other"}"#);
        assert_eq!(server.request("GET", "/healthz", None).status, 200);
    });
}

/// It once said 204, and destroyed the new store when it ended.
#[test]
fn a_server_notices_that_its_store_was_removed_and_leaves_the_new_one_alone() {
    for url in [
        "embedded:store/data",
        "file:store/data",
        "sqlite:store/data.db",
    ] {
        let bench = Bench::new();
        bench.write("a.yang", module("a", ["top", "x"], ""));
        bench.write("old.json", r#"{"a:top":{"x":"old"}}"#);
        bench.write("new.json", r#"{"a:top":{"x":"new"}}"#);
        let load = |file| bench.run(&["load", file, "--store", url, "--yang", "a.yang"]);
        load("old.json").ok();
        let server = bench.serve(&["--store", url]);
        let patch = r#"{"a:top":{"x":"patched"}}"#;
        let patched = || server.request("PATCH", "/restconf/data/a:top", Some(patch));
        std::fs::remove_dir_all(bench.path("store")).expect("removed");
        let answer = patched();
        assert_eq!(answer.status, 500, "{url}: {answer:?}");
        assert!(
            answer.body.contains("was removed or replaced"),
            "{answer:?}"
        );
        load("new.json").ok();
        assert_eq!(patched().status, 500);
        // It could not bring its files up to date.
        assert_eq!(server.terminate(), Some(1), "{url}");
        let access = ["--store", url];
        bench.run(&[&["check"], &access[..]].concat()).ok();
        let exported = bench.run(&[&["export"], &access[..]].concat()).ok();
        assert!(exported.contains("new"), "{url}: {exported}");
    }
}
