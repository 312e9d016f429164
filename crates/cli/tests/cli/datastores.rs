//! Candidates, locks, confirmed commits and copies: on a store, and through a server.

use serde_json::{Value, json};

use crate::interfaces_data::store;
use crate::process::Sandbox;

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";

/// Runs `check` on a store, then through a server of it.
fn on_store_and_server(check: impl Fn(&Target<'_>)) {
    let (sandbox, access) = store();
    check(&Target {
        sandbox: &sandbox,
        access: &access,
    });
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    let access = ["--server", server.url.as_str()];
    check(&Target {
        sandbox: &sandbox,
        access: &access,
    });
}

struct Target<'a> {
    sandbox: &'a Sandbox,
    access: &'a [&'a str],
}

impl Target<'_> {
    fn run(&self, line: &str) -> crate::process::Outcome {
        let words: Vec<&str> = line.split(' ').collect();
        self.sandbox.run(&[&words, self.access].concat())
    }

    fn ok(&self, line: &str) -> String {
        self.run(line).ok()
    }

    fn failed(&self, line: &str) -> String {
        self.run(line).failed(1)
    }

    fn mtu(&self, more: &str) -> u64 {
        let value: Value = self.run(&format!("get {MTU}{more}")).json();
        value["ietf-ip:mtu"].as_u64().expect("an mtu")
    }
}

#[test]
fn candidate_is_changed_read_validated_and_committed() {
    on_store_and_server(|target| {
        target.ok(&format!(
            "set {MTU} 9000 --datastore candidate --author maria"
        ));
        assert_eq!(
            (target.mtu(""), target.mtu(" --datastore candidate")),
            (1500, 9000)
        );
        assert_eq!(target.ok("validate"), "valid\n");
        assert_eq!(
            target.ok("commit --author maria --comment bigger"),
            "committed: version 2\n"
        );
        assert_eq!(target.mtu(""), 9000);
        assert_eq!(target.mtu(" --datastore intended"), 9000);
        assert_eq!(target.ok("commit"), "nothing differs\n");
        let line: Value = target.run("history --limit 1 --json").json();
        assert_eq!(
            (&line["author"], &line["comment"]),
            (&json!("maria"), &json!("bigger"))
        );
    });
}

#[test]
fn discard_resets_the_candidate_and_private_candidates_are_independent() {
    on_store_and_server(|target| {
        target.ok(&format!("set {MTU} 9000 --datastore candidate"));
        target.ok("discard");
        assert_eq!(target.mtu(" --datastore candidate"), 1500);
        let private = "--datastore private-candidate --session";
        target.ok(&format!("set {MTU} 8000 {private} one"));
        target.ok(&format!("set {MTU} 7000 {private} two"));
        assert_eq!(target.mtu(&format!(" {private} one")), 8000);
        assert_eq!(target.mtu(&format!(" {private} two")), 7000);
        target.ok(&format!("commit {private} one"));
        assert_eq!(target.mtu(""), 8000);
        let output = target.failed(&format!("commit {private} two"));
        for part in [MTU_IDENTIFIER, "1500", "8000", "7000"] {
            assert!(output.contains(part), "{output}");
        }
        target.failed(&format!("update {private} two"));
        let output = target.ok(&format!("update --prefer candidate {private} two"));
        assert!(output.contains("1 conflict resolved"), "{output}");
        target.ok(&format!("commit {private} two"));
        assert_eq!(target.mtu(""), 7000);
        let without_session = target.run(&format!("get {MTU} --datastore private-candidate"));
        assert_ne!(without_session.status, 0);
    });
}

const MTU_IDENTIFIER: &str = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";

#[test]
fn locks_exclude_other_sessions_until_released_or_broken() {
    on_store_and_server(|target| {
        target.ok("lock --session maria");
        let output = target.failed(&format!("set {MTU} 9000"));
        assert!(
            output.contains("in-use") && output.contains("maria"),
            "{output}"
        );
        target.failed(&format!("delete {ETH0}"));
        let output = target.failed("lock --session jan");
        assert!(
            output.contains("refused") && !output.contains("not valid"),
            "{output}"
        );
        assert!(
            output.contains("lock-denied") && output.contains("--force"),
            "{output}"
        );
        assert!(target.ok("locks").contains("locked by session “maria”"));
        target.ok(&format!("set {MTU} 9000 --session maria"));
        target.failed("unlock --session jan");
        target.ok("unlock --session maria");
        target.ok(&format!("set {MTU} 1500"));
        let locked: Value = target
            .run(&format!("lock {ETH0} --session maria --json"))
            .json();
        target.failed(&format!("set {MTU} 9000"));
        target.ok(&format!("unlock --force --id {}", locked["id"]));
        target.ok(&format!("set {MTU} 9000"));
        target.ok("lock --session maria");
        target.ok("unlock --all --session maria");
        assert_eq!(target.ok("locks"), "running: nothing holds it\n");
    });
}

#[test]
fn confirmed_commit_is_confirmed_cancelled_or_rolled_back() {
    on_store_and_server(|target| {
        target.ok(&format!("set {MTU} 9000 --datastore candidate"));
        let output = target.ok("commit --confirmed 60 --persist move");
        assert!(output.contains("confirm it within 60 s"), "{output}");
        assert!(target.ok("locks").contains("to be confirmed"));
        target.failed("commit");
        target.failed("commit --persist-id other");
        assert_eq!(target.ok("commit --persist-id move"), "confirmed\n");
        assert_eq!(target.mtu(""), 9000);
        assert_eq!(target.ok("commit"), "nothing differs\n");
        target.ok(&format!("set {MTU} 8000 --datastore candidate"));
        target.ok("commit --confirmed");
        assert_eq!(target.mtu(""), 8000);
        target.ok("commit --cancel");
        assert_eq!(target.mtu(""), 9000);
        target.ok(&format!("set {MTU} 8000 --datastore candidate"));
        target.ok("commit --confirmed");
        target.ok(&format!("set {MTU} 9000 --datastore candidate"));
        assert!(target.ok("commit").contains("; that before is confirmed"));
        assert_eq!(target.mtu(""), 9000);
        target.ok(&format!("set {MTU} 8000 --datastore candidate"));
        target.ok("commit --confirmed 0");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while target.mtu("") != 9000 {
            assert!(std::time::Instant::now() < deadline, "it is not taken back");
        }
    });
}

#[test]
fn datastores_are_copied_and_factory_default_is_changed_by_load_only() {
    on_store_and_server(|target| {
        target.ok("copy-config running startup");
        target.ok(&format!("set {MTU} 9000"));
        assert_eq!(target.mtu(" --datastore startup"), 1500);
        target.ok("copy-config startup running");
        assert_eq!(target.mtu(""), 1500);
        assert_eq!(
            target.ok("copy-config startup running"),
            "nothing differs\n"
        );
        target.ok("delete-config startup");
        target.failed("delete-config running");
        target.failed("copy-config running intended");
        target.failed(&format!("set {MTU} 9000 --datastore factory-default"));
        target.failed(&format!("set {MTU} 9000 --datastore intended"));
        target.ok("copy-config running factory-default");
        assert_eq!(target.mtu(" --datastore factory-default"), 1500);
    });
}

#[test]
fn unknown_datastore_name_is_reported() {
    on_store_and_server(|target| {
        let output = target
            .run(&format!("get {MTU} --datastore candidat"))
            .failed(2);
        assert!(output.contains("private-candidate"), "{output}");
        assert!(
            target
                .failed("commit --datastore candidat")
                .contains("candidat")
        );
        assert!(
            target
                .failed("commit --datastore running")
                .contains("running")
        );
    });
}

#[test]
fn edit_is_tested_without_being_applied() {
    on_store_and_server(|target| {
        let name = "ietf-interfaces:interfaces";
        let change =
            json!({name: {"interface": [{"name": "eth0", "ietf-ip:ipv4": {"mtu": 9000}}]}});
        target.sandbox.write("change.json", change.to_string());
        let output = target.ok("edit change.json --test-option test-only");
        assert_eq!(
            (output.as_str(), target.mtu("")),
            ("valid; nothing was done\n", 1500)
        );
        // An interface without a type is rejected, as by the edit itself.
        let broken = json!({name: {"interface": [{"name": "new"}]}});
        target.sandbox.write("broken.json", broken.to_string());
        let rejected = target.failed("edit broken.json --test-option test-only");
        assert!(rejected.contains("type"), "{rejected}");
        // A candidate is validated on request only.
        target.ok("edit broken.json --datastore candidate");
        target.failed("edit broken.json --datastore candidate --test-option test-then-set");
        target.ok("discard");
        let none = target.failed("edit broken.json --default-operation none");
        assert!(none.contains("new"), "{none}");
        target.ok("edit change.json --default-operation replace --datastore candidate");
        let kept: Value = target
            .run(&format!("get /{name} --datastore candidate"))
            .json();
        let kept = kept[name]["interface"].as_array().map(Vec::len);
        assert_eq!(
            (kept, target.mtu(" --datastore candidate")),
            (Some(1), 9000)
        );
    });
}

#[test]
fn origins_of_the_operational_datastore_are_reported() {
    on_store_and_server(|target| {
        let output = target.ok(&format!("get {ETH0} --datastore operational --with-origin"));
        assert!(output.contains("ietf-origin:intended"), "{output}");
        let output = target.ok(&format!("get {ETH0} --datastore operational"));
        assert!(!output.contains("ietf-origin"), "{output}");
    });
}
