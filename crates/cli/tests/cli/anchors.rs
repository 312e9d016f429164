//! Commands on anchors that a server does not serve by default: with `--server` as with `--store`.

use serde_json::json;

use crate::process::{Sandbox, Server};
use crate::server_engines::servers_under;

const STORE: [&str; 2] = ["--store", "embedded:store"];

const ONE: [&str; 4] = ["--dataspace", "lab 1", "--anchor", "één"];

fn module(name: &str, body: &str) -> String {
    format!("module {name} {{ yang-version 1.1; namespace \"urn:test:{name}\"; prefix p; {body} }}")
}

/// A store with the default anchor of one model, and [`ONE`] of another.
fn store() -> Sandbox {
    store_at(&STORE)
}

fn store_at(store: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.yang", module("a", "leaf x { type string; }"));
    sandbox.write("b/b.yang", module("b", "leaf y { type int8; }"));
    sandbox.write(
        "new/b.yang",
        module("b", "leaf y { type int8; } leaf z { type int8; }"),
    );
    sandbox.write("a.json", r#"{"a:x":"default"}"#);
    sandbox.write("b.json", r#"{"b:y":1}"#);
    let load = |file: &str, yang: &str, more: &[&str]| {
        let arguments = ["load", file, "--yang", yang];
        sandbox.run(&[&arguments[..], store, more].concat()).ok();
    };
    load("a.json", "a.yang", &[]);
    load("b.json", "b", &ONE);
    sandbox
}

fn at(sandbox: &Sandbox, place: &[&str], arguments: &[&str]) -> String {
    sandbox.run(&[arguments, place].concat()).ok()
}

fn remote(server: &Server) -> Vec<&str> {
    [&["--server", &server.url], &ONE[..]].concat()
}

#[test]
fn commands_have_the_same_results_on_a_store_and_through_a_server() {
    let sandbox = store();
    let local = [&STORE[..], &ONE].concat();
    let run = |place: &[&str], number: &str| {
        let path = "/b:y";
        at(&sandbox, place, &["set", path, number, "--author", "maria"]);
        at(
            &sandbox,
            place,
            &["set", path, "5", "--datastore", "candidate"],
        );
        let candidate = at(&sandbox, place, &["get", path, "--datastore", "candidate"]);
        at(&sandbox, place, &["discard"]);
        let read = at(&sandbox, place, &["get", path]);
        let earlier = at(&sandbox, place, &["get", path, "--at", "1"]);
        let diff = at(&sandbox, place, &["diff", "1", "2"]);
        let schema = at(&sandbox, place, &["schema"]);
        [candidate, read, earlier, diff, schema]
    };
    let by_store = run(&local, "2");
    let server = sandbox.serve(&STORE);
    let by_server = run(&remote(&server), "2");
    assert_eq!(by_store, by_server);
    // Neither changed the default anchor.
    let default = at(&sandbox, &["--server", &server.url], &["get", "/"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&default).expect("JSON"),
        json!({"a:x": "default"})
    );
}

#[test]
fn an_anchor_that_does_not_exist_is_named() {
    let sandbox = store();
    let server = sandbox.serve(&STORE);
    let arguments = ["get", "/", "--server", &server.url, "--anchor", "nosuch"];
    let error = sandbox.run(&arguments).failed(1);
    assert!(error.contains("nosuch"), "{error}");
}

#[test]
fn modules_are_replaced_by_another_process_and_through_the_server() {
    let embedded = vec!["embedded:store".to_owned()];
    for url in [embedded, servers_under("policy=uncached")].concat() {
        eprintln!("over {url}");
        let store = ["--store", &url];
        let sandbox = store_at(&store);
        let server = sandbox.serve(&store);
        let remote = remote(&server);
        assert!(at(&sandbox, &remote, &["get", "/"]).contains("\"b:y\": 1"));
        let upgrade = ["upgrade", "--yang", "new"];
        at(&sandbox, &[&store[..], &ONE].concat(), &upgrade);
        at(&sandbox, &remote, &["set", "/b:z", "3"]);
        assert!(at(&sandbox, &remote, &["get", "/"]).contains("\"b:z\": 3"));
        let back = ["upgrade", "--yang", "b", "--drop-unknown"];
        at(&sandbox, &remote, &back);
        let data = at(&sandbox, &remote, &["get", "/"]);
        assert!(data.contains("b:y") && !data.contains("b:z"), "{data}");
    }
}

#[test]
fn an_anchor_that_another_process_creates_is_served() {
    let sandbox = store();
    let server = sandbox.serve(&STORE);
    let two = ["--dataspace", "lab 1", "--anchor", "two"];
    let create = ["load", "b.json", "--yang", "b"];
    at(&sandbox, &[&STORE[..], &two].concat(), &create);
    let list = server.request("GET", "/dataspaces/lab%201/anchors", None);
    let list: serde_json::Value = serde_json::from_str(&list.body).expect("JSON");
    let names: Vec<_> = list["anchors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|anchor| &anchor["name"])
        .collect();
    assert_eq!(names, ["two", "één"]);
    let data = server.request(
        "GET",
        "/dataspaces/lab%201/anchors/two/restconf/data/b:y",
        None,
    );
    assert_eq!((data.status, &*data.body), (200, r#"{"b:y":1}"#));
    let history = server.request(
        "GET",
        "/dataspaces/lab%201/anchors/two/espalier/history",
        None,
    );
    assert!(
        history.status == 200 && history.body.contains("\"version\":1"),
        "{history:?}"
    );
}

#[test]
fn a_command_that_fails_creates_no_anchor() {
    let sandbox = store();
    sandbox.write("wrong.json", r#"{"a:x":1}"#);
    sandbox.write("c.yang", "module c { broken");
    let before = at(&sandbox, &STORE, &["info", "--json"]);
    let places = [
        ["--dataspace", "new", "--anchor", "one"],
        ["--dataspace", "new", "--anchor", "a/b"],
        ["--dataspace", "lab 1", "--anchor", "two"],
    ];
    for place in places {
        for command in [
            &["load", "wrong.json", "--yang", "a.yang"][..],
            &["load", "a.json", "--yang", "b"],
            &["load", "a.json", "--yang", "c.yang"],
            &["set", "/a:none", "x", "--yang", "a.yang"],
            &["set", "/a:x", "x", "--yang", "a.yang", "--datastore", "no"],
        ] {
            let failed = sandbox.run(&[command, &place, &STORE].concat());
            assert!(failed.status > 0, "{command:?} {place:?}");
            let catalog = |text: &str| {
                let info: serde_json::Value = serde_json::from_str(text).expect("JSON");
                info["dataspaces"].clone()
            };
            let after = at(&sandbox, &STORE, &["info", "--json"]);
            assert_eq!(catalog(&after), catalog(&before), "{command:?} {place:?}");
        }
    }
    let load = ["load", "a.json", "--yang", "a.yang"];
    at(&sandbox, &[&places[0][..], &STORE].concat(), &load);
}

#[test]
fn the_state_of_a_server_is_read_through_it() {
    let sandbox = store();
    let server = sandbox.serve(&STORE);
    let capabilities = "/ietf-restconf-monitoring:restconf-state/capabilities";
    let remote = ["--server", &*server.url];
    for more in [&[][..], &ONE, &["--datastore", "operational"]] {
        let place = [&remote[..], more].concat();
        let printed = at(&sandbox, &place, &["get", capabilities]);
        assert!(printed.contains("urn:ietf:params:restconf"), "{printed}");
        let xml = ["export", "--path", capabilities, "--format", "xml"];
        assert!(at(&sandbox, &place, &xml).contains("<capability>urn"));
    }
    let get = |path: &str, place: &[&str]| {
        let failed = sandbox.run(&[&["get", path], place].concat());
        assert!(failed.status > 0, "{failed:?}");
        failed.stderr
    };
    let error = get(capabilities, &STORE);
    assert!(error.contains("--server URL"), "{error}");
    let version = [&remote[..], &["--at", "1"]].concat();
    assert!(get(capabilities, &version).contains("not a known module"));
    let sessions = "/ietf-netconf-monitoring:netconf-state/sessions";
    assert!(get(sessions, &remote).contains("there is nothing at"));
}
