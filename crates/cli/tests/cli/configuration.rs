//! Flags take precedence over the environment, the environment over the file.

use serde_json::json;

use crate::interfaces_data::{MODULES, store};
use crate::process::Sandbox;

const DESCRIPTION: &str = "/ietf-interfaces:interfaces/interface=eth0/description";

/// Statistics and documents have no client for a server: help and errors name their URLs instead.
#[test]
fn statistics_and_documents_of_a_server_are_available_over_http_only() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["--help"]).ok();
    let output = "A server provides the same operations over HTTP, under /stats and /documents";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&help).contains(output), "{help}");
    let server = ("ESPALIER_SERVER", "http://127.0.0.1:1");
    for command in [["stats", "keys"], ["documents", "ls"]] {
        let output = sandbox.run_with(&command, b"", &[server]).failed(2);
        assert!(output.contains("http://127.0.0.1:1/stats"), "{output}");
    }
}

/// The error of an unknown setting lists all of them.
#[test]
fn example_configuration_has_every_setting() {
    let sandbox = Sandbox::new();
    sandbox.write("espalier.toml", "nope = 1\n");
    let output = sandbox.run(&["get", "/"]).failed(2);
    let (_, listed) = output.split_once("expected one of").expect("the settings");
    let listed = listed.lines().next().expect("a line");
    let settings: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    assert!(settings.len() > 25, "{output}");
    for file in ["examples/espalier.toml", "docs/guide/configuration.md"] {
        let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the file");
        for setting in &settings {
            let line = format!("{setting} = ");
            assert!(text.contains(&line), "{file} lacks {setting}");
        }
    }
}

/// The store remembered the setting, and nothing showed it; a server ignored the flag.
#[test]
fn validation_of_structure_only_is_shown() {
    let sandbox = Sandbox::new();
    let module = "module m { namespace urn:m; prefix m; leaf a { type int8; must '. > 1'; } }";
    sandbox.write("m.yang", module);
    sandbox.write("a.json", r#"{"m:a":1}"#);
    let store = ["--store", "embedded:store"];
    let load = [
        "load",
        "a.json",
        "--yang",
        "m.yang",
        "--validation",
        "structure",
    ];
    sandbox.run(&[&load[..], &store].concat()).ok();
    let info = sandbox.run(&["info", "embedded:store"]).ok();
    assert!(info.contains("--validation structure"), "{info}");
    let info = sandbox.run(&["info", "embedded:store", "--json"]).json();
    assert_eq!(
        info["dataspaces"][0]["anchors"][0]["validation"],
        "structure"
    );
    let check = sandbox.run(&["check", "embedded:store"]).ok();
    assert!(check.contains("structure and types only"), "{check}");
    let server = sandbox.serve(&store);
    let refused = sandbox.run(&[
        "load",
        "a.json",
        "--server",
        &server.url,
        "--validation",
        "full",
    ]);
    assert!(refused.failed(2).contains("--validation goes with --store"));
    let upgrade = ["upgrade", "--yang", "m.yang", "--server", &server.url];
    let refused = sandbox.run(&[&upgrade[..], &["--validation", "full"]].concat());
    assert!(refused.failed(2).contains("--validation goes with --store"));
}

#[test]
fn flags_win_over_environment_and_file() {
    let (sandbox, _) = store();
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
        sandbox.run(&[&arguments[..], &MODULES].concat()).ok();
    }
    let read = |arguments: &[&str], variables: &[(&str, &str)]| {
        let outcome =
            sandbox.run_with(&[&["get", DESCRIPTION], arguments].concat(), b"", variables);
        outcome.json()["ietf-interfaces:description"].clone()
    };
    let store = ("ESPALIER_STORE", "embedded:store");
    assert_eq!(read(&[], &[store]), json!("uplink"));
    sandbox.write(
        "espalier.toml",
        "store = \"embedded:store\"\nanchor = \"file\"\n",
    );
    assert_eq!(read(&[], &[]), json!("file"));
    let environment = ("ESPALIER_ANCHOR", "environment");
    assert_eq!(read(&[], &[environment]), json!("environment"));
    assert_eq!(read(&["--anchor", "flag"], &[environment]), json!("flag"));
    sandbox.write(
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
    let (sandbox, access) = store();
    sandbox.write("espalier.toml", "store = \"embedded:none\"\n");
    let server = sandbox.serve(&access);
    sandbox
        .run(&["get", DESCRIPTION, "--server", &server.url])
        .ok();
}

#[test]
fn invalid_file_is_reported_with_its_line() {
    let (sandbox, access) = store();
    sandbox.write("espalier.toml", "# settings\nstoer = \"embedded:store\"\n");
    let output = sandbox
        .run(&[&["get", "/"], &access[..]].concat())
        .failed(2);
    assert!(
        output.contains("espalier.toml") && output.contains("line 2"),
        "{output}"
    );
    let output = sandbox
        .run(&["get", "/", "--config", "none.toml"])
        .failed(2);
    assert!(output.contains("none.toml"), "{output}");
}
