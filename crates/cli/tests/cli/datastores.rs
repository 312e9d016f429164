//! Candidates, locks, confirmed commits and copies: on a store, and through a server.

use serde_json::{Value, json};

use crate::documents::store;
use crate::process::Bench;

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const ETH0: &str = "/ietf-interfaces:interfaces/interface=eth0";

/// Runs `check` on a store, then through a server of it.
fn on_both(check: impl Fn(&Setting<'_>)) {
    let (bench, access) = store();
    check(&Setting {
        bench: &bench,
        access: &access,
    });
    let (bench, access) = store();
    let server = bench.serve(&access);
    let access = ["--server", server.url.as_str()];
    check(&Setting {
        bench: &bench,
        access: &access,
    });
}

struct Setting<'a> {
    bench: &'a Bench,
    access: &'a [&'a str],
}

impl Setting<'_> {
    fn run(&self, line: &str) -> crate::process::Outcome {
        let words: Vec<&str> = line.split(' ').collect();
        self.bench.run(&[&words, self.access].concat())
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
fn a_candidate_is_changed_looked_at_validated_and_committed() {
    on_both(|at| {
        at.ok(&format!(
            "set {MTU} 9000 --datastore candidate --author maria"
        ));
        assert_eq!((at.mtu(""), at.mtu(" --datastore candidate")), (1500, 9000));
        assert_eq!(at.ok("validate"), "valid\n");
        assert_eq!(
            at.ok("commit --author maria --comment bigger"),
            "committed: version 2\n"
        );
        assert_eq!(at.mtu(""), 9000);
        assert_eq!(at.mtu(" --datastore intended"), 9000);
        assert_eq!(at.ok("commit"), "nothing differs\n");
        let line: Value = at.run("history --limit 1 --json").json();
        assert_eq!(
            (&line["author"], &line["comment"]),
            (&json!("maria"), &json!("bigger"))
        );
    });
}

#[test]
fn a_discarded_candidate_is_gone_and_private_ones_are_apart() {
    on_both(|at| {
        at.ok(&format!("set {MTU} 9000 --datastore candidate"));
        at.ok("discard");
        assert_eq!(at.mtu(" --datastore candidate"), 1500);
        let private = "--datastore private-candidate --session";
        at.ok(&format!("set {MTU} 8000 {private} one"));
        at.ok(&format!("set {MTU} 7000 {private} two"));
        assert_eq!(at.mtu(&format!(" {private} one")), 8000);
        assert_eq!(at.mtu(&format!(" {private} two")), 7000);
        at.ok(&format!("commit {private} one"));
        assert_eq!(at.mtu(""), 8000);
        let told = at.failed(&format!("commit {private} two"));
        for part in [MTU_IDENTIFIER, "1500", "8000", "7000"] {
            assert!(told.contains(part), "{told}");
        }
        at.failed(&format!("update {private} two"));
        let told = at.ok(&format!("update --prefer candidate {private} two"));
        assert!(told.contains("1 conflicts resolved"), "{told}");
        at.ok(&format!("commit {private} two"));
        assert_eq!(at.mtu(""), 7000);
        let nobody = at.run(&format!("get {MTU} --datastore private-candidate"));
        assert_ne!(nobody.status, 0);
    });
}

const MTU_IDENTIFIER: &str = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";

#[test]
fn locks_keep_others_out_until_they_are_released_or_broken() {
    on_both(|at| {
        at.ok("lock --session maria");
        let told = at.failed(&format!("set {MTU} 9000"));
        assert!(told.contains("in-use") && told.contains("maria"), "{told}");
        at.failed(&format!("delete {ETH0}"));
        let told = at.failed("lock --session jan");
        assert!(
            told.contains("refused") && !told.contains("not valid"),
            "{told}"
        );
        assert!(
            told.contains("lock-denied") && told.contains("--force"),
            "{told}"
        );
        assert!(at.ok("locks").contains("locked by session “maria”"));
        at.ok(&format!("set {MTU} 9000 --session maria"));
        at.failed("unlock --session jan");
        at.ok("unlock --session maria");
        at.ok(&format!("set {MTU} 1500"));
        let locked: Value = at
            .run(&format!("lock {ETH0} --session maria --json"))
            .json();
        at.failed(&format!("set {MTU} 9000"));
        at.ok(&format!("unlock --force --id {}", locked["id"]));
        at.ok(&format!("set {MTU} 9000"));
        at.ok("lock --session maria");
        at.ok("unlock --all --session maria");
        assert_eq!(at.ok("locks"), "running: nothing holds it\n");
    });
}

#[test]
fn a_confirmed_commit_is_confirmed_cancelled_or_taken_back() {
    on_both(|at| {
        at.ok(&format!("set {MTU} 9000 --datastore candidate"));
        let told = at.ok("commit --confirmed 60 --persist move");
        assert!(told.contains("confirm it within 60 s"), "{told}");
        assert!(at.ok("locks").contains("to be confirmed"));
        at.failed("commit");
        at.failed("commit --persist-id other");
        assert_eq!(at.ok("commit --persist-id move"), "confirmed\n");
        assert_eq!(at.mtu(""), 9000);
        assert_eq!(at.ok("commit"), "nothing differs\n");
        at.ok(&format!("set {MTU} 8000 --datastore candidate"));
        at.ok("commit --confirmed");
        assert_eq!(at.mtu(""), 8000);
        at.ok("commit --cancel");
        assert_eq!(at.mtu(""), 9000);
        at.ok(&format!("set {MTU} 8000 --datastore candidate"));
        at.ok("commit --confirmed");
        at.ok(&format!("set {MTU} 9000 --datastore candidate"));
        assert!(at.ok("commit").contains("; that before is confirmed"));
        assert_eq!(at.mtu(""), 9000);
        at.ok(&format!("set {MTU} 8000 --datastore candidate"));
        at.ok("commit --confirmed 0");
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while at.mtu("") != 9000 {
            assert!(std::time::Instant::now() < patience, "it is not taken back");
        }
    });
}

#[test]
fn datastores_are_copied_and_factory_default_is_loaded_only() {
    on_both(|at| {
        at.ok("copy-config running startup");
        at.ok(&format!("set {MTU} 9000"));
        assert_eq!(at.mtu(" --datastore startup"), 1500);
        at.ok("copy-config startup running");
        assert_eq!(at.mtu(""), 1500);
        assert_eq!(at.ok("copy-config startup running"), "nothing differs\n");
        at.ok("delete-config startup");
        at.failed("delete-config running");
        at.failed("copy-config running intended");
        at.failed(&format!("set {MTU} 9000 --datastore factory-default"));
        at.failed(&format!("set {MTU} 9000 --datastore intended"));
        at.ok("copy-config running factory-default");
        assert_eq!(at.mtu(" --datastore factory-default"), 1500);
    });
}

#[test]
fn a_mistake_in_a_name_is_told() {
    on_both(|at| {
        let told = at.run(&format!("get {MTU} --datastore candidat")).failed(2);
        assert!(told.contains("private-candidate"), "{told}");
        assert!(
            at.failed("commit --datastore candidat")
                .contains("candidat")
        );
        assert!(at.failed("commit --datastore running").contains("running"));
    });
}

#[test]
fn an_edit_is_tested_without_being_made() {
    on_both(|at| {
        let name = "ietf-interfaces:interfaces";
        let change =
            json!({name: {"interface": [{"name": "eth0", "ietf-ip:ipv4": {"mtu": 9000}}]}});
        at.bench.write("change.json", change.to_string());
        let told = at.ok("edit change.json --test-option test-only");
        assert_eq!(
            (told.as_str(), at.mtu("")),
            ("valid; nothing was done\n", 1500)
        );
        // Without a type an interface is refused, as it would be by the edit itself.
        let broken = json!({name: {"interface": [{"name": "new"}]}});
        at.bench.write("broken.json", broken.to_string());
        let refused = at.failed("edit broken.json --test-option test-only");
        assert!(refused.contains("type"), "{refused}");
        // What is in the candidate is validated only when somebody asks for it.
        at.ok("edit broken.json --datastore candidate");
        at.failed("edit broken.json --datastore candidate --test-option test-then-set");
        at.ok("discard");
        let none = at.failed("edit broken.json --default-operation none");
        assert!(none.contains("new"), "{none}");
        at.ok("edit change.json --default-operation replace --datastore candidate");
        let kept: Value = at.run(&format!("get /{name} --datastore candidate")).json();
        let kept = kept[name]["interface"].as_array().map(Vec::len);
        assert_eq!((kept, at.mtu(" --datastore candidate")), (Some(1), 9000));
    });
}

#[test]
fn origins_are_told_of_the_operational_datastore() {
    on_both(|at| {
        let told = at.ok(&format!("get {ETH0} --datastore operational --with-origin"));
        assert!(told.contains("ietf-origin:intended"), "{told}");
        let told = at.ok(&format!("get {ETH0} --datastore operational"));
        assert!(!told.contains("ietf-origin"), "{told}");
    });
}
