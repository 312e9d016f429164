//! The `file:` engine: loaded, edited by hand while no process has it open, and served.

use std::fs;

use serde_json::json;

use crate::process::Sandbox;

const MODULE: &str = "module m { namespace \"urn:m\"; prefix m;
  container c { leaf a { type string; } leaf b { type uint8; }
    leaf far { type leafref { path ../a; } } } }";

const STORE: [&str; 2] = ["--store", "file:store"];

const DOCUMENT: &str = "store/datastores/default/default/running.json";

fn loaded() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("m.yang", MODULE);
    sandbox.write("a.json", r#"{"m:c": {"a": "x", "b": 1}}"#);
    let load = [&["load", "a.json", "--yang", "m.yang"], &STORE[..]].concat();
    sandbox.run(&load).ok();
    sandbox
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> crate::process::Outcome {
    sandbox.run(&[arguments, &STORE[..]].concat())
}

fn document(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(DOCUMENT)).expect("the document")
}

#[test]
fn stored_document_equals_the_export() {
    let sandbox = loaded();
    assert_eq!(document(&sandbox), run(&sandbox, &["export"]).ok());
    run(&sandbox, &["set", "/m:c/b", "2"]).ok();
    assert_eq!(document(&sandbox), run(&sandbox, &["export"]).ok());
    assert!(document(&sandbox).contains("\"b\": 2"));
    let got = run(&sandbox, &["get", "/m:c/b"]).json();
    assert_eq!(got, json!({"m:b": 2}));
    run(&sandbox, &["check"]).ok();
}

#[test]
fn edit_by_hand_is_in_the_history() {
    let sandbox = loaded();
    sandbox.write(DOCUMENT, document(&sandbox).replace("\"x\"", "\"y\""));
    assert_eq!(
        run(&sandbox, &["get", "/m:c/a"]).json(),
        json!({"m:a": "y"})
    );
    let history = run(&sandbox, &["history"]).ok();
    let comment = "edited by hand: default/default/running.json";
    assert!(history.contains(comment), "{history}");
    let changes = run(&sandbox, &["diff", "1", "2"]).ok();
    assert_eq!(changes, "~ /m:c/a: \"x\" -> \"y\"\n");
    run(&sandbox, &["rollback", "1"]).ok();
    assert!(document(&sandbox).contains("\"x\""));
}

#[test]
fn copies_and_backups_include_edits_by_hand() {
    let sandbox = loaded();
    sandbox.write(DOCUMENT, document(&sandbox).replace("\"x\"", "\"y\""));
    sandbox.run(&["copy", STORE[1], "embedded:copied"]).ok();
    let copied = sandbox.run(&["get", "/m:c/a", "--store", "embedded:copied"]);
    assert_eq!(copied.json(), json!({"m:a": "y"}));
    sandbox.write(DOCUMENT, document(&sandbox).replace("\"y\"", "1"));
    let output = sandbox.run(&["backup", STORE[1], "file.backup"]).failed(1);
    assert!(output.contains("running.json:3: /m:c/a: "), "{output}");
}

#[test]
fn invalid_edit_is_reported_with_position_and_hint() {
    let sandbox = loaded();
    let wrong = document(&sandbox).replace("\"b\": 1", "\"b\": 1000, \"far\": \"nowhere\"");
    sandbox.write(DOCUMENT, &wrong);
    let output = run(&sandbox, &["get", "/m:c"]).failed(1);
    let place = "running.json:4: /m:c/b: ";
    assert!(output.contains(place), "{output}");
    sandbox.write(DOCUMENT, wrong.replace("1000", "10"));
    let output = run(&sandbox, &["check"]).failed(1);
    assert!(output.contains("running.json:4: /m:c/far: "), "{output}");
    let command = output.split_once("mv '").expect("what to do").1;
    let (from, to) = command
        .trim_end()
        .trim_end_matches('\'')
        .split_once("' '")
        .expect("two files");
    fs::rename(from, to).expect("done");
    assert_eq!(run(&sandbox, &["get", "/m:c/b"]).json(), json!({"m:b": 1}));
}

#[test]
fn byte_order_mark_is_ignored() {
    let sandbox = loaded();
    let edited = document(&sandbox).replace("\"x\"", "\"y\"");
    sandbox.write(DOCUMENT, format!("\u{feff}{edited}"));
    assert_eq!(
        run(&sandbox, &["get", "/m:c/a"]).json(),
        json!({"m:a": "y"})
    );
    assert_eq!(
        document(&sandbox),
        edited,
        "it is written as it is exported"
    );
    let wrong = edited.replace("\"b\": 1", "\"b\": 1000");
    sandbox.write(DOCUMENT, format!("\u{feff}{wrong}"));
    let output = run(&sandbox, &["check"]).failed(1);
    assert!(output.contains("running.json:4: /m:c/b: "), "{output}");
}

#[test]
fn foreign_file_is_reported() {
    let sandbox = loaded();
    let folder = "store/datastores/default/default";
    let misspelt = format!("{folder}/start-up.json");
    // Backup files of editors and other files are ignored.
    for other in [
        ".running.json.swp",
        "running.json~",
        "running.json.orig",
        ".hidden.json",
    ] {
        sandbox.write(&format!("{folder}/{other}"), "{");
    }
    sandbox.write(&misspelt, r#"{"m:c": {"a": "z"}}"#);
    for command in [&["get", "/m:c"][..], &["check"], &["set", "/m:c/b", "2"]] {
        let output = run(&sandbox, command).failed(1);
        for part in [
            "start-up.json is not a document of this store",
            "rename it",
            "default/default/startup.json",
        ] {
            assert!(output.contains(part), "{output}");
        }
    }
    for stray in [
        "store/datastores/running.XML",
        "store/datastores/default/other/running.json",
    ] {
        sandbox.write(stray, "{}");
    }
    let output = run(&sandbox, &["get", "/m:c"]).failed(1);
    assert!(output.contains("2 more files are not either"), "{output}");
    fs::remove_file(sandbox.path("store/datastores/running.XML")).expect("removed");
    fs::remove_dir_all(sandbox.path("store/datastores/default/other")).expect("removed");
    let startup = sandbox.path(&format!("{folder}/startup.json"));
    fs::rename(sandbox.path(&misspelt), startup).expect("renamed");
    let read = run(&sandbox, &["get", "/m:c", "--datastore", "startup"]).json();
    assert_eq!(read, json!({"m:c": {"a": "z"}}));
}

/// A folder has the name of the document's temporary file.
#[test]
fn unwritable_document_is_reported_and_the_change_is_committed() {
    let sandbox = loaded();
    let long = format!(r#"{{"m:c": {{"a": "{}"}}}}"#, "x".repeat(600_000));
    sandbox.write("a.json", long);
    let draft = sandbox.path(&format!("{DOCUMENT}.draft"));
    fs::create_dir(&draft).expect("a folder");
    let loaded = run(&sandbox, &["load", "a.json"]);
    let output = format!("{}{}", loaded.stdout, loaded.stderr);
    assert!(
        output.contains("running.json.draft cannot be written: Is a directory"),
        "{output}"
    );
    assert!(!output.contains("could not be read"), "{output}");
    fs::remove_dir(&draft).expect("removed");
    assert!(
        run(&sandbox, &["get", "/m:c/a"]).ok().contains("xxxx"),
        "it is committed"
    );
}

#[test]
fn store_is_served_by_one_process_only() {
    let sandbox = loaded();
    let server = sandbox.serve(&STORE);
    let set = ["set", "/m:c/b", "7", "--server", &server.url];
    sandbox.run(&set).ok();
    let output = run(&sandbox, &["get", "/m:c"]).failed(1);
    assert!(output.contains("open in process"), "{output}");
    assert!(!document(&sandbox).contains('7'), "written when it ends");
    assert_eq!(server.terminate(), Some(0));
    assert!(document(&sandbox).contains("\"b\": 7"));
    assert_eq!(document(&sandbox), run(&sandbox, &["export"]).ok());
}

#[test]
fn mistyped_folder_is_not_created() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &["get", "/"]).failed(2);
    assert!(output.contains("--yang"), "{output}");
    assert!(!sandbox.path("store").exists());
}
