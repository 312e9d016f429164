//! `serve` beside RESTCONF: health, metrics, signals.

use crate::documents::store;
use crate::process::Bench;

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
    assert!(health.body.contains("did not answer"), "{}", health.body);
    redis.process().signal(Signal::Continue);
    assert_eq!(server.request("GET", "/restconf/data", None).status, 200);
}
