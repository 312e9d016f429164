//! New revisions of modules for stored data: `upgrade`, `--drop-unknown`, `--dry-run`, `repair`, and servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, KeyRange};
use espalier_store::{Store, Subspace, SystemClock};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use serde_json::{Value, json};

use crate::process::{Outcome, Sandbox};

const STORE: [&str; 2] = ["--store", "embedded:store"];

/// The engines with files.
const STORES: [&str; 3] = ["embedded:store", "sqlite:store.db", "file:store"];

fn module(body: &str) -> String {
    format!("module m {{ yang-version 1.1; namespace 'urn:m'; prefix m; {body} }}")
}

const OLD: &str = "leaf old { type string; } leaf n { type uint16; } list l { key k; leaf k { type string; } leaf v { type string; } }";
const NEW: &str =
    "leaf n { type uint64; } list l { key k; leaf k { type uint8; } leaf v { type string; } }";
const DATA: &str = r#"{"m:old":"o","m:n":500,"m:l":[{"k":"10","v":"1"},{"k":"9"}]}"#;

/// Creates a store with data under the old modules; the new ones are in `new`.
fn sandbox() -> Sandbox {
    sandbox_on(STORE[1])
}

fn sandbox_on(store: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("old/m.yang", module(OLD));
    sandbox.write("new/m.yang", module(NEW));
    sandbox.write("a.json", DATA);
    run_on(&sandbox, store, &["load", "a.json", "--yang", "old"]).ok();
    sandbox
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    run_on(sandbox, STORE[1], arguments)
}

fn run_on(sandbox: &Sandbox, store: &str, arguments: &[&str]) -> Outcome {
    sandbox.run(&[arguments, &["--store", store]].concat())
}

fn export(sandbox: &Sandbox) -> Value {
    run(sandbox, &["export"]).json()
}

fn data() -> Value {
    serde_json::from_str(DATA).expect("JSON")
}

fn new_data() -> Value {
    json!({"m:n": "500", "m:l": [{"k": 9}, {"k": 10, "v": "1"}]})
}

#[test]
fn unknown_data_are_rejected_listed_and_removed_on_request() {
    STORES.iter().for_each(|store| check_drop_on_request(store));
}

fn check_drop_on_request(store: &str) {
    let sandbox = sandbox_on(store);
    let run = |sandbox: &Sandbox, arguments: &[&str]| run_on(sandbox, store, arguments);
    let export = |sandbox: &Sandbox| run(sandbox, &["export"]).json();
    for arguments in [
        &["upgrade", "--yang", "new"][..],
        &["upgrade", "--yang", "new", "--dry-run"],
        &["set", "/m:n", "4", "--yang", "new"],
    ] {
        let output = run(&sandbox, arguments).failed(1);
        for part in [
            "/m:old",
            "unknown-element",
            "--drop-unknown",
            "nothing was changed",
        ] {
            assert!(output.contains(part), "{part}: {output}");
        }
        assert_eq!(export(&sandbox), data());
    }
    let dropping = ["upgrade", "--yang", "new", "--drop-unknown"];
    let tried = run(&sandbox, &[&dropping[..], &["--dry-run"]].concat()).ok();
    for part in ["/m:old", "1 removed", "converted", "nothing was changed"] {
        assert!(tried.contains(part), "{part}: {tried}");
    }
    assert_eq!(export(&sandbox), data());
    let done = run(
        &sandbox,
        &[&dropping[..], &["--json", "--comment", "release 2"]].concat(),
    )
    .json();
    let running = &done["datastore"][0];
    assert_eq!(running["version"], "2");
    assert_eq!(running["removed"]["count"], "1");
    assert_eq!(running["removed"]["place"][0]["path"], "/m:old");
    assert_eq!(running["converted"]["count"], "3");
    assert_eq!(export(&sandbox), new_data());
    run(&sandbox, &["check"]).ok();
    // The second run has nothing to do.
    let again = run(&sandbox, &dropping).ok();
    assert!(again.contains("all data fit"), "{again}");
}

/// A load that replaces the data by the same data made an empty version.
#[test]
fn a_replace_by_the_same_data_makes_no_version_on_any_engine_with_files() {
    for store in STORES {
        let sandbox = sandbox_on(store);
        let replace = ["load", "a.json", "--replace", "--json"];
        let done = run_on(&sandbox, store, &replace).json();
        assert_eq!(
            (&done["version"], &done["changed"]),
            (&json!(1), &json!(false)),
            "{store}"
        );
        let history = run_on(&sandbox, store, &["history"]).ok();
        assert_eq!(history.lines().count(), 1, "{history}");
        run_on(&sandbox, store, &["check"]).ok();
    }
}

/// Commands that read replaced the modules of the store if `--yang`, its variable or the file named others.
#[test]
fn commands_that_read_never_replace_modules() {
    let sandbox = Sandbox::new();
    sandbox.write("old/m.yang", module("leaf n { type uint8; }"));
    sandbox.write("new/m.yang", module("leaf n { type uint16; }"));
    sandbox.write("a.json", r#"{"m:n":5}"#);
    run(&sandbox, &["load", "a.json", "--yang", "old"]).ok();
    let reads: [&[&str]; 7] = [
        &["get", "/"],
        &["export"],
        &["diff", "0", "1"],
        &["history"],
        &["schema"],
        &["validate", "--datastore", "running"],
        &["locks"],
    ];
    for read in reads {
        let others = [read, &["--yang", "new"]].concat();
        let output = run(&sandbox, &others).failed(2);
        for part in ["module m is another", "espalier upgrade --yang"] {
            assert!(output.contains(part), "{part}: {output}");
        }
        run(&sandbox, &[read, &["--yang", "old"]].concat()).ok();
    }
    let all = ["get", "/", STORE[0], STORE[1]];
    let variable = [("ESPALIER_YANG", "new")];
    sandbox.run_with(&all, b"", &variable).failed(2);
    sandbox.write("espalier.toml", "yang = [\"new\"]");
    sandbox.run(&all).failed(2);
    fs::remove_file(sandbox.path("espalier.toml")).unwrap();
    let schema = run(&sandbox, &["schema"]).ok();
    assert!(schema.contains("uint8"), "{schema}");
    // A store without modules reads with those that are given.
    let empty = ["get", "/", "--store", "memory:", "--yang", "new"];
    sandbox.run(&empty).ok();
}

#[test]
fn many_similar_places_do_not_hide_another() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "old/m.yang",
        module("list l { key k; leaf k { type uint16; } leaf v { type string; } } leaf z { type string; }"),
    );
    sandbox.write(
        "new/m.yang",
        module("list l { key k; leaf k { type uint16; } leaf v { type uint8; } } leaf z { type uint8; }"),
    );
    let entries: Vec<_> = (0..300).map(|k| json!({"k": k, "v": "[']"})).collect();
    sandbox.write("a.json", json!({"m:l": entries, "m:z": "z"}).to_string());
    run(&sandbox, &["load", "a.json", "--yang", "old"]).ok();
    let output = run(&sandbox, &["upgrade", "--yang", "new"]).failed(1);
    for part in ["/m:z", "290 more errors", "load --replace --yang NEW"] {
        assert!(output.contains(part), "{part}: {output}");
    }
    assert!(!output.contains("--drop-unknown"), "{output}");
    // The advised command works: other data with the new modules.
    let entries: Vec<_> = (0..300).map(|k| json!({"k": k, "v": 1})).collect();
    sandbox.write("b.json", json!({"m:l": entries}).to_string());
    run(&sandbox, &["load", "--replace", "--yang", "new", "b.json"]).ok();
    assert_eq!(export(&sandbox), json!({"m:l": entries}));
    // Back to the old modules: conversions are counted, and the first are listed.
    let output = run(&sandbox, &["upgrade", "--yang", "old"]).ok();
    for part in ["300 converted", "and 290 more", "version 3"] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

#[test]
fn history_names_added_and_removed_modules() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "old/m.yang",
        module("revision 2026-01-01; leaf n { type uint8; }"),
    );
    sandbox.write(
        "new/m.yang",
        module("revision 2026-06-01; leaf n { type uint64; }"),
    );
    sandbox.write("a.json", r#"{"m:n": 5}"#);
    run(&sandbox, &["load", "a.json", "--yang", "old"]).ok();
    run(&sandbox, &["upgrade", "--yang", "new"]).ok();
    let history = run(&sandbox, &["history"]).ok();
    let comment = "other modules: +m@2026-06-01 -m@2026-01-01";
    assert!(history.contains(comment), "{history}");
}

#[test]
fn versions_are_read_and_restored_under_their_own_modules() {
    let sandbox = sandbox();
    let upgrade = [
        "upgrade",
        "--yang",
        "new",
        "--drop-unknown",
        "--comment",
        "release 2",
    ];
    run(&sandbox, &upgrade).ok();
    let then = run(&sandbox, &["get", "/", "--at", "1"]).json();
    assert_eq!(then, data());
    let old = run(&sandbox, &["get", "/m:old", "--at", "1"]).json();
    assert_eq!(old, json!({"m:old": "o"}));
    let history = run(&sandbox, &["history", "--json"]).ok();
    assert!(history.contains("release 2"), "{history}");
    let diff = run(&sandbox, &["diff", "1", "2"]).ok();
    assert!(diff.contains("/m:old"), "{diff}");
    // The version is invalid under the new modules.
    let rejected = run(&sandbox, &["rollback", "1"]).failed(1);
    assert!(rejected.contains("/m:old"), "{rejected}");
    assert_eq!(export(&sandbox), new_data());
    run(&sandbox, &["upgrade", "--yang", "old"]).ok();
    run(&sandbox, &["rollback", "1"]).ok();
    assert_eq!(export(&sandbox), data());
    run(&sandbox, &["check"]).ok();
}

#[test]
fn modules_and_matching_data_are_loaded_in_one_commit() {
    let sandbox = sandbox();
    let mandatory = format!("{OLD} leaf owner {{ type string; mandatory true; }}");
    sandbox.write("new/m.yang", module(&mandatory));
    sandbox.write("owner.json", r#"{"m:owner":"me"}"#);
    run(&sandbox, &["upgrade", "--yang", "new"]).failed(1);
    let load = ["load", "owner.json", "--yang", "new"];
    let tried = run(&sandbox, &[&load[..], &["--dry-run"]].concat()).ok();
    assert!(tried.contains("nothing was changed"), "{tried}");
    assert_eq!(export(&sandbox), data());
    run(&sandbox, &load).ok();
    let mut expected = data();
    expected["m:owner"] = json!("me");
    assert_eq!(export(&sandbox), expected);
    // A document that leaves the data invalid changes nothing.
    let bounded = mandatory.replace("type uint16;", "type uint16 { range '0..10'; }");
    sandbox.write("newer/m.yang", module(&bounded));
    run(&sandbox, &["load", "owner.json", "--yang", "newer"]).failed(1);
    assert_eq!(export(&sandbox), expected);
    sandbox.write("n.json", r#"{"m:n":5,"m:owner":"me"}"#);
    run(
        &sandbox,
        &["load", "n.json", "--yang", "newer", "--replace"],
    )
    .ok();
    assert_eq!(export(&sandbox), json!({"m:n": 5, "m:owner": "me"}));
    run(&sandbox, &["check"]).ok();
}

#[test]
fn upgrade_checks_all_stored_data() {
    for datastore in ["startup", "candidate", "factory-default", "operational"] {
        let sandbox = Sandbox::new();
        sandbox.write("old/m.yang", module(OLD));
        sandbox.write("new/m.yang", module(NEW));
        sandbox.write("a.json", r#"{"m:n":1}"#);
        sandbox.write("b.json", r#"{"m:old":"o"}"#);
        run(&sandbox, &["load", "a.json", "--yang", "old"]).ok();
        let datastore_option = ["--datastore", datastore];
        run(
            &sandbox,
            &[&["load", "b.json"], &datastore_option[..]].concat(),
        )
        .ok();
        let output = run(&sandbox, &["upgrade", "--yang", "new"]).failed(1);
        assert!(
            output.contains("/m:old") && output.contains(datastore),
            "{output}"
        );
        run(&sandbox, &["upgrade", "--yang", "new", "--drop-unknown"]).ok();
        let left = run(&sandbox, &[&["get", "/"], &datastore_option[..]].concat()).ok();
        assert!(!left.contains("old"), "{datastore}: {left}");
        run(&sandbox, &["check"]).ok();
    }
}

#[test]
fn server_accepts_modules_and_reloads() {
    let sandbox = sandbox();
    let server = sandbox.serve(&STORE);
    let at = |arguments: &[&str]| sandbox.run(&[arguments, &["--server", &server.url]].concat());
    let output = at(&["upgrade", "--yang", "new"]).failed(1);
    assert!(output.contains("/m:old"), "{output}");
    at(&["get", "/", "--dry-run"]).failed(2);
    let dropping = ["upgrade", "--yang", "new", "--drop-unknown"];
    let tried = at(&[&dropping[..], &["--dry-run"]].concat()).ok();
    assert!(tried.contains("/m:old"), "{tried}");
    assert_eq!(at(&["get", "/"]).json(), data());
    at(&dropping).ok();
    // No request reads rows of the new modules with the old schema.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let answer = server.request("GET", "/restconf/data/m:l=9", None);
        match answer.status {
            200 => {
                assert_eq!(answer.body, r#"{"m:l":[{"k":9}]}"#);
                break;
            }
            status => assert!([404, 409, 503].contains(&status), "{answer:?}"),
        }
        assert!(std::time::Instant::now() < deadline, "{answer:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(at(&["get", "/"]).json(), new_data());
    assert_eq!(server.request("GET", "/healthz", None).status, 200);
    let old = at(&["get", "/", "--at", "1"]).json();
    assert_eq!(old, data());
}

/// Simulates a store of versions that did not validate the data when modules changed: replaces the record of the
/// schema set in the catalog with that of other modules.
fn replace_modules_unchecked(sandbox: &Sandbox, body: &str) {
    let url = format!("embedded:{}", sandbox.path("store").display());
    let driver = espalier_drivers::open(&url).expect("the store");
    let store = Store::open(Arc::clone(&driver), Arc::new(SystemClock)).expect("the store");
    let source = SchemaSource {
        modules: ModuleSource::from_text(module(body)).into_iter().collect(),
        ..SchemaSource::default()
    };
    let dataspace = &store.dataspaces().expect("dataspaces")[0];
    store
        .create_schema_set(dataspace, "aside", &source)
        .expect("the modules compile");
    let sets = KeyRange::prefix(&[Subspace::Catalog.key(), vec![2]].concat());
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut cursor = snapshot.scan(&sets, Direction::Forward).expect("a scan");
    let mut records = Vec::new();
    while let Some((key, value)) = cursor.next().expect("a row") {
        let record: Value = serde_json::from_slice(value).expect("JSON");
        records.push((key.to_vec(), record));
    }
    // The records are in the order of names.
    let [(_, mut aside), (key, old)] = <[_; 2]>::try_from(records).expect("two schema sets");
    aside["id"] = old["id"].clone();
    drop(cursor);
    drop(snapshot);
    let mut batch = Batch::new();
    batch.put(key, aside.to_string());
    driver.commit(batch).expect("a commit");
    store
        .delete_schema_set(dataspace, "aside")
        .expect("it is deleted");
}

#[test]
fn repair_moves_invalid_data_to_a_private_file() {
    let sandbox = sandbox();
    replace_modules_unchecked(&sandbox, NEW);
    let checked = run(&sandbox, &["check"]);
    for part in ["/m:old", "/m:n", "/m:l"] {
        assert!(checked.stdout.contains(part), "{part}: {checked:?}");
    }
    let output = checked.failed(1);
    assert!(output.contains("espalier repair"), "{output}");
    let report = sandbox.run(&["repair", STORE[1]]).ok();
    assert!(
        report.contains("/m:old") && report.contains("--output"),
        "{report}"
    );
    let tried = sandbox
        .run(&["repair", STORE[1], "--output", "out.jsonl", "--dry-run"])
        .ok();
    assert!(tried.contains("would be changed"), "{tried}");
    assert!(!sandbox.path("out.jsonl").exists());
    sandbox
        .run(&["repair", STORE[1], "--output", "store/out.jsonl"])
        .failed(2);
    run(&sandbox, &["check"]).failed(1);
    let done = sandbox.run(&["repair", STORE[1], "--output", "out.jsonl", "--json"]);
    let done = done.json();
    assert_eq!(done["repaired"], true);
    assert!(done["rows"].as_u64() > Some(0), "{done}");
    run(&sandbox, &["check"]).ok();
    assert_eq!(export(&sandbox), new_data());
    let kept = fs::read_to_string(sandbox.path("out.jsonl")).expect("the file");
    let lines: Vec<Value> = kept
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(
        lines.iter().any(|line| line["values"]["m:old"] == "o"),
        "{kept}"
    );
    let metadata = fs::metadata(sandbox.path("out.jsonl")).expect("the file");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    // The file is not overwritten, and a second repair has nothing to do.
    sandbox
        .run(&["repair", STORE[1], "--output", "out.jsonl"])
        .failed(2);
    let again = sandbox.run(&["repair", STORE[1]]).ok();
    assert!(again.contains("everything fits"), "{again}");
}

/// RFC 7951, section 5.5: anydata is an object; anyxml may be any value.
#[test]
fn anyxml_that_is_no_object_is_not_converted_to_anydata() {
    let sandbox = Sandbox::new();
    sandbox.write("old.yang", module("container c { anyxml a; anyxml b; }"));
    sandbox.write("new.yang", module("container c { anydata a; anydata b; }"));
    for (name, value, is_object) in [("list", "[1,2]", false), ("object", r#"{"x":1}"#, true)] {
        let store = format!("embedded:{name}");
        let run = |arguments: &[&str]| run_on(&sandbox, &store, arguments);
        sandbox.write("a.json", format!(r#"{{"m:c":{{"a":{value}}}}}"#));
        run(&["load", "a.json", "--yang", "old.yang"]).ok();
        let upgraded = run(&["upgrade", "--yang", "new.yang"]);
        match is_object {
            true => drop(upgraded.ok()),
            false => {
                let error = upgraded.failed(1);
                assert!(
                    error.contains("/m:c/a") && error.contains("object"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn lock_of_another_session_rejects_an_upgrade_without_conversions() {
    let sandbox = Sandbox::new();
    sandbox.write("old.yang", module("leaf a { type string; }"));
    sandbox.write(
        "new.yang",
        module("leaf a { type string; } leaf b { type string; }"),
    );
    sandbox.write("a.json", r#"{"m:a":"1"}"#);
    run(&sandbox, &["load", "a.json", "--yang", "old.yang"]).ok();
    run(&sandbox, &["lock", "--session", "maria"]).ok();
    let error = run(&sandbox, &["upgrade", "--yang", "new.yang"]).failed(1);
    assert!(
        error.contains("locked by session") && error.contains("in-use"),
        "{error}"
    );
    run(
        &sandbox,
        &["upgrade", "--yang", "new.yang", "--session", "maria"],
    )
    .ok();
    run(&sandbox, &["unlock", "--session", "maria"]).ok();
    run(&sandbox, &["set", "/m:b", "x"]).ok();
}

/// If all data were valid as stored, the history had no row, and `--comment` and `--author` were dropped.
#[test]
fn a_change_of_modules_without_conversions_is_in_the_history() {
    for store in STORES {
        let sandbox = Sandbox::new();
        sandbox.write("old.yang", module("leaf a { type string; }"));
        let new = "leaf a { type string; } leaf b { type string; default b; }";
        sandbox.write("new.yang", module(new));
        sandbox.write("a.json", r#"{"m:a":"1"}"#);
        let run = |arguments: &[&str]| run_on(&sandbox, store, arguments);
        run(&["load", "a.json", "--yang", "old.yang"]).ok();
        let upgrade = ["upgrade", "--yang", "new.yang", "--comment", "release 2"];
        let done = run(&[&upgrade[..], &["--author", "maria"]].concat()).ok();
        assert!(
            done.contains("all data fit") && done.contains("version 2"),
            "{done}"
        );
        let rows = run(&["history", "--json"]).ok();
        let row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
        assert_eq!(row["version"], 2, "{rows}");
        assert_eq!(
            (&row["comment"], &row["author"]),
            (&json!("release 2"), &json!("maria"))
        );
        assert_eq!(run(&["diff", "1", "2"]).ok(), "");
        // The same modules again are no change.
        run(&upgrade).ok();
        assert_eq!(run(&["history"]).ok().lines().count(), 2);
        run(&["check"]).ok();
    }
}

/// The advice was `--drop-unknown`, which does not remove what a false `when` makes invalid.
#[test]
fn a_refused_upgrade_advises_what_helps() {
    let sandbox = Sandbox::new();
    let leaves = |when: &str| {
        module(&format!(
            "leaf a {{ type string; }} leaf b {{ {when} type string; }}"
        ))
    };
    sandbox.write("old.yang", leaves(""));
    sandbox.write("new.yang", leaves("when \"../a = 'x'\";"));
    sandbox.write("a.json", r#"{"m:a":"1","m:b":"2"}"#);
    run(&sandbox, &["load", "a.json", "--yang", "old.yang"]).ok();
    let upgrade = ["upgrade", "--yang", "new.yang"];
    let output = run(&sandbox, &upgrade).failed(1);
    assert!(
        output.contains("/m:b") && !output.contains("--drop-unknown"),
        "{output}"
    );
    let refused = run(&sandbox, &[&upgrade[..], &["--json"]].concat());
    let refused: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!(refused["error"]["errors-total"], 1, "{refused}");
    // Startup holds data that a load of running does not replace.
    run(&sandbox, &["copy-config", "running", "startup"]).ok();
    sandbox.write("b.json", r#"{"m:a":"1"}"#);
    let load = ["load", "b.json", "--replace", "--yang", "new.yang"];
    let output = run(&sandbox, &load).failed(1);
    assert!(output.contains("delete-config startup"), "{output}");
}

/// Entity tags and modification times stayed when other modules changed a default.
#[test]
fn entity_tags_change_with_the_modules() {
    let sandbox = Sandbox::new();
    let default = |value: &str| {
        module(&format!(
            "container c {{ leaf d {{ type string; default {value}; }} leaf n {{ type int8; }} }}"
        ))
    };
    sandbox.write("one.yang", default("one"));
    sandbox.write("two.yang", default("two"));
    sandbox.write("a.json", r#"{"m:c":{"n":1}}"#);
    run(&sandbox, &["load", "a.json", "--yang", "one.yang"]).ok();
    let server = sandbox.serve(&STORE);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let url = format!("{}/restconf/data/m:c", server.url);
    let get = |tag: Option<&str>| {
        let request = agent.get(format!("{url}/d"));
        let request = match tag {
            Some(tag) => request.header("if-none-match", tag),
            None => request,
        };
        request.call().expect("a response")
    };
    let before = get(None);
    let tag = before.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(get(Some(&tag)).status(), 304);
    sandbox
        .run(&["upgrade", "--yang", "two.yang", "--server", &server.url])
        .ok();
    // The server answers 409 at the moment of the change.
    let began = std::time::Instant::now();
    let mut after = get(Some(&tag));
    while after.status() == 409 && began.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        after = get(Some(&tag));
    }
    assert_eq!(after.status(), 200);
    assert_ne!(after.headers()["etag"].to_str().unwrap(), tag);
    let patch = agent.patch(&url).header("if-match", &tag);
    let patch = patch.header("content-type", "application/yang-data+json");
    let refused = patch.send(r#"{"m:c":{"n":2}}"#).expect("a response");
    assert_eq!(refused.status(), 412);
}

#[test]
fn rejected_address_changes_no_modules() {
    let sandbox = sandbox();
    let serve = ["serve", "--yang", "new", "--listen", "192.0.2.1:80"];
    run(&sandbox, &serve).failed(2);
    assert_eq!(export(&sandbox), data());
    let schema = run(&sandbox, &["schema"]).ok();
    assert!(schema.contains("old"), "{schema}");
}

const PARENT: &str = "import ietf-yang-schema-mount { prefix yangmnt; } list d { key k; leaf k { type string; }
    leaf of { type string; } container root { yangmnt:mount-point r; } } list site { key k; leaf k { type string; } }";

fn mounted(body: &str) -> String {
    format!("module x {{ yang-version 1.1; namespace 'urn:x'; prefix x; {body} }}")
}

#[test]
fn mounts_are_kept_and_changed_with_the_modules() {
    let sandbox = Sandbox::new();
    sandbox.write("m.yang", module(PARENT));
    sandbox.write(
        "one/x.yang",
        mounted("leaf a { type string; } leaf b { type string; }"),
    );
    sandbox.write("two/x.yang", mounted("leaf a { type string; }"));
    sandbox.write(
        "data.json",
        r#"{"m:d":[{"k":"1","root":{"x:a":"v","x:b":"w"}}]}"#,
    );
    let load = [
        "load",
        "data.json",
        "--yang",
        "m.yang",
        "--mount",
        "m:r=one",
    ];
    run(&sandbox, &load).ok();
    run(&sandbox, &["get", "/m:d=1/root/x:b"]).ok();
    let upgrade = |options: &[&str]| {
        run(
            &sandbox,
            &[&["upgrade", "--yang", "m.yang"], options].concat(),
        )
    };
    let output = upgrade(&["--mount", "m:r=two"]).failed(1);
    assert!(output.contains("/m:d[k='1']/root/x:b"), "{output}");
    upgrade(&["--mount", "m:r=two", "--drop-unknown"]).ok();
    run(&sandbox, &["set", "/m:d=1/root/x:a", "z"]).ok();
    // By the value of a leaf: no instance has one yet.
    let inline = ["--mount", "m:r[of=big]=one", "--mount", "m:r[of=small]=two"];
    upgrade(&inline).failed(1);
    run(&sandbox, &["set", "/m:d=1/of", "big"]).ok();
    upgrade(&inline).ok();
    run(&sandbox, &["set", "/m:d=1/root/x:b", "w"]).ok();
    run(&sandbox, &["set", "/m:d=1/of", "small"]).ok();
    assert_eq!(
        export(&sandbox),
        json!({"m:d": [{"k": "1", "of": "small", "root": {"x:a": "z"}}]})
    );
    // Another command that gives modules must give the mounts too.
    let output = run(&sandbox, &["get", "/m:d", "--yang", "m.yang"]).failed(2);
    assert!(output.contains("--mount gives other modules"), "{output}");
    let output = run(&sandbox, &["get", "/m:d", "--mount", "m:r=two"]).failed(2);
    assert!(output.contains("--mount without --yang"), "{output}");
}

#[test]
fn references_and_implemented_modules_of_mounts_are_given_by_label() {
    let sandbox = Sandbox::new();
    sandbox.write("m.yang", module(PARENT));
    let leafref = "import m { prefix m; } leaf a { type leafref { path '/m:site/m:k'; } }";
    sandbox.write("x/x.yang", mounted(leafref));
    sandbox.write("x/m.yang", module(PARENT));
    sandbox.write(
        "data.json",
        r#"{"m:site":[{"k":"s"}],"m:d":[{"k":"1","root":{"x:a":"s"}}]}"#,
    );
    let mounts = [
        "--yang",
        "m.yang",
        "--mount",
        "m:r=x",
        "--implement",
        "m:r/x",
    ];
    let load = |references: &[&str]| {
        run(
            &sandbox,
            &[&["load", "data.json"], &mounts[..], references].concat(),
        )
    };
    let reference = ["--mount-reference", "m:r=/m:site[m:k = 's']"];
    load(&[]).failed(1);
    load(&reference).ok();
    let output = load(&["--mount-reference", "m:other=/m:site"]).failed(2);
    assert!(output.contains("no such mount point"), "{output}");
}
