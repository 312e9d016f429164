//! `espalier modules`, on a store and on a server.

use serde_json::{Value, json};

use crate::process::{Outcome, Sandbox};

const STORE: [&str; 2] = ["--store", "embedded:store"];

const PLANT: &str = "module plant { yang-version 1.1; namespace 'urn:plant'; prefix p; feature frost; \
     container plant { leaf name { type string; } leaf hardy { if-feature frost; type boolean; } } }";

const NEW_PLANT: &str = "module plant { yang-version 1.1; namespace 'urn:plant'; prefix p; revision 2026-06-01; \
     feature frost; container plant { leaf name { type string; } leaf owner { type string; mandatory true; } \
     leaf hardy { if-feature frost; type boolean; } } }";

const POT: &str = "module pot { yang-version 1.1; namespace 'urn:pot'; prefix pot; import plant { prefix p; } \
     augment '/p:plant' { leaf pot { type string; } } }";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("plant.yang", PLANT);
    sandbox.write("new/plant.yang", NEW_PLANT);
    sandbox.write("pot.yang", POT);
    sandbox.write("a.json", r#"{"plant:plant":{"name":"fern"}}"#);
    let load = ["load", "a.json", "--yang", "plant.yang"];
    sandbox.run(&[&load[..], &STORE].concat()).ok();
    sandbox
}

/// Runs a command with the options that name the data.
type Run<'a> = &'a dyn Fn(&[&str]) -> Outcome;

/// Runs a scenario on a store and on a server.
fn on_store_and_server(scenario: fn(Run<'_>)) {
    let local = sandbox();
    scenario(&|arguments| local.run(&[arguments, &STORE[..]].concat()));
    let served = sandbox();
    let server = served.serve(&STORE);
    let url = server.url.clone();
    scenario(&|arguments| served.run(&[arguments, &["--server", &url]].concat()));
}

fn listed(of: &Value) -> Vec<&str> {
    let modules = of["modules"].as_array().expect("a list");
    let implemented = modules
        .iter()
        .filter(|module| module["implemented"] == true);
    let names = implemented.map(|module| module["name"].as_str().expect("a name"));
    names
        .filter(|name| ["plant", "pot"].contains(name))
        .collect()
}

#[test]
fn modules_are_listed_installed_and_removed() {
    on_store_and_server(|run| {
        assert_eq!(listed(&run(&["modules", "--json"]).json()), ["plant"]);
        run(&["modules", "install", "pot.yang", "--dry-run"]).ok();
        assert_eq!(listed(&run(&["modules", "--json"]).json()), ["plant"]);
        run(&["modules", "install", "pot.yang"]).ok();
        assert_eq!(
            listed(&run(&["modules", "--json"]).json()),
            ["plant", "pot"]
        );
        run(&["set", "/plant:plant/pot:pot", "clay"]).ok();
        // The module that is augmented cannot go, and data are not lost unless that is wanted.
        let needed = run(&["modules", "remove", "plant", "--drop-unknown"]).failed(1);
        assert!(needed.contains("plant"), "{needed}");
        let refused = run(&["modules", "remove", "pot"]).failed(1);
        assert!(refused.contains("/plant:plant/pot:pot"), "{refused}");
        let removed = run(&["modules", "remove", "pot", "--drop-unknown", "--json"]).json();
        assert_eq!(
            removed["datastore"][0]["removed"]["count"], "1",
            "{removed}"
        );
        assert_eq!(listed(&run(&["modules", "--json"]).json()), ["plant"]);
        let shown = run(&["get", "/plant:plant"]).json();
        assert_eq!(shown, json!({"plant:plant": {"name": "fern"}}));
        let unknown = run(&["modules", "remove", "pot"]).failed(1);
        assert!(unknown.contains("pot"), "{unknown}");
    });
}

#[test]
fn an_update_fills_leaves_that_become_mandatory() {
    on_store_and_server(|run| {
        let refused = run(&["modules", "install", "new"]).failed(1);
        assert!(refused.contains("owner"), "{refused}");
        let fill = [
            "modules",
            "install",
            "new",
            "--fill",
            "/plant:plant/owner=me",
        ];
        let tried = run(&[&fill[..], &["--dry-run", "--json"]].concat()).json();
        assert!(
            run(&["modules", "install", "new", "--dry-run"])
                .failed(1)
                .contains("owner")
        );
        let done = run(&[&fill[..], &["--json"]].concat()).json();
        assert_eq!(tried, done);
        assert_eq!(
            done["datastore"][0]["filled"]["place"][0],
            json!({"path": "/plant:plant/owner", "change": "it is \"me\" now"})
        );
        let shown = run(&["get", "/plant:plant"]).json();
        assert_eq!(
            shown,
            json!({"plant:plant": {"name": "fern", "owner": "me"}})
        );
        // History and rollback work across the revisions.
        let before = run(&["get", "/plant:plant", "--at", "1"]).json();
        assert_eq!(before, json!({"plant:plant": {"name": "fern"}}));
        run(&["set", "/plant:plant/owner", "you"]).ok();
        run(&["rollback", "2"]).ok();
        assert_eq!(run(&["get", "/plant:plant"]).json(), shown);
    });
}

#[test]
fn features_are_enabled_and_disabled() {
    on_store_and_server(|run| {
        run(&["set", "/plant:plant/hardy", "true"]).ok();
        let disable = ["modules", "features", "plant", "--disable", "frost"];
        let refused = run(&disable).failed(1);
        assert!(refused.contains("/plant:plant/hardy"), "{refused}");
        run(&[&disable[..], &["--drop-unknown"]].concat()).ok();
        run(&["set", "/plant:plant/hardy", "true"]).failed(2);
        run(&["modules", "features", "plant", "--enable", "frost"]).ok();
        run(&["set", "/plant:plant/hardy", "true"]).ok();
        let unknown = run(&["modules", "features", "plant", "--enable", "heat"]).failed(1);
        assert!(unknown.contains("heat"), "{unknown}");
    });
}

#[test]
fn upgrade_fills_leaves_that_become_mandatory_too() {
    on_store_and_server(|run| {
        let upgrade = ["upgrade", "--yang", "new"];
        run(&upgrade).failed(1);
        run(&[&upgrade[..], &["--fill", "/plant:plant/owner=a=b"]].concat()).ok();
        let shown = run(&["get", "/plant:plant/owner"]).json();
        assert_eq!(shown, json!({"plant:owner": "a=b"}));
    });
}

/// Each change was made from the modules that it found first: of several at a time the last one took back the others.
#[test]
fn changes_at_the_same_time_take_back_nothing() {
    let sandbox = sandbox();
    let names: Vec<String> = (0..5).map(|number| format!("many{number}")).collect();
    for name in &names {
        let text = format!(
            "module {name} {{ namespace urn:{name}; prefix m; leaf x {{ type string; }} }}"
        );
        sandbox.write(&format!("{name}.yang"), text);
    }
    let install = |of: &[&str]| {
        std::thread::scope(|scope| {
            for name in &names {
                let (sandbox, file) = (&sandbox, format!("{name}.yang"));
                scope.spawn(move || {
                    sandbox
                        .run(&[&["modules", "install", &file], of].concat())
                        .ok()
                });
            }
        });
    };
    let check = |of: &[&str]| {
        let listed = sandbox.run(&[&["modules", "--json"], of].concat()).ok();
        for name in &names {
            assert!(listed.contains(&**name), "{name} is missing: {listed}");
        }
    };
    install(&STORE);
    check(&STORE);
    let remove: Vec<&str> = names.iter().map(|name| &**name).collect();
    sandbox
        .run(&[&["modules", "remove"], &remove[..], &STORE].concat())
        .ok();
    let server = sandbox.serve(&STORE);
    let url = server.url.clone();
    install(&["--server", &url]);
    check(&["--server", &url]);
}

#[test]
fn a_switch_of_features_that_changes_nothing_makes_no_version() {
    on_store_and_server(|run| {
        let newest = || run(&["history", "--limit", "1", "--json"]).json();
        let before = newest();
        run(&["modules", "features", "plant", "--enable", "frost"]).ok();
        assert_eq!(newest(), before);
        let disable = ["modules", "features", "plant", "--disable", "frost"];
        run(&[&disable[..], &["--author", "fern"]].concat()).ok();
        assert_eq!(newest()["author"], "fern");
        run(&["modules", "features", "plant"]).failed(2);
    });
}
