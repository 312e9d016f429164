//! Each command, on a store and through a server.

use serde_json::{Value, json};

use crate::interfaces_data::{INTERFACES, MODULES, store};
use crate::process::Sandbox;

const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Runs `check` on a store, then through a server of it.
fn on_store_and_server(check: impl Fn(&Sandbox, &[&str])) {
    let (sandbox, access) = store();
    check(&sandbox, &access);
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    check(&sandbox, &["--server", &server.url]);
}

fn with_access<'a>(arguments: &[&'a str], access: &[&'a str]) -> Vec<&'a str> {
    [arguments, access].concat()
}

#[test]
fn export_returns_the_loaded_data() {
    on_store_and_server(|sandbox, access| {
        let exported = sandbox.run(&with_access(&["export"], access)).ok();
        assert_eq!(sorted(json_of(&exported)), sorted(json_of(INTERFACES)));
        let output = sandbox
            .run(&with_access(&["export", "-o", "out.xml", "--json"], access))
            .json();
        let xml = std::fs::read_to_string(sandbox.path("out.xml")).expect("a file");
        assert_eq!(output["bytes"], json!(xml.len()), "{output}");
        let fresh = [
            &["load", "out.xml", "--store", "embedded:fresh", "--json"],
            &MODULES[..],
        ]
        .concat();
        let loaded = sandbox.run(&fresh).json();
        assert_eq!(
            (&loaded["fragments"], &loaded["values"]),
            (&json!(5), &json!(8)),
            "{loaded}"
        );
        let again = sandbox.run(&["export", "--store", "embedded:fresh"]).ok();
        assert_eq!(again, exported);
        std::fs::remove_dir_all(sandbox.path("fresh")).expect("a folder");
    });
}

/// Entries of lists in a fixed order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(sorted).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        value => value,
    }
}

#[test]
fn get_reads_any_node_by_either_form_of_path() {
    on_store_and_server(|sandbox, access| {
        let leaf = sandbox
            .run(&with_access(
                &["get", &format!("{ETH0}/description")],
                access,
            ))
            .json();
        assert_eq!(leaf, json!({"ietf-interfaces:description": "uplink"}));
        let quoted = "/ietf-interfaces:interfaces/interface[name='a/b, \"c\"']/name";
        let leaf = sandbox.run(&with_access(&["get", quoted], access)).json();
        assert_eq!(leaf, json!({"ietf-interfaces:name": "a/b, \"c\""}));
        let encoded = "/ietf-interfaces:interfaces/interface=a%2Fb%2C%20%22c%22";
        let entry = sandbox
            .run(&with_access(&["get", encoded, "--fields", "name"], access))
            .json();
        assert_eq!(
            entry["ietf-interfaces:interface"][0],
            json!({"name": "a/b, \"c\""})
        );
        let enabled = format!("{ETH0}/enabled");
        let all = with_access(&["get", &enabled, "--with-defaults", "report-all"], access);
        assert_eq!(
            sandbox.run(&all).json(),
            json!({"ietf-interfaces:enabled": true})
        );
        let shallow = sandbox
            .run(&with_access(&["get", ETH0, "--depth", "2"], access))
            .json();
        assert_eq!(
            shallow["ietf-interfaces:interface"][0]["ietf-ip:ipv4"],
            json!({})
        );
        let xml = sandbox
            .run(&with_access(
                &["get", &format!("{ETH0}/type"), "--format", "xml"],
                access,
            ))
            .ok();
        assert!(xml.contains("ethernetCsmacd</type>"), "{xml}");
        let missing = sandbox.run(&with_access(
            &["get", "/ietf-interfaces:interfaces/interface=none"],
            access,
        ));
        assert!(missing.failed(1).contains("there is nothing at"));
    });
}

#[test]
fn set_and_delete_change_one_node() {
    on_store_and_server(|sandbox, access| {
        let mtu = format!("{ETH0}/ietf-ip:ipv4/mtu");
        sandbox
            .run(&with_access(&["set", &mtu, "9000"], access))
            .ok();
        assert_eq!(
            sandbox.run(&with_access(&["get", &mtu], access)).json(),
            json!({"ietf-ip:mtu": 9000})
        );
        let new = "/ietf-interfaces:interfaces/interface[name='new one']/type";
        sandbox
            .run(&with_access(
                &["set", new, "iana-if-type:softwareLoopback"],
                access,
            ))
            .ok();
        let read = sandbox.run(&with_access(&["get", new], access)).json();
        assert_eq!(
            read,
            json!({"ietf-interfaces:type": "iana-if-type:softwareLoopback"})
        );
        sandbox.run(&with_access(&["delete", ETH0], access)).ok();
        sandbox.run(&with_access(&["get", ETH0], access)).failed(1);
        let again = sandbox
            .run(&with_access(&["delete", ETH0], access))
            .failed(1);
        let is_reported = again.contains("data-missing") || again.contains("no such instance");
        assert!(is_reported, "{again}");
        let wrong = sandbox.run(&with_access(&["set", new, "no-such-type"], access));
        assert!(wrong.failed(1).contains("no-such-type"));
    });
}

#[test]
fn edit_applies_an_operation_for_each_node_in_one_commit() {
    on_store_and_server(|sandbox, access| {
        let change = json!({"ietf-interfaces:interfaces": {"interface": [
            {"@": {"ietf-netconf:operation": "delete"}, "name": "eth0"},
            {"@": {"ietf-netconf:operation": "create"}, "name": "eth1", "type": "iana-if-type:ethernetCsmacd"},
        ]}});
        sandbox.write("change.json", change.to_string());
        sandbox
            .run(&with_access(&["edit", "change.json"], access))
            .ok();
        sandbox.run(&with_access(&["get", ETH0], access)).failed(1);
        sandbox
            .run(&with_access(
                &["get", "/ietf-interfaces:interfaces/interface=eth1"],
                access,
            ))
            .ok();
        let before = sandbox.run(&with_access(&["export"], access)).ok();
        let rejected = sandbox
            .run(&with_access(&["edit", "change.json"], access))
            .failed(1);
        assert!(
            rejected.contains("data-missing") || rejected.contains("data-exists"),
            "{rejected}"
        );
        assert_eq!(sandbox.run(&with_access(&["export"], access)).ok(), before);
        let xml = "<interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\" \
            xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\
            <interface nc:operation=\"remove\"><name>eth1</name></interface></interfaces>";
        let arguments = with_access(&["edit", "-", "--format", "xml"], access);
        let outcome = sandbox.run_with(&arguments, xml.as_bytes(), &[]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        sandbox
            .run(&with_access(
                &["get", "/ietf-interfaces:interfaces/interface=eth1"],
                access,
            ))
            .failed(1);
    });
}

#[test]
fn load_merges_replaces_or_creates() {
    on_store_and_server(|sandbox, access| {
        let other = json!({"ietf-interfaces:interfaces": {"interface": [
            {"name": "lo", "type": "iana-if-type:softwareLoopback"},
        ]}});
        let text = other.to_string();
        let merged = sandbox.run_with(&with_access(&["load", "-"], access), text.as_bytes(), &[]);
        assert_eq!(merged.status, 0, "{merged:?}");
        sandbox.run(&with_access(&["get", ETH0], access)).ok();
        sandbox.write("other.json", &text);
        let output = sandbox
            .run(&with_access(
                &["load", "other.json", "--replace", "--json"],
                access,
            ))
            .json();
        assert_eq!(output["fragments"], json!(2), "{output}");
        assert_eq!(sandbox.run(&with_access(&["export"], access)).json(), other);
    });
}

#[test]
fn schema_prints_a_tree_or_json() {
    let sandbox = Sandbox::new();
    let tree = sandbox.run(&[&["schema"], &MODULES[..]].concat()).ok();
    assert!(tree.contains("module: ietf-interfaces"), "{tree}");
    assert!(tree.contains("+--rw interface* [name]"), "{tree}");
    let described = sandbox
        .run(&[&["schema", "--json"], &MODULES[..]].concat())
        .json();
    let nodes = described["nodes"].as_array().expect("nodes");
    let path = "/ietf-interfaces:interfaces/interface/ietf-ip:ipv4/mtu";
    assert!(nodes.iter().any(|node| node["path"] == path), "no {path}");
    on_store_and_server(|sandbox, access| {
        assert_eq!(sandbox.run(&with_access(&["schema"], access)).ok(), tree);
    });
    assert!(
        sandbox
            .run(&["schema", "--built-in"])
            .ok()
            .contains("ietf-ip@2018-02-22")
    );
}

#[test]
fn check_and_info_describe_a_store() {
    let (sandbox, access) = store();
    let checked = sandbox
        .run(&with_access(&["check", "--json"], &access))
        .json();
    assert_eq!(checked["findings"], json!([]), "{checked}");
    assert!(checked["keys"].as_u64() > Some(0), "{checked}");
    let info = sandbox
        .run(&with_access(&["info", "--json"], &access))
        .json();
    assert_eq!(info["engine"], "embedded");
    assert_eq!(info["dataspaces"][0]["anchors"][0]["name"], "default");
    assert!(
        sandbox
            .run(&with_access(&["info"], &access))
            .ok()
            .contains("ietf-ip@2018-02-22")
    );
}

#[test]
fn anchors_are_independent() {
    let (sandbox, access) = store();
    let arguments = [
        "load",
        "interfaces.json",
        "--anchor",
        "second",
        "--dataspace",
        "other",
    ];
    sandbox
        .run(&[&arguments[..], &access, &MODULES].concat())
        .ok();
    sandbox
        .run(&with_access(
            &["delete", ETH0, "--anchor", "second", "--dataspace", "other"],
            &access,
        ))
        .ok();
    sandbox.run(&with_access(&["get", ETH0], &access)).ok();
    let unknown = sandbox
        .run(&with_access(&["get", ETH0, "--anchor", "third"], &access))
        .failed(1);
    assert!(
        unknown.contains("third") && unknown.contains("--yang"),
        "{unknown}"
    );
}

#[test]
fn store_is_upgraded_to_new_modules() {
    let sandbox = Sandbox::new();
    let module = |leaf: &str| {
        format!("module m {{ namespace \"urn:m\"; prefix m; container c {{ {leaf} }} }}")
    };
    sandbox.write("m.yang", module("leaf a { type string; }"));
    sandbox.write("a.json", r#"{"m:c": {"a": "x"}}"#);
    sandbox
        .run(&[
            "load",
            "a.json",
            "--store",
            "embedded:store",
            "--yang",
            "m.yang",
        ])
        .ok();
    sandbox.write(
        "m.yang",
        module("leaf a { type string; } leaf b { type int8; }"),
    );
    let set = ["set", "/m:c/b", "5", "--store", "embedded:store"];
    sandbox.run(&set).failed(2);
    sandbox
        .run(&[&set[..], &["--yang", "m.yang"]].concat())
        .ok();
    let read = sandbox.run(&["export", "--store", "embedded:store"]).json();
    assert_eq!(read, json!({"m:c": {"a": "x", "b": 5}}));
}

#[test]
fn modules_of_a_rejected_load_are_not_applied() {
    let sandbox = Sandbox::new();
    for name in ["m", "n"] {
        let text = format!(
            "module {name} {{ namespace \"urn:{name}\"; prefix {name}; leaf {name} {{ type int8; }} }}"
        );
        sandbox.write(&format!("{name}.yang"), text);
    }
    let store = ["--store", "embedded:store"];
    let load =
        |file: &str, yang: &[&str]| sandbox.run(&[&["load", file], &store[..], yang].concat());
    let both = r#"{"m:m": 1, "n:n": 1}"#;
    sandbox.write("both.json", both);
    load("both.json", &["--yang", "m.yang", "--yang", "n.yang"]).ok();
    let modules = || {
        let info = sandbox.run(&["schema", "--store", "embedded:store", "--json"]);
        info.json()
    };
    let before = modules();
    let one = ["--yang", "m.yang"];
    sandbox.write("wrong.json", r#"{"m:m": 1000}"#);
    // Unknown data, invalid data, a missing file and an unknown datastore.
    load("both.json", &one).failed(1);
    load("wrong.json", &one).failed(1);
    load("none.json", &one).failed(2);
    load("both.json", &[&one[..], &["--datastore", "none"]].concat()).failed(2);
    let set = ["set", "/m:m", "1000", "--store", "embedded:store"];
    sandbox.run(&[&set[..], &one].concat()).failed(1);
    let delete = ["delete", "/n:n", "--store", "embedded:store"];
    sandbox.run(&[&delete[..], &one].concat()).failed(1);
    sandbox.write("edit.json", r#"{"n:n": 2}"#);
    for file in ["edit.json", "none.json"] {
        let edit = ["edit", file, "--store", "embedded:store"];
        let ended = sandbox.run(&[&edit[..], &one].concat());
        assert_ne!(ended.status, 0, "{ended:?}");
    }
    assert_eq!(modules(), before);
    let read = sandbox.run(&[&["export"], &store[..]].concat()).json();
    assert_eq!(read, serde_json::from_str::<Value>(both).expect("JSON"));

    sandbox.write("one.json", r#"{"m:m": 2}"#);
    load("one.json", &one).failed(1);
    load("one.json", &[&one[..], &["--drop-unknown"]].concat()).ok();
    assert_ne!(modules(), before);
    let read = sandbox.run(&[&["export"], &store[..]].concat()).json();
    assert_eq!(read, json!({"m:m": 2}));
}

#[test]
fn completions_exist_for_each_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            sandbox.run(&["completions", shell]).ok().contains("export"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let sandbox = Sandbox::new();
    for command in [
        "serve",
        "load",
        "export",
        "get",
        "set",
        "delete",
        "edit",
        "schema",
        "check",
        "info",
        "copy",
        "backup",
        "restore",
        "example",
        "completions",
    ] {
        let help = sandbox.run(&[command, "--help"]).ok();
        assert!(help.contains("Examples:"), "{command}: {help}");
    }
    assert!(sandbox.run(&["--help"]).ok().contains("ESPALIER_STORE"));
}
