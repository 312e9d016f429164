//! Earlier versions: listed, compared, read and brought back, on a store and through a server.

use serde_json::{Value, json};

use crate::interfaces_data::store;
use crate::process::Sandbox;

const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";
const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";

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

/// Version 1 is the load; 2 sets a leaf, 3 deletes another entry.
fn three_versions(sandbox: &Sandbox, access: &[&str]) {
    sandbox
        .run(&with_access(&["set", MTU, "9000"], access))
        .ok();
    let other = "/ietf-interfaces:interfaces/interface=a%2Fb%2C%20%22c%22";
    sandbox.run(&with_access(&["delete", other], access)).ok();
}

#[test]
fn history_lists_commits_newest_first() {
    on_store_and_server(|sandbox, access| {
        three_versions(sandbox, access);
        let text = sandbox.run(&with_access(&["history"], access)).ok();
        let versions: Vec<&str> = text
            .lines()
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        assert_eq!(versions, ["3", "2", "1"], "{text}");
        let page = ["history", "--from", "2", "--limit", "1", "--json"];
        let line: Value = sandbox.run(&with_access(&page, access)).json();
        assert_eq!(line["version"], json!(2));
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    });
}

#[test]
fn diff_prints_a_line_for_each_change() {
    on_store_and_server(|sandbox, access| {
        three_versions(sandbox, access);
        let changed = sandbox.run(&with_access(&["diff", "1", "2"], access)).ok();
        let path = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";
        assert_eq!(changed, format!("~ {path}: 1500 -> 9000\n"));
        let line = sandbox
            .run(&with_access(&["diff", "2", "1", "--json"], access))
            .json();
        let expected =
            json!({"operation": "replace", "target": path, "value": 1500, "source-value": 9000});
        assert_eq!(line, expected);
        let deleted = sandbox.run(&with_access(&["diff", "1", "3"], access)).ok();
        let signs: Vec<&str> = deleted.lines().map(|line| &line[..1]).collect();
        assert_eq!(signs, ["-", "-", "~"], "{deleted}");
        let below = sandbox
            .run(&with_access(&["diff", "1", "3", ETH0], access))
            .ok();
        assert_eq!(below, changed);
        assert_eq!(
            sandbox.run(&with_access(&["diff", "3", "3"], access)).ok(),
            ""
        );
        let all = sandbox.run(&with_access(&["diff", "0", "3"], access)).ok();
        assert!(all.lines().all(|line| line.starts_with('+')), "{all}");
    });
}

#[test]
fn get_reads_an_earlier_version() {
    on_store_and_server(|sandbox, access| {
        three_versions(sandbox, access);
        let leaf = sandbox
            .run(&with_access(&["get", MTU, "--at", "1"], access))
            .json();
        assert_eq!(leaf, json!({"ietf-ip:mtu": 1500}));
        let at = ["get", "/", "--at", "1"];
        let now = ["get", "/"];
        let entries = |arguments: &[&str]| {
            let all = sandbox.run(&with_access(arguments, access)).json();
            let list = &all["ietf-interfaces:interfaces"]["interface"];
            list.as_array().unwrap().len()
        };
        assert_eq!((entries(&at), entries(&now)), (2, 1));
        let missing = sandbox.run(&with_access(&["get", ETH0, "--at", "0"], access));
        assert!(missing.failed(1).contains("there is nothing at"));
        let xml = ["get", MTU, "--at", "2", "--format", "xml"];
        let xml = sandbox.run(&with_access(&xml, access)).ok();
        assert!(xml.contains(">9000</mtu>"), "{xml}");
    });
}

#[test]
fn rollback_restores_a_version_by_a_commit() {
    on_store_and_server(|sandbox, access| {
        three_versions(sandbox, access);
        let before = sandbox
            .run(&with_access(&["get", "/", "--at", "1"], access))
            .ok();
        let back = [
            "rollback",
            "1",
            "--author",
            "ada",
            "--comment",
            "too large",
            "--json",
        ];
        let output = sandbox.run(&with_access(&back, access)).json();
        assert_eq!(output, json!({"version": 4, "changed": true}));
        assert_eq!(
            sandbox.run(&with_access(&["get", "/"], access)).ok(),
            before
        );
        let newest = ["history", "--limit", "1", "--json"];
        let newest = sandbox.run(&with_access(&newest, access)).json();
        let output = (&newest["version"], &newest["author"], &newest["comment"]);
        assert_eq!(output, (&json!(4), &json!("ada"), &json!("too large")));
        let again = sandbox.run(&with_access(&["rollback", "4"], access)).ok();
        assert_eq!(again, "nothing differs\n");
        let text = sandbox.run(&with_access(&["rollback", "3"], access)).ok();
        assert_eq!(text, "version 5\n");
    });
}

#[test]
fn missing_versions_are_rejected_with_a_hint() {
    on_store_and_server(|sandbox, access| {
        three_versions(sandbox, access);
        for arguments in [
            &["diff", "1", "9"][..],
            &["get", "/", "--at", "9"],
            &["rollback", "9"],
        ] {
            let output = sandbox.run(&with_access(arguments, access)).failed(1);
            assert!(
                output.contains("there is no version 9; the newest is 3"),
                "{output}"
            );
            assert!(output.contains("`espalier history` lists"), "{output}");
        }
        let keep = ["history", "--keep", "2", "--keep-age", "30d", "--json"];
        let output = sandbox.run(&with_access(&keep, access)).json();
        let expected = json!({"keep": {"versions": 2, "age-seconds": 2_592_000}});
        assert_eq!(output, expected);
        sandbox
            .run(&with_access(&["set", MTU, "1400"], access))
            .ok();
        let text = sandbox.run(&with_access(&["history"], access)).ok();
        assert_eq!(text.lines().count(), 2, "{text}");
        let output = sandbox
            .run(&with_access(&["get", "/", "--at", "2"], access))
            .failed(1);
        let expected = "version 2 is no longer retained; the oldest retained version is 3";
        assert!(output.contains(expected), "{output}");
        let wrong = ["history", "--keep-age", "soon"];
        let output = sandbox.run(&with_access(&wrong, access)).failed(2);
        assert!(output.contains("as in 30d"), "{output}");
    });
}
