//! Earlier versions: listed, compared, read and brought back, on a store and through a server.

use serde_json::{Value, json};

use crate::documents::store;
use crate::process::Bench;

const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";
const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";

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

/// Version 1 is the load; 2 sets a leaf, 3 deletes another entry.
fn three_versions(bench: &Bench, access: &[&str]) {
    bench.run(&with(&["set", MTU, "9000"], access)).ok();
    let other = "/ietf-interfaces:interfaces/interface=a%2Fb%2C%20%22c%22";
    bench.run(&with(&["delete", other], access)).ok();
}

#[test]
fn history_lists_commits_newest_first() {
    on_both(|bench, access| {
        three_versions(bench, access);
        let text = bench.run(&with(&["history"], access)).ok();
        let versions: Vec<&str> = text
            .lines()
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        assert_eq!(versions, ["3", "2", "1"], "{text}");
        let some = ["history", "--from", "2", "--limit", "1", "--json"];
        let line: Value = bench.run(&with(&some, access)).json();
        assert_eq!(line["version"], json!(2));
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    });
}

#[test]
fn diff_prints_a_line_for_each_change() {
    on_both(|bench, access| {
        three_versions(bench, access);
        let changed = bench.run(&with(&["diff", "1", "2"], access)).ok();
        let path = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";
        assert_eq!(changed, format!("~ {path}: 1500 -> 9000\n"));
        let line = bench
            .run(&with(&["diff", "2", "1", "--json"], access))
            .json();
        let expected =
            json!({"operation": "replace", "target": path, "value": 1500, "source-value": 9000});
        assert_eq!(line, expected);
        let deleted = bench.run(&with(&["diff", "1", "3"], access)).ok();
        let signs: Vec<&str> = deleted.lines().map(|line| &line[..1]).collect();
        assert_eq!(signs, ["-", "-", "~"], "{deleted}");
        let below = bench.run(&with(&["diff", "1", "3", ETH0], access)).ok();
        assert_eq!(below, changed);
        assert_eq!(bench.run(&with(&["diff", "3", "3"], access)).ok(), "");
        let all = bench.run(&with(&["diff", "0", "3"], access)).ok();
        assert!(all.lines().all(|line| line.starts_with('+')), "{all}");
    });
}

#[test]
fn get_reads_an_earlier_version() {
    on_both(|bench, access| {
        three_versions(bench, access);
        let leaf = bench.run(&with(&["get", MTU, "--at", "1"], access)).json();
        assert_eq!(leaf, json!({"ietf-ip:mtu": 1500}));
        let at = ["get", "/", "--at", "1"];
        let now = ["get", "/"];
        let entries = |arguments: &[&str]| {
            let all = bench.run(&with(arguments, access)).json();
            let list = &all["ietf-interfaces:interfaces"]["interface"];
            list.as_array().unwrap().len()
        };
        assert_eq!((entries(&at), entries(&now)), (2, 1));
        let missing = bench.run(&with(&["get", ETH0, "--at", "0"], access));
        assert!(missing.failed(1).contains("there is nothing at"));
        let xml = ["get", MTU, "--at", "2", "--format", "xml"];
        let xml = bench.run(&with(&xml, access)).ok();
        assert!(xml.contains(">9000</mtu>"), "{xml}");
    });
}

#[test]
fn rollback_brings_a_version_back_by_a_commit() {
    on_both(|bench, access| {
        three_versions(bench, access);
        let before = bench.run(&with(&["get", "/", "--at", "1"], access)).ok();
        let back = [
            "rollback",
            "1",
            "--author",
            "ada",
            "--comment",
            "too large",
            "--json",
        ];
        let told = bench.run(&with(&back, access)).json();
        assert_eq!(told, json!({"version": 4, "changed": true}));
        assert_eq!(bench.run(&with(&["get", "/"], access)).ok(), before);
        let newest = ["history", "--limit", "1", "--json"];
        let newest = bench.run(&with(&newest, access)).json();
        let told = (&newest["version"], &newest["author"], &newest["comment"]);
        assert_eq!(told, (&json!(4), &json!("ada"), &json!("too large")));
        let again = bench.run(&with(&["rollback", "4"], access)).ok();
        assert_eq!(again, "nothing differs\n");
        let text = bench.run(&with(&["rollback", "3"], access)).ok();
        assert_eq!(text, "version 5\n");
    });
}

#[test]
fn versions_that_are_not_kept_are_refused_with_what_to_do() {
    on_both(|bench, access| {
        three_versions(bench, access);
        for arguments in [
            &["diff", "1", "9"][..],
            &["get", "/", "--at", "9"],
            &["rollback", "9"],
        ] {
            let told = bench.run(&with(arguments, access)).failed(1);
            assert!(
                told.contains("there is no version 9; the newest is 3"),
                "{told}"
            );
            assert!(told.contains("`espalier history` lists"), "{told}");
        }
        let keep = ["history", "--keep", "2", "--keep-age", "30d", "--json"];
        let told = bench.run(&with(&keep, access)).json();
        let expected = json!({"keep": {"versions": 2, "age-seconds": 2_592_000}});
        assert_eq!(told, expected);
        bench.run(&with(&["set", MTU, "1400"], access)).ok();
        let text = bench.run(&with(&["history"], access)).ok();
        assert_eq!(text.lines().count(), 2, "{text}");
        let told = bench
            .run(&with(&["get", "/", "--at", "2"], access))
            .failed(1);
        let expected = "version 2 is no longer retained; the oldest retained version is 3";
        assert!(told.contains(expected), "{told}");
        let wrong = ["history", "--keep-age", "soon"];
        let told = bench.run(&with(&wrong, access)).failed(2);
        assert!(told.contains("as in 30d"), "{told}");
    });
}
