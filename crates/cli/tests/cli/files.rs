//! A store in files: loaded, edited by hand while nobody serves it, served.

use std::fs;

use serde_json::json;

use crate::process::Bench;

const MODULE: &str = "module m { namespace \"urn:m\"; prefix m;
  container c { leaf a { type string; } leaf b { type uint8; }
    leaf far { type leafref { path ../a; } } } }";

const STORE: [&str; 2] = ["--store", "file:store"];

const DOCUMENT: &str = "store/datastores/default/default/running.json";

fn loaded() -> Bench {
    let bench = Bench::new();
    bench.write("m.yang", MODULE);
    bench.write("a.json", r#"{"m:c": {"a": "x", "b": 1}}"#);
    let load = [&["load", "a.json", "--yang", "m.yang"], &STORE[..]].concat();
    bench.run(&load).ok();
    bench
}

fn run(bench: &Bench, arguments: &[&str]) -> crate::process::Outcome {
    bench.run(&[arguments, &STORE[..]].concat())
}

fn document(bench: &Bench) -> String {
    fs::read_to_string(bench.path(DOCUMENT)).expect("the document")
}

#[test]
fn the_document_is_what_is_exported() {
    let bench = loaded();
    assert_eq!(document(&bench), run(&bench, &["export"]).ok());
    run(&bench, &["set", "/m:c/b", "2"]).ok();
    assert_eq!(document(&bench), run(&bench, &["export"]).ok());
    assert!(document(&bench).contains("\"b\": 2"));
    let got = run(&bench, &["get", "/m:c/b"]).json();
    assert_eq!(got, json!({"m:b": 2}));
    run(&bench, &["check"]).ok();
}

#[test]
fn an_edit_by_hand_is_in_the_history() {
    let bench = loaded();
    bench.write(DOCUMENT, document(&bench).replace("\"x\"", "\"y\""));
    assert_eq!(run(&bench, &["get", "/m:c/a"]).json(), json!({"m:a": "y"}));
    let history = run(&bench, &["history"]).ok();
    let comment = "edited by hand: default/default/running.json";
    assert!(history.contains(comment), "{history}");
    let changes = run(&bench, &["diff", "1", "2"]).ok();
    assert_eq!(changes, "~ /m:c/a: \"x\" -> \"y\"\n");
    run(&bench, &["rollback", "1"]).ok();
    assert!(document(&bench).contains("\"x\""));
}

#[test]
fn copies_and_backups_have_what_was_edited_by_hand() {
    let bench = loaded();
    bench.write(DOCUMENT, document(&bench).replace("\"x\"", "\"y\""));
    bench.run(&["copy", STORE[1], "embedded:copied"]).ok();
    let copied = bench.run(&["get", "/m:c/a", "--store", "embedded:copied"]);
    assert_eq!(copied.json(), json!({"m:a": "y"}));
    bench.write(DOCUMENT, document(&bench).replace("\"y\"", "1"));
    let said = bench.run(&["backup", STORE[1], "file.backup"]).failed(1);
    assert!(said.contains("running.json:3: /m:c/a: "), "{said}");
}

#[test]
fn a_wrong_edit_says_where_and_what_to_do() {
    let bench = loaded();
    let wrong = document(&bench).replace("\"b\": 1", "\"b\": 1000, \"far\": \"nowhere\"");
    bench.write(DOCUMENT, &wrong);
    let said = run(&bench, &["get", "/m:c"]).failed(1);
    let place = "running.json:4: /m:c/b: ";
    assert!(said.contains(place), "{said}");
    bench.write(DOCUMENT, wrong.replace("1000", "10"));
    let said = run(&bench, &["check"]).failed(1);
    assert!(said.contains("running.json:4: /m:c/far: "), "{said}");
    let told = said.split_once("mv '").expect("what to do").1;
    let (from, to) = told
        .trim_end()
        .trim_end_matches('\'')
        .split_once("' '")
        .expect("two files");
    fs::rename(from, to).expect("done");
    assert_eq!(run(&bench, &["get", "/m:c/b"]).json(), json!({"m:b": 1}));
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let bench = loaded();
    let edited = document(&bench).replace("\"x\"", "\"y\"");
    bench.write(DOCUMENT, format!("\u{feff}{edited}"));
    assert_eq!(run(&bench, &["get", "/m:c/a"]).json(), json!({"m:a": "y"}));
    assert_eq!(document(&bench), edited, "it is written as it is exported");
    let wrong = edited.replace("\"b\": 1", "\"b\": 1000");
    bench.write(DOCUMENT, format!("\u{feff}{wrong}"));
    let said = run(&bench, &["check"]).failed(1);
    assert!(said.contains("running.json:4: /m:c/b: "), "{said}");
}

#[test]
fn a_file_that_is_no_document_is_told() {
    let bench = loaded();
    let folder = "store/datastores/default/default";
    let misspelt = format!("{folder}/start-up.json");
    // What editors leave, and what a person keeps, is nobody's document.
    for other in [
        ".running.json.swp",
        "running.json~",
        "running.json.orig",
        ".hidden.json",
    ] {
        bench.write(&format!("{folder}/{other}"), "{");
    }
    bench.write(&misspelt, r#"{"m:c": {"a": "z"}}"#);
    for command in [&["get", "/m:c"][..], &["check"], &["set", "/m:c/b", "2"]] {
        let said = run(&bench, command).failed(1);
        for part in [
            "start-up.json is not a document of this store",
            "rename it",
            "default/default/startup.json",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    for stray in [
        "store/datastores/running.XML",
        "store/datastores/default/other/running.json",
    ] {
        bench.write(stray, "{}");
    }
    let said = run(&bench, &["get", "/m:c"]).failed(1);
    assert!(said.contains("2 more files are not either"), "{said}");
    fs::remove_file(bench.path("store/datastores/running.XML")).expect("removed");
    fs::remove_dir_all(bench.path("store/datastores/default/other")).expect("removed");
    let startup = bench.path(&format!("{folder}/startup.json"));
    fs::rename(bench.path(&misspelt), startup).expect("renamed");
    let read = run(&bench, &["get", "/m:c", "--datastore", "startup"]).json();
    assert_eq!(read, json!({"m:c": {"a": "z"}}));
}

/// A folder stands where the document is written.
#[test]
fn where_the_document_cannot_be_written_it_is_told_and_the_change_is_committed() {
    let bench = loaded();
    let long = format!(r#"{{"m:c": {{"a": "{}"}}}}"#, "x".repeat(600_000));
    bench.write("a.json", long);
    let draft = bench.path(&format!("{DOCUMENT}.draft"));
    fs::create_dir(&draft).expect("a folder");
    let loaded = run(&bench, &["load", "a.json"]);
    let said = format!("{}{}", loaded.stdout, loaded.stderr);
    assert!(
        said.contains("running.json.draft cannot be written: Is a directory"),
        "{said}"
    );
    assert!(!said.contains("could not be read"), "{said}");
    fs::remove_dir(&draft).expect("removed");
    assert!(
        run(&bench, &["get", "/m:c/a"]).ok().contains("xxxx"),
        "it is committed"
    );
}

#[test]
fn it_is_served_by_one_process() {
    let bench = loaded();
    let server = bench.serve(&STORE);
    let set = ["set", "/m:c/b", "7", "--server", &server.url];
    bench.run(&set).ok();
    let said = run(&bench, &["get", "/m:c"]).failed(1);
    assert!(said.contains("open in process"), "{said}");
    assert!(!document(&bench).contains('7'), "written when it ends");
    assert_eq!(server.terminate(), Some(0));
    assert!(document(&bench).contains("\"b\": 7"));
    assert_eq!(document(&bench), run(&bench, &["export"]).ok());
}

#[test]
fn a_folder_is_not_made_by_mistake() {
    let bench = Bench::new();
    let said = run(&bench, &["get", "/"]).failed(2);
    assert!(said.contains("--yang"), "{said}");
    assert!(!bench.path("store").exists());
}
