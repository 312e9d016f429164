//! Each command, on a store and through a server.

use serde_json::{Value, json};

use crate::documents::{INTERFACES, MODULES, store};
use crate::process::Bench;

const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Runs `check` on a store, then through a server of it.
fn on_both(check: impl Fn(&Bench, &[&str])) {
    let (bench, access) = store();
    check(&bench, &access);
    let (bench, access) = store();
    let server = bench.serve(&access);
    check(&bench, &["--server", &server.url]);
}

fn with<'a>(arguments: &[&'a str], access: &[&'a str]) -> Vec<&'a str> {
    [arguments, access].concat()
}

#[test]
fn export_gives_what_was_loaded() {
    on_both(|bench, access| {
        let exported = bench.run(&with(&["export"], access)).ok();
        assert_eq!(sorted(json_of(&exported)), sorted(json_of(INTERFACES)));
        let told = bench
            .run(&with(&["export", "-o", "out.xml", "--json"], access))
            .json();
        let xml = std::fs::read_to_string(bench.path("out.xml")).expect("a file");
        assert_eq!(told["bytes"], json!(xml.len()), "{told}");
        let fresh = [
            &["load", "out.xml", "--store", "embedded:fresh", "--json"],
            &MODULES[..],
        ]
        .concat();
        let loaded = bench.run(&fresh).json();
        assert_eq!(
            (&loaded["fragments"], &loaded["values"]),
            (&json!(5), &json!(8)),
            "{loaded}"
        );
        let again = bench.run(&["export", "--store", "embedded:fresh"]).ok();
        assert_eq!(again, exported);
        std::fs::remove_dir_all(bench.path("fresh")).expect("a folder");
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
    on_both(|bench, access| {
        let leaf = bench
            .run(&with(&["get", &format!("{ETH0}/description")], access))
            .json();
        assert_eq!(leaf, json!({"ietf-interfaces:description": "uplink"}));
        let quoted = "/ietf-interfaces:interfaces/interface[name='a/b, \"c\"']/name";
        let leaf = bench.run(&with(&["get", quoted], access)).json();
        assert_eq!(leaf, json!({"ietf-interfaces:name": "a/b, \"c\""}));
        let encoded = "/ietf-interfaces:interfaces/interface=a%2Fb%2C%20%22c%22";
        let entry = bench
            .run(&with(&["get", encoded, "--fields", "name"], access))
            .json();
        assert_eq!(
            entry["ietf-interfaces:interface"][0],
            json!({"name": "a/b, \"c\""})
        );
        let enabled = format!("{ETH0}/enabled");
        let all = with(&["get", &enabled, "--with-defaults", "report-all"], access);
        assert_eq!(
            bench.run(&all).json(),
            json!({"ietf-interfaces:enabled": true})
        );
        let shallow = bench
            .run(&with(&["get", ETH0, "--depth", "2"], access))
            .json();
        assert_eq!(
            shallow["ietf-interfaces:interface"][0]["ietf-ip:ipv4"],
            json!({})
        );
        let xml = bench
            .run(&with(
                &["get", &format!("{ETH0}/type"), "--format", "xml"],
                access,
            ))
            .ok();
        assert!(xml.contains("ethernetCsmacd</type>"), "{xml}");
        let missing = bench.run(&with(
            &["get", "/ietf-interfaces:interfaces/interface=none"],
            access,
        ));
        assert!(missing.failed(1).contains("there is nothing at"));
    });
}

#[test]
fn set_and_delete_change_one_node() {
    on_both(|bench, access| {
        let mtu = format!("{ETH0}/ietf-ip:ipv4/mtu");
        bench.run(&with(&["set", &mtu, "9000"], access)).ok();
        assert_eq!(
            bench.run(&with(&["get", &mtu], access)).json(),
            json!({"ietf-ip:mtu": 9000})
        );
        let new = "/ietf-interfaces:interfaces/interface[name='new one']/type";
        bench
            .run(&with(
                &["set", new, "iana-if-type:softwareLoopback"],
                access,
            ))
            .ok();
        let read = bench.run(&with(&["get", new], access)).json();
        assert_eq!(
            read,
            json!({"ietf-interfaces:type": "iana-if-type:softwareLoopback"})
        );
        bench.run(&with(&["delete", ETH0], access)).ok();
        bench.run(&with(&["get", ETH0], access)).failed(1);
        let again = bench.run(&with(&["delete", ETH0], access)).failed(1);
        let is_told = again.contains("data-missing") || again.contains("no such instance");
        assert!(is_told, "{again}");
        let wrong = bench.run(&with(&["set", new, "no-such-type"], access));
        assert!(wrong.failed(1).contains("no-such-type"));
    });
}

#[test]
fn edit_applies_an_operation_for_each_node_in_one_commit() {
    on_both(|bench, access| {
        let change = json!({"ietf-interfaces:interfaces": {"interface": [
            {"@": {"ietf-netconf:operation": "delete"}, "name": "eth0"},
            {"@": {"ietf-netconf:operation": "create"}, "name": "eth1", "type": "iana-if-type:ethernetCsmacd"},
        ]}});
        bench.write("change.json", change.to_string());
        bench.run(&with(&["edit", "change.json"], access)).ok();
        bench.run(&with(&["get", ETH0], access)).failed(1);
        bench
            .run(&with(
                &["get", "/ietf-interfaces:interfaces/interface=eth1"],
                access,
            ))
            .ok();
        let before = bench.run(&with(&["export"], access)).ok();
        let refused = bench.run(&with(&["edit", "change.json"], access)).failed(1);
        assert!(
            refused.contains("data-missing") || refused.contains("data-exists"),
            "{refused}"
        );
        assert_eq!(bench.run(&with(&["export"], access)).ok(), before);
        let xml = "<interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\" \
            xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\
            <interface nc:operation=\"remove\"><name>eth1</name></interface></interfaces>";
        let arguments = with(&["edit", "-", "--format", "xml"], access);
        let outcome = bench.run_with(&arguments, xml.as_bytes(), &[]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        bench
            .run(&with(
                &["get", "/ietf-interfaces:interfaces/interface=eth1"],
                access,
            ))
            .failed(1);
    });
}

#[test]
fn load_merges_replaces_or_creates() {
    on_both(|bench, access| {
        let other = json!({"ietf-interfaces:interfaces": {"interface": [
            {"name": "lo", "type": "iana-if-type:softwareLoopback"},
        ]}});
        let text = other.to_string();
        let merged = bench.run_with(&with(&["load", "-"], access), text.as_bytes(), &[]);
        assert_eq!(merged.status, 0, "{merged:?}");
        bench.run(&with(&["get", ETH0], access)).ok();
        bench.write("other.json", &text);
        let told = bench
            .run(&with(
                &["load", "other.json", "--replace", "--json"],
                access,
            ))
            .json();
        assert_eq!(told["fragments"], json!(2), "{told}");
        assert_eq!(bench.run(&with(&["export"], access)).json(), other);
    });
}

#[test]
fn schema_prints_a_tree_or_json() {
    let bench = Bench::new();
    let tree = bench.run(&[&["schema"], &MODULES[..]].concat()).ok();
    assert!(tree.contains("module: ietf-interfaces"), "{tree}");
    assert!(tree.contains("+--rw interface* [name]"), "{tree}");
    let described = bench
        .run(&[&["schema", "--json"], &MODULES[..]].concat())
        .json();
    let nodes = described["nodes"].as_array().expect("nodes");
    let path = "/ietf-interfaces:interfaces/interface/ietf-ip:ipv4/mtu";
    assert!(nodes.iter().any(|node| node["path"] == path), "no {path}");
    on_both(|bench, access| {
        assert_eq!(bench.run(&with(&["schema"], access)).ok(), tree);
    });
    assert!(
        bench
            .run(&["schema", "--built-in"])
            .ok()
            .contains("ietf-ip@2018-02-22")
    );
}

#[test]
fn check_and_info_tell_about_a_store() {
    let (bench, access) = store();
    let checked = bench.run(&with(&["check", "--json"], &access)).json();
    assert_eq!(checked["findings"], json!([]), "{checked}");
    assert!(checked["keys"].as_u64() > Some(0), "{checked}");
    let info = bench.run(&with(&["info", "--json"], &access)).json();
    assert_eq!(info["engine"], "embedded");
    assert_eq!(info["dataspaces"][0]["anchors"][0]["name"], "default");
    assert!(
        bench
            .run(&with(&["info"], &access))
            .ok()
            .contains("ietf-ip@2018-02-22")
    );
}

#[test]
fn anchors_keep_apart() {
    let (bench, access) = store();
    let arguments = [
        "load",
        "interfaces.json",
        "--anchor",
        "second",
        "--dataspace",
        "other",
    ];
    bench
        .run(&[&arguments[..], &access, &MODULES].concat())
        .ok();
    bench
        .run(&with(
            &["delete", ETH0, "--anchor", "second", "--dataspace", "other"],
            &access,
        ))
        .ok();
    bench.run(&with(&["get", ETH0], &access)).ok();
    let unknown = bench
        .run(&with(&["get", ETH0, "--anchor", "third"], &access))
        .failed(1);
    assert!(
        unknown.contains("third") && unknown.contains("--yang"),
        "{unknown}"
    );
}

#[test]
fn a_store_takes_over_new_modules() {
    let bench = Bench::new();
    let module = |leaf: &str| {
        format!("module m {{ namespace \"urn:m\"; prefix m; container c {{ {leaf} }} }}")
    };
    bench.write("m.yang", module("leaf a { type string; }"));
    bench.write("a.json", r#"{"m:c": {"a": "x"}}"#);
    bench
        .run(&[
            "load",
            "a.json",
            "--store",
            "embedded:store",
            "--yang",
            "m.yang",
        ])
        .ok();
    bench.write(
        "m.yang",
        module("leaf a { type string; } leaf b { type int8; }"),
    );
    let set = ["set", "/m:c/b", "5", "--store", "embedded:store"];
    bench.run(&set).failed(2);
    bench.run(&[&set[..], &["--yang", "m.yang"]].concat()).ok();
    let read = bench.run(&["export", "--store", "embedded:store"]).json();
    assert_eq!(read, json!({"m:c": {"a": "x", "b": 5}}));
}

#[test]
fn modules_named_for_a_load_that_is_refused_are_not_taken_over() {
    let bench = Bench::new();
    for name in ["m", "n"] {
        let text = format!(
            "module {name} {{ namespace \"urn:{name}\"; prefix {name}; leaf {name} {{ type int8; }} }}"
        );
        bench.write(&format!("{name}.yang"), text);
    }
    let store = ["--store", "embedded:store"];
    let load = |file: &str, yang: &[&str]| bench.run(&[&["load", file], &store[..], yang].concat());
    let both = r#"{"m:m": 1, "n:n": 1}"#;
    bench.write("both.json", both);
    load("both.json", &["--yang", "m.yang", "--yang", "n.yang"]).ok();
    let modules = || {
        let info = bench.run(&["schema", "--store", "embedded:store", "--json"]);
        info.json()
    };
    let before = modules();
    let one = ["--yang", "m.yang"];
    bench.write("wrong.json", r#"{"m:m": 1000}"#);
    // What the fewer modules do not know, what is wrong, what is not there, what is not to be had.
    load("both.json", &one).failed(1);
    load("wrong.json", &one).failed(1);
    load("none.json", &one).failed(2);
    load("both.json", &[&one[..], &["--datastore", "none"]].concat()).failed(2);
    let set = ["set", "/m:m", "1000", "--store", "embedded:store"];
    bench.run(&[&set[..], &one].concat()).failed(1);
    let delete = ["delete", "/n:n", "--store", "embedded:store"];
    bench.run(&[&delete[..], &one].concat()).failed(1);
    bench.write("edit.json", r#"{"n:n": 2}"#);
    for file in ["edit.json", "none.json"] {
        let edit = ["edit", file, "--store", "embedded:store"];
        let ended = bench.run(&[&edit[..], &one].concat());
        assert_ne!(ended.status, 0, "{ended:?}");
    }
    assert_eq!(modules(), before);
    let read = bench.run(&[&["export"], &store[..]].concat()).json();
    assert_eq!(read, serde_json::from_str::<Value>(both).expect("JSON"));

    bench.write("one.json", r#"{"m:m": 2}"#);
    load("one.json", &one).failed(1);
    load("one.json", &[&one[..], &["--drop-unknown"]].concat()).ok();
    assert_ne!(modules(), before);
    let read = bench.run(&[&["export"], &store[..]].concat()).json();
    assert_eq!(read, json!({"m:m": 2}));
}

#[test]
fn completions_are_there_for_each_shell() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            bench.run(&["completions", shell]).ok().contains("export"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let bench = Bench::new();
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
        let help = bench.run(&[command, "--help"]).ok();
        assert!(help.contains("Examples:"), "{command}: {help}");
    }
    assert!(bench.run(&["--help"]).ok().contains("ESPALIER_STORE"));
}
