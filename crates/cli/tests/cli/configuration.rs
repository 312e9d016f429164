//! Flags win over the environment, the environment over the file.

use serde_json::json;

use crate::documents::{MODULES, store};
use crate::process::Bench;

const DESCRIPTION: &str = "/ietf-interfaces:interfaces/interface=eth0/description";

/// Statistics and documents have no client for a server: help and errors say where they are instead.
#[test]
fn statistics_and_documents_of_a_server_are_over_http() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]).ok();
    let told = "a server has the same over HTTP, under /stats and /documents";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&help).contains(told), "{help}");
    let server = ("ESPALIER_SERVER", "http://127.0.0.1:1");
    for command in [["stats", "keys"], ["documents", "ls"]] {
        let told = bench.run_with(&command, b"", &[server]).failed(2);
        assert!(told.contains("http://127.0.0.1:1/stats"), "{told}");
    }
}

#[test]
fn flags_then_environment_then_file() {
    let (bench, _) = store();
    for anchor in ["flag", "environment", "file"] {
        let arguments = [
            "set",
            DESCRIPTION,
            anchor,
            "--anchor",
            anchor,
            "--store",
            "embedded:store",
            "--validation",
            "structure",
        ];
        bench.run(&[&arguments[..], &MODULES].concat()).ok();
    }
    let read = |arguments: &[&str], variables: &[(&str, &str)]| {
        let outcome = bench.run_with(&[&["get", DESCRIPTION], arguments].concat(), b"", variables);
        outcome.json()["ietf-interfaces:description"].clone()
    };
    let store = ("ESPALIER_STORE", "embedded:store");
    assert_eq!(read(&[], &[store]), json!("uplink"));
    bench.write(
        "espalier.toml",
        "store = \"embedded:store\"\nanchor = \"file\"\n",
    );
    assert_eq!(read(&[], &[]), json!("file"));
    let environment = ("ESPALIER_ANCHOR", "environment");
    assert_eq!(read(&[], &[environment]), json!("environment"));
    assert_eq!(read(&["--anchor", "flag"], &[environment]), json!("flag"));
    bench.write(
        "other.toml",
        "store = \"embedded:store\"\nanchor = \"flag\"\n",
    );
    assert_eq!(read(&["--config", "other.toml"], &[]), json!("flag"));
    assert_eq!(
        read(&[], &[("ESPALIER_CONFIG", "other.toml")]),
        json!("flag")
    );
}

#[test]
fn a_server_named_by_a_flag_wins_over_a_store_in_the_file() {
    let (bench, access) = store();
    bench.write("espalier.toml", "store = \"embedded:none\"\n");
    let server = bench.serve(&access);
    bench
        .run(&["get", DESCRIPTION, "--server", &server.url])
        .ok();
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let (bench, access) = store();
    bench.write("espalier.toml", "# settings\nstoer = \"embedded:store\"\n");
    let said = bench.run(&[&["get", "/"], &access[..]].concat()).failed(2);
    assert!(
        said.contains("espalier.toml") && said.contains("line 2"),
        "{said}"
    );
    let said = bench.run(&["get", "/", "--config", "none.toml"]).failed(2);
    assert!(said.contains("none.toml"), "{said}");
}
