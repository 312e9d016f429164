//! Bodies that are too large for memory.

use std::io::Write;

use espalier_protocols::intake::IntakeConfig;
use espalier_protocols::server::Limits;

use crate::served::{JSON, LINES, Server};
use crate::support::{connect, router, wait_until};

fn start(config: IntakeConfig) -> Server {
    Server::within(router(config), Limits::default())
}

/// Results do not depend on where bodies are stored; the files have no names and are removed.
#[test]
fn bodies_in_files_and_in_memory_give_the_same_results() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = start(IntakeConfig {
        memory_bytes_max: 0,
        spill_free_bytes_min: 0,
        spill_dir: folder.path().to_owned(),
        ..IntakeConfig::default()
    });
    let yang = [("content-type", "application/yang-data+json")];
    let one = r#"{"garden:keyed":[{"k":"a","v":"b"}]}"#;
    let path = "/restconf/data/garden:keyed=a";
    server.request("PUT", path, &yang, Some(one)).with(201);
    assert_eq!(server.get(path).with(200).body, one);
    let lines: String = (0..100)
        .map(|n| format!("{{\"key\":{n},\"document\":{{}}}}\n"))
        .collect();
    let import = "/documents/cars/import";
    let imported = server
        .request("POST", import, LINES, Some(&lines))
        .with(200);
    assert_eq!(imported.json()["documents"], 100);
    let import = "/stats/import?format=statsd";
    let imported = server
        .request("POST", import, LINES, Some("n:1|c\nm:2|c"))
        .with(200);
    assert_eq!(imported.json()["writes"], 2);
    let track = crate::support::write();
    server
        .request("POST", "/stats/track", JSON, Some(&track))
        .with(200);
    assert_eq!(names(folder.path()), 0);
}

fn names(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).expect("a directory").count()
}

#[test]
fn a_body_without_space_is_507_and_releases_its_space() {
    let server = start(IntakeConfig {
        memory_bytes_max: 100,
        spill_bytes_max: 2_000_000,
        spill_free_bytes_min: 0,
        ..IntakeConfig::default()
    });
    let lines = |count| "n:1|c\n".repeat(count);
    let import = |count| {
        let lines = lines(count);
        let path = "/stats/import?format=statsd";
        server.request("POST", path, LINES, Some(&lines))
    };
    let refused = import(500_000).with(507);
    assert!(refused.body.contains("--spill-max"), "{}", refused.body);
    // An aborted body releases its space too.
    let mut leaving = connect(&server);
    let head = "POST /stats/import?format=statsd HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/octet-stream\r\nContent-Length: 9000000\r\n\r\n";
    leaving.write_all(head.as_bytes()).expect("sent");
    leaving.write_all(&[b'\n'; 1_900_000]).expect("sent");
    drop(leaving);
    wait_until("the space is released", || import(200_000).status == 200);
}

/// The error names a missing directory.
#[test]
fn an_error_of_storing_a_body_names_the_directory() {
    let server = start(IntakeConfig {
        memory_bytes_max: 0,
        spill_dir: "/nonexistent/folder".into(),
        ..IntakeConfig::default()
    });
    let track = crate::support::write();
    let response = server.request("POST", "/stats/track", JSON, Some(&track));
    let body = response.with(500).body;
    assert!(body.contains("/nonexistent/folder"), "{body}");
}
