//! `serve` without RESTCONF: health, metrics, signals, and changes by other processes.

use std::thread;
use std::time::{Duration, Instant};

use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};
use crate::server_engines::servers_under;

#[test]
fn health_and_metrics_are_served() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    assert_eq!(server.request("GET", "/healthz", None).body, "ok\n");
    server.request("GET", "/restconf/data", None);
    let metrics = server.request("GET", "/metrics", None);
    assert_eq!(metrics.status, 200);
    for name in ["# TYPE", "espalier_validation_fallbacks_total 0"] {
        assert!(metrics.body.contains(name), "{}", metrics.body);
    }
}

#[test]
fn signal_stops_the_server_and_the_store_is_intact() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    assert_eq!(server.request("GET", "/restconf/data", None).status, 200);
    assert_eq!(server.terminate(), Some(0));
    sandbox.run(&[&["check"], &access[..]].concat()).ok();
}

#[test]
fn address_in_use_is_reported() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    let address = server.url.trim_start_matches("http://").to_owned();
    let output = sandbox
        .run(&[&["serve", "--listen", &address], &access[..]].concat())
        .failed(1);
    assert!(output.contains("--listen"), "{output}");
}

#[test]
fn tls_works_between_server_and_client() {
    let (sandbox, access) = store();
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    sandbox.write("cert.pem", made.cert.pem());
    sandbox.write("key.pem", made.signing_key.serialize_pem());
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let server = sandbox.serve(&[&tls, &access[..]].concat());
    let url = server.url.replace("127.0.0.1", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    let direct = sandbox.run(&[&["export"], &access[..]].concat()).ok();
    let trusted = ["export", "--server", &url, "--server-ca", "cert.pem"];
    assert_eq!(sandbox.run(&trusted).ok(), direct);
    let distrusted = sandbox.run(&["export", "--server", &url]).failed(1);
    assert!(distrusted.contains("certificate"), "{distrusted}");
}

/// Statistics and documents are kept in a store without models.
#[test]
fn store_without_models_is_served() {
    let sandbox = Sandbox::new();
    let access = ["--store", "embedded:only"];
    sandbox
        .run(&[&["stats", "configure"], &access[..]].concat())
        .ok();
    sandbox
        .run(&[&["documents", "configure", "cars"], &access[..]].concat())
        .ok();
    let server = sandbox.serve(&access);
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
    let output = sandbox
        .run(&["get", "/", "--server", &server.url])
        .failed(1);
    assert!(output.contains("no models"), "{output}");
    assert_eq!(server.terminate(), Some(0));
    let modules = ["serve", "--anchor", "nosuch", "--listen", "127.0.0.1:0"];
    sandbox.run(&[&modules, &access[..]].concat()).failed(1);
}

#[test]
fn serving_a_mistyped_folder_creates_none() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .run(&["serve", "--store", "embedded:mistyped"])
        .failed(2);
    assert!(output.contains("there is no store"), "{output}");
    assert!(!sandbox.path("mistyped").exists());
}

#[cfg(feature = "redis")]
#[test]
fn unresponsive_engine_is_reported_and_does_not_block_others() {
    use espalier_testkit::servers::{Redis, Signal};

    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write("interfaces.json", crate::interfaces_data::INTERFACES);
    let url = redis.url("durability=relaxed&timeout_ms=6000");
    let load = ["load", "interfaces.json", "--store", &url];
    sandbox
        .run(&[&load, &crate::interfaces_data::MODULES[..]].concat())
        .ok();
    let server = sandbox.serve(&["--store", &url]);
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

/// A module; two of them differ in their names only.
fn module(name: &str, [container, leaf]: [&str; 2], more: &str) -> String {
    format!(
        "module {name} {{ yang-version 1.1; namespace urn:{name}; prefix {name}; \
         container {container} {{ leaf {leaf} {{ type string; }} {more} }} }}"
    )
}

/// Repeats a request until the response has the expected body.
fn wait_for(server: &Server, path: &str, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = server.request("GET", path, None);
        if answer.body == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs `check` on each engine that processes can share.
fn on_shared_engines(check: impl Fn(&Sandbox, &str)) {
    let local = ["embedded:served", "sqlite:served.db"].map(str::to_owned);
    for url in [local.to_vec(), servers_under("policy=cached")].concat() {
        eprintln!("over {url}");
        check(&Sandbox::new(), &url);
    }
}

#[test]
fn server_reloads_modules_replaced_by_another_process() {
    on_shared_engines(|sandbox, url| {
        sandbox.write("old.yang", module("a", ["top", "x"], ""));
        sandbox.write(
            "new/a.yang",
            module("a", ["top", "x"], "leaf y { type int8; }"),
        );
        sandbox.write("a.json", r#"{"a:top":{"x":"one"}}"#);
        let load = ["load", "a.json", "--store", url, "--yang", "old.yang"];
        sandbox.run(&load).ok();
        let server = sandbox.serve(&["--store", url]);
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
        sandbox.run(&set).ok();
        wait_for(&server, "/restconf/data/a:top/y", r#"{"a:y":5}"#);
        let patch = r#"{"a:top":{"x":"two","y":6}}"#;
        let answer = server.request("PATCH", "/restconf/data/a:top", Some(patch));
        assert_eq!(answer.status, 204, "{answer:?}");
        wait_for(&server, "/restconf/data/a:top/y", r#"{"a:y":6}"#);
    });
}

/// Regression: it returned the new rows under the old names, and accepted writes to them.
#[test]
fn server_reloads_a_store_copied_over_its_own() {
    on_shared_engines(|sandbox, url| {
        sandbox.write("a.yang", module("a", ["top", "x"], ""));
        sandbox.write("b.yang", module("b", ["zop", "p"], ""));
        sandbox.write("a.json", r#"{"a:top":{"x":"one"}}"#);
        sandbox.write("b.json", r#"{"b:zop":{"p":"other"}}"#);
        let source = "embedded:source";
        sandbox
            .run(&["load", "b.json", "--store", source, "--yang", "b.yang"])
            .ok();
        sandbox
            .run(&["load", "a.json", "--store", url, "--yang", "a.yang"])
            .ok();
        let server = sandbox.serve(&["--store", url]);
        wait_for(&server, "/restconf/data/a:top/x", r#"{"a:x":"one"}"#);
        sandbox.run(&["copy", source, url, "--force"]).ok();
        // A write to the old store fails, whether or not the server has noticed the change.
        let patch = r#"{"a:top":{"x":"two"}}"#;
        let answer = server.request("PATCH", "/restconf/data/a:top", Some(patch));
        assert!(answer.status >= 400, "{answer:?}");
        wait_for(&server, "/restconf/data/b:zop/p", r#"{"b:p":"other"}"#);
        assert_eq!(
            server.request("GET", "/restconf/data/a:top/x", None).status,
            404
        );
        // A second copy: the data are unavailable during the copy, and available at its end.
        sandbox.run(&["copy", source, url, "--force"]).ok();
        thread::sleep(Duration::from_millis(300));
        wait_for(&server, "/restconf/data/b:zop/p", r#"{"b:p":"other"}"#);
        assert_eq!(server.request("GET", "/healthz", None).status, 200);
    });
}

/// Regression: it returned status 204, and destroyed the new store at its end.
#[test]
fn server_detects_a_removed_store_and_leaves_the_new_one_unchanged() {
    for url in [
        "embedded:store/data",
        "file:store/data",
        "sqlite:store/data.db",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("a.yang", module("a", ["top", "x"], ""));
        sandbox.write("old.json", r#"{"a:top":{"x":"old"}}"#);
        sandbox.write("new.json", r#"{"a:top":{"x":"new"}}"#);
        let load = |file| sandbox.run(&["load", file, "--store", url, "--yang", "a.yang"]);
        load("old.json").ok();
        let server = sandbox.serve(&["--store", url]);
        let patch = r#"{"a:top":{"x":"patched"}}"#;
        let patched = || server.request("PATCH", "/restconf/data/a:top", Some(patch));
        std::fs::remove_dir_all(sandbox.path("store")).expect("removed");
        let answer = patched();
        assert_eq!(answer.status, 500, "{url}: {answer:?}");
        assert!(
            answer.body.contains("was removed or replaced"),
            "{answer:?}"
        );
        load("new.json").ok();
        assert_eq!(patched().status, 500);
        // The server could not update its files.
        assert_eq!(server.terminate(), Some(1), "{url}");
        let access = ["--store", url];
        sandbox.run(&[&["check"], &access[..]].concat()).ok();
        let exported = sandbox.run(&[&["export"], &access[..]].concat()).ok();
        assert!(exported.contains("new"), "{url}: {exported}");
    }
}
