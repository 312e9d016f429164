//! `serve` beside RESTCONF: health, metrics, signals.

use crate::documents::store;

#[test]
fn health_and_metrics_are_served() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    assert_eq!(server.request("GET", "/healthz", None).body, "ok\n");
    server.request("GET", "/restconf/data", None);
    let metrics = server.request("GET", "/metrics", None);
    assert_eq!(metrics.status, 200);
    assert!(metrics.body.contains("# TYPE"), "{}", metrics.body);
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
