//! The audit log: of commands on a store, of a server, and who may read it.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::interfaces_data::store;
use crate::process::{Sandbox, Server};
use crate::users::{ETH0, PASSWORD, add_user, basic, run_as, send, wait_for_status};

const STORE: [&str; 2] = ["--store", "embedded:store"];

/// The path of an interface's description in the log.
const DESCRIPTION: &str = "/ietf-interfaces:interfaces/interface[name='eth0']/description";

/// The records of a store, the oldest first.
fn records(sandbox: &Sandbox, options: &[&str]) -> Vec<Value> {
    let list = ["audit", "list", "--oldest-first", "--json"];
    let text = sandbox.run(&[&list, options, &STORE].concat()).ok();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

/// The operation, the user and the result of each record.
fn summary(records: &[Value]) -> Vec<[&str; 3]> {
    let text = |record: &Value, name: &str| -> &'static str {
        let text = record[name].as_str().unwrap_or("-").to_owned();
        text.leak()
    };
    records
        .iter()
        .map(|record| ["operation", "user", "result"].map(|name| text(record, name)))
        .collect()
}

fn serve(sandbox: &Sandbox, access: &[&str], options: &[&str]) -> Server {
    sandbox.serve(&[access, options].concat())
}

#[test]
fn commands_on_a_store_are_recorded_with_the_user_of_the_process() {
    let (sandbox, access) = store();
    let before = records(&sandbox, &[]).len();
    let set = ["set", &*format!("{ETH0}/description"), "core link"];
    sandbox.run(&[&set, &access[..]].concat()).ok();
    let wrong = ["set", &*format!("{ETH0}/enabled"), "perhaps"];
    sandbox.run(&[&wrong, &access[..]].concat()).failed(1);
    let missing = ["delete", &*format!("{ETH0}/description"), "--comment", "x"];
    sandbox.run(&[&missing, &access[..]].concat()).ok();
    sandbox.run(&[&missing, &access[..]].concat()).failed(1);
    // Reads are not recorded.
    sandbox.run(&[&["get", ETH0], &access[..]].concat()).ok();
    let records = records(&sandbox, &[]);
    let changes = &records[before..];
    let user = changes[0]["user"].as_str().expect("a user").to_owned();
    assert_eq!(
        summary(changes),
        [
            ["edit", &*user, "ok"],
            ["edit", &*user, "ok"],
            ["edit", &*user, "data-missing"],
        ]
    );
    let edit = &changes[0];
    assert_eq!(edit["paths"], json!([DESCRIPTION]));
    assert_eq!(edit["transport"], "command-line");
    let target = json!({"datastore": {
        "dataspace": "default", "anchor": "default", "datastore": "running",
    }});
    assert_eq!(edit["target"], target);
    let history = ["history", "--limit", "1", "--json"];
    let history = sandbox.run(&[&history, &access[..]].concat()).json();
    assert_eq!(changes[1]["version"], history["version"]);
    // No value of a leaf is in the log.
    assert!(!json!(records).to_string().contains("core link"));
}

#[test]
fn a_server_records_logins_changes_denials_and_its_own_life() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    add_user(&sandbox, &["reader"]);
    let begun = records(&sandbox, &[]).len();
    let server = serve(&sandbox, &access, &["--audit-file", "audit.jsonl"]);
    let description = format!("{ETH0}/description");
    run_as(&sandbox, &server, "maria", &["set", &description, "a"]).ok();
    run_as(&sandbox, &server, "reader", &["set", &description, "b"]).failed(1);
    run_as(&sandbox, &server, "reader", &["get", ETH0]).ok();
    for user in ["maria", "my-secret-typed-as-a-name"] {
        let wrong = [("authorization", &*basic(user, "guess"))];
        let answer = send(&server, "GET", "/restconf/data", &wrong, "");
        assert_eq!(answer.status, 401);
    }
    let maria = [("authorization", &*basic("maria", PASSWORD))];
    let reader = [("authorization", &*basic("reader", PASSWORD))];
    let write = r#"{"metric":"orders","values":{"count":1}}"#;
    let tracked = send(&server, "POST", "/stats/track", &maria, write);
    assert_eq!(tracked.status, 200, "{tracked:?}");
    let denied = send(&server, "POST", "/stats/track", &reader, write);
    assert_eq!(denied.status, 403, "{denied:?}");
    assert_eq!(server.terminate(), Some(0));
    let all = records(&sandbox, &[]);
    let served = &all[begun..];
    let without_logins: Vec<_> = summary(served)
        .into_iter()
        .filter(|[operation, ..]| *operation != "login")
        .collect();
    assert_eq!(
        without_logins,
        [
            ["server-start", "-", "ok"],
            ["edit", "maria", "ok"],
            ["edit", "reader", "access-denied"],
            ["login-failed", "maria", "access-denied"],
            ["login-failed", "-", "access-denied"],
            ["edit", "maria", "ok"],
            ["edit", "reader", "access-denied"],
            ["server-stop", "-", "ok"],
        ]
    );
    let logins = served
        .iter()
        .filter(|record| record["operation"] == "login");
    let logins: Vec<_> = logins.map(|record| &record["user"]).collect();
    assert!(logins.contains(&&json!("maria")) && logins.contains(&&json!("reader")));
    let metric = json!({"metric": "orders"});
    let tracked: Vec<_> = served
        .iter()
        .filter(|record| record["target"] == metric)
        .collect();
    assert_eq!(tracked.len(), 2);
    assert_eq!(tracked[0]["paths"], json!(["/stats/track"]));
    // The copy has the same records, and only its owner can read it.
    let copy = std::fs::read_to_string(sandbox.path("audit.jsonl")).expect("the copy");
    let copied: Vec<Value> = copy
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    assert_eq!(copied, served);
    let mode = std::fs::metadata(sandbox.path("audit.jsonl")).expect("the copy");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    for secret in [PASSWORD, "guess", "my-secret-typed-as-a-name"] {
        assert!(!copy.contains(secret), "{secret}");
    }
}

#[test]
fn the_log_is_read_by_those_whom_a_rule_permits_it() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["maria", "--admin"]);
    add_user(&sandbox, &["auditor", "--group", "auditors"]);
    add_user(&sandbox, &["reader"]);
    let server = serve(&sandbox, &access, &[]);
    let maria = basic("maria", PASSWORD);
    wait_for_status(&server, Some(&maria), 200);
    let status = |user: &str, method: &str, path: &str, body: &str| {
        let login = [("authorization", &*basic(user, PASSWORD))];
        send(&server, method, path, &login, body).status
    };
    for user in ["auditor", "reader"] {
        assert_eq!(status(user, "GET", "/audit", ""), 403, "{user}");
        assert_eq!(status(user, "GET", "/audit/settings", ""), 403, "{user}");
    }
    assert_eq!(status("maria", "GET", "/audit", ""), 200);
    let rules = json!({"ietf-netconf-acm:nacm": {"rule-list": [{
        "name": "auditors", "group": ["auditors"], "rule": [{
            "name": "read", "espalier-access:audit-log": [null],
            "access-operations": "read", "action": "permit",
        }],
    }]}});
    let rules = sandbox.write("rules.json", rules.to_string());
    let server_anchor = ["--dataspace", "espalier", "--anchor", "server"];
    sandbox
        .run(&[&["load", &rules], &STORE[..], &server_anchor[..]].concat())
        .ok();
    wait_for_status(&server, Some(&maria), 200);
    let started = std::time::Instant::now();
    while status("auditor", "GET", "/audit", "") != 200 {
        assert!(started.elapsed().as_secs() < 20);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(status("reader", "GET", "/audit", ""), 403);
    let patch = r#"{"mode":"off"}"#;
    assert_eq!(status("auditor", "PATCH", "/audit/settings", patch), 403);
    let listed = run_as(&sandbox, &server, "auditor", &["audit", "list", "--json"]).ok();
    assert!(listed.contains("\"login\""), "{listed}");
    let change = ["audit", "settings", "--record", "reads", "--json"];
    let settings = run_as(&sandbox, &server, "maria", &change).json();
    assert_eq!(settings["filter"]["reads"], true);
    run_as(&sandbox, &server, "reader", &["get", ETH0]).ok();
    let reads = [
        "audit",
        "list",
        "--operation",
        "read",
        "--of-user",
        "reader",
        "--json",
    ];
    let reads = run_as(&sandbox, &server, "maria", &reads).ok();
    assert!(reads.contains("interface[name='eth0']"), "{reads}");
    let off = ["audit", "settings", "--mode", "off"];
    run_as(&sandbox, &server, "maria", &off).ok();
    let last = run_as(
        &sandbox,
        &server,
        "maria",
        &["audit", "list", "--limit", "1"],
    )
    .ok();
    // Whoever switches the log off leaves a record.
    assert!(
        last.contains("audit-settings") && last.contains("maria"),
        "{last}"
    );
    assert_eq!(last.lines().count(), 1, "{last}");
}

#[test]
fn in_strict_mode_a_record_is_stored_before_the_response() {
    let (sandbox, access) = store();
    sandbox
        .run(&[&["audit", "settings", "--mode", "strict"], &STORE[..]].concat())
        .ok();
    let server = serve(&sandbox, &access, &[]);
    let path = "/restconf/data/ietf-interfaces:interfaces/interface=eth0";
    let body = r#"{"ietf-interfaces:interface":[{"name":"eth0","description":"x"}]}"#;
    let headers = [("content-type", "application/yang-data+json")];
    let answer = server.request_with("PATCH", path, &headers, Some(body));
    assert_eq!(answer.status, 204, "{answer:?}");
    server.kill();
    let records = records(&sandbox, &["--operation", "edit"]);
    let last = records.last().expect("the record");
    assert_eq!(last["paths"], json!([DESCRIPTION]));
    assert_eq!(last["transport"], "http");
}

#[test]
fn an_export_has_every_selected_record() {
    let (sandbox, access) = store();
    for word in ["a", "b", "c"] {
        let set = ["set", &*format!("{ETH0}/description"), word];
        sandbox.run(&[&set, &access[..]].concat()).ok();
    }
    let export = [
        "audit",
        "export",
        "--path",
        "/ietf-interfaces:interfaces",
        "-o",
        "a.jsonl",
    ];
    sandbox.run(&[&export, &STORE[..]].concat()).ok();
    let exported = std::fs::read_to_string(sandbox.path("a.jsonl")).expect("the export");
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let future = ["audit", "list", "--since", "2999-01-01T00:00:00Z"];
    assert_eq!(sandbox.run(&[&future, &STORE[..]].concat()).ok(), "");
    let wrong = ["audit", "list", "--operation", "teleport"];
    let message = sandbox.run(&[&wrong, &STORE[..]].concat()).failed(2);
    assert!(message.contains("teleport"), "{message}");
}

#[test]
fn reads_of_the_state_of_the_server_are_recorded_for_the_anchor() {
    let (sandbox, access) = store();
    let reads = ["audit", "settings", "--record", "reads"];
    sandbox.run(&[&reads, &STORE[..]].concat()).ok();
    let server = serve(&sandbox, &access, &[]);
    let state = "/restconf/data/ietf-yang-library:yang-library/content-id";
    let data = "/restconf/data/ietf-interfaces:interfaces";
    for path in [state, data, state] {
        let anchor = format!("/dataspaces/default/anchors/default{path}");
        assert_eq!(send(&server, "GET", path, &[], "").status, 200, "{path}");
        assert_eq!(send(&server, "GET", &anchor, &[], "").status, 200, "{path}");
    }
    // A client that follows the log does not read of its own reads.
    assert_eq!(send(&server, "GET", "/audit", &[], "").status, 200);
    assert_eq!(server.terminate(), Some(0));
    let records = records(&sandbox, &["--operation", "read"]);
    assert_eq!(records.len(), 6, "{records:?}");
    for record in records {
        let target = &record["target"]["datastore"];
        assert_eq!(target["dataspace"], "default", "{record}");
        assert_eq!(target["anchor"], "default", "{record}");
    }
}

#[test]
fn changes_of_modules_by_commands_are_recorded() {
    let (sandbox, access) = store();
    let changes = records(&sandbox, &["--operation", "schema-change"]);
    assert_eq!(changes.len(), 1, "{changes:?}");
    let upgrade = [
        "upgrade",
        "--yang",
        "ietf-interfaces",
        "--yang",
        "iana-if-type",
    ];
    let upgrade = [&upgrade, &access[..], &["--drop-unknown"]].concat();
    sandbox.run(&upgrade).ok();
    let changes = records(&sandbox, &["--operation", "schema-change"]);
    assert_eq!(changes.len(), 2, "{changes:?}");
    let target = json!({"schema-set": {"dataspace": "default", "name": "default"}});
    assert_eq!(changes[1]["target"], target);
}

#[test]
fn conditions_that_no_record_can_meet_are_refused() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    for (name, value, expected) in [
        ("result", "teapot", "an error-tag such as"),
        ("result", "", "an error-tag such as"),
        ("path", "interfaces", "an instance identifier"),
        ("path", "/interfaces", "an instance identifier"),
        ("operation", "teleport", "teleport"),
        ("limit", "0", "0"),
    ] {
        let option = format!("--{name}");
        for place in [&STORE[..], &["--server", &*server.url]] {
            let list = ["audit", "list", &*option, value];
            let error = sandbox.run(&[&list, place].concat()).failed(2);
            assert!(error.contains(expected), "{name}={value}: {error}");
        }
        let answer = server.request("GET", &format!("/audit?{name}={value}"), None);
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    for (name, value) in [("result", "access-denied"), ("path", DESCRIPTION)] {
        records(&sandbox, &[&format!("--{name}"), value]);
    }
}
