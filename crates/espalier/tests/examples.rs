//! The examples run and print the expected output.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, which Cargo has built next to this test, and compares its output.
fn check(name: &str, expected: &[&str]) {
    let test = std::env::current_exe().expect("the path of this test");
    let folder: PathBuf = test.ancestors().nth(2).expect("target").join("examples");
    let output = Command::new(folder.join(name))
        .output()
        .unwrap_or_else(|error| panic!("{name} in {}: {error}", folder.display()));
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {printed}{errors}");
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{name}");
}

#[test]
fn tree() {
    check(
        "tree",
        &[
            "version 1",
            r#"{"network:device":[{"name":"core-1","site":"cellar","mtu":9000}]}"#,
            "devices: 1",
        ],
    );
}

#[test]
fn transaction() {
    check(
        "transaction",
        &[
            "version 2",
            "/pools:customer[name='b']/pool: “none” refers to nothing that exists (data-missing)",
            "/pools:pool[name='new']/size: a pool has at most 256 addresses (operation-failed)",
            r#"{"pools:pool":[{"name":"new","size":64}]}"#,
        ],
    );
}

#[test]
fn subscribe() {
    check(
        "subscribe",
        &[
            "1: + /ports:port[name='eth0']",
            "2: + /ports:port[name='eth0']/enabled = false",
            "3: - /ports:port[name='eth0']",
            "3: - /ports:port[name='eth0']/enabled = false",
        ],
    );
}

#[test]
fn collection() {
    check(
        "collection",
        &[
            "red, of the nineties: Corvet-1",
            "fast and old: Corvet-1",
            "Mini-1: Some(1965)",
            r#"refused: index "name" is unique, but document 2 already has the value "Mini-1""#,
        ],
    );
}

#[test]
fn statistics() {
    check(
        "statistics",
        &[
            "2026-11-27T12:00:00Z: status.200=9 status.404=1",
            "2026-11-27T13:00:00Z: status.200=5",
            "sum of status 200: 14",
            "most frequent: status.200, 14 times",
        ],
    );
}
