//! Notifications: of a store, of a server, across both.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::process::{Sandbox, Server};
use crate::users::{add_user, run_as};

const MODEL: &str = "module plant { yang-version 1.1; namespace urn:plant; prefix p;
  list pump { key name; leaf name { type string; }
    notification stalled { leaf since { type uint32; } } }
  notification alarm { leaf number { type uint32; mandatory true; } leaf text { type string; } } }";

const STORE: [&str; 2] = ["--store", "embedded:store"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("plant.yang", MODEL);
    let pump = ["set", "/plant:pump=main", "--yang", "plant.yang"];
    sandbox.run(&[&pump, &STORE[..]].concat()).ok();
    sandbox
}

fn alarm(sandbox: &Sandbox, access: &[&str], number: u64) -> Value {
    let document = json!({"plant:alarm": {"number": number}}).to_string();
    let arguments = [&["notify", "-", "--json"], access].concat();
    sandbox
        .run_with(&arguments, document.as_bytes(), &[])
        .json()
}

/// The numbers of the alarms that a command prints.
fn numbers(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u64> {
    let text = sandbox
        .run(&[&["notifications", "--json"], arguments].concat())
        .ok();
    let events = text.lines().filter(|line| !line.is_empty());
    events.filter_map(number).collect()
}

fn number(line: &str) -> Option<u64> {
    let event: Value = serde_json::from_str(line).expect("an event");
    event["ietf-restconf:notification"]["plant:alarm"]["number"].as_u64()
}

/// A command that follows.
struct Follower(Child, BufReader<std::process::ChildStdout>);

impl Follower {
    fn start(sandbox: &Sandbox, access: &[&str]) -> Self {
        let arguments = ["notifications", "--follow", "--json", "--since", "365d"];
        let mut command = sandbox.command(&[&arguments, access].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
        let output = child.stdout.take().expect("an output");
        Self(child, BufReader::new(output))
    }

    /// The number of the next alarm.
    fn next(&mut self) -> u64 {
        loop {
            let mut line = String::new();
            let length = self.1.read_line(&mut line).expect("a line");
            assert!(length > 0, "it ended");
            if let Some(number) = number(&line) {
                return number;
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_store_records_notifications_and_shows_them() {
    let sandbox = sandbox();
    assert_eq!(alarm(&sandbox, &STORE, 1), json!({"sequence": 1}));
    alarm(&sandbox, &STORE, 2);
    sandbox.write("stalled.json", r#"{"plant:stalled":{"since":3}}"#);
    let parent = "/plant:pump[name='main']";
    let stalled = ["notify", "stalled.json", "--parent", parent];
    let text = sandbox.run(&[&stalled, &STORE[..]].concat()).ok();
    assert_eq!(text, "sent: number 3 of the event log\n");
    assert_eq!(numbers(&sandbox, &STORE), [1, 2]);
    let filter = ["--filter", "/plant:alarm[number > 1]"];
    assert_eq!(numbers(&sandbox, &[&filter, &STORE[..]].concat()), [2]);
    let since = ["--since", "1h", "--until", "30m"];
    assert!(numbers(&sandbox, &[&since, &STORE[..]].concat()).is_empty());
    let commits = ["notifications", "--stream", "espalier-commits"];
    let text = sandbox.run(&[&commits, &STORE[..]].concat()).ok();
    let line = text.lines().next().expect("a commit");
    assert!(line.contains("/plant:pump[name='main']"), "{line}");
    for (document, wanted) in [
        (r#"{"plant:alarm":{}}"#, "/plant:alarm/number"),
        (r#"{"plant:other":{}}"#, "plant:other"),
        ("[", "this is no JSON"),
    ] {
        let arguments = [&["notify", "-"], &STORE[..]].concat();
        let error = sandbox
            .run_with(&arguments, document.as_bytes(), &[])
            .failed(1);
        assert!(error.contains(wanted), "{error}");
    }
    let wrong = ["notifications", "--stream", "plant"];
    let error = sandbox.run(&[&wrong, &STORE[..]].concat()).failed(1);
    assert!(error.contains("there is no event stream"), "{error}");
}

#[test]
fn a_server_gives_what_a_store_gives() {
    let sandbox = sandbox();
    alarm(&sandbox, &STORE, 1);
    let server = sandbox.serve(&STORE);
    let access = ["--server", &*server.url];
    alarm(&sandbox, &access, 2);
    for access in [&access, &STORE] {
        assert_eq!(numbers(&sandbox, access), [1, 2]);
        let filter = ["--filter", "/plant:alarm[number > 1]"];
        assert_eq!(numbers(&sandbox, &[&filter, &access[..]].concat()), [2]);
    }
    let mut followers = [
        Follower::start(&sandbox, &access),
        Follower::start(&sandbox, &STORE),
    ];
    for expected in [1, 2] {
        assert!(
            followers
                .iter_mut()
                .all(|follower| follower.next() == expected)
        );
    }
    alarm(&sandbox, &STORE, 3);
    alarm(&sandbox, &access, 4);
    for expected in [3, 4] {
        assert!(
            followers
                .iter_mut()
                .all(|follower| follower.next() == expected)
        );
    }
    check_settings(&sandbox, &server);
    assert_eq!(
        server.terminate(),
        Some(0),
        "it stops although events are received"
    );
}

fn check_settings(sandbox: &Sandbox, server: &Server) {
    let settings = ["notifications", "settings", "--json"];
    let access = ["--server", &*server.url];
    let change = [
        "--records-max",
        "2",
        "--age-max",
        "7d",
        "--module-streams",
        "true",
    ];
    let changed = sandbox
        .run(&[&settings, &change[..], &access].concat())
        .json();
    assert_eq!(changed["records-max"], 2);
    let shown = sandbox.run(&[&settings, &STORE[..]].concat()).json();
    assert_eq!(shown, changed);
    let text = ["notifications", "settings"];
    let text = sandbox.run(&[&text, &access[..]].concat()).ok();
    let expected =
        "keeps 2 notifications, 268435456 bytes, for 7d; module streams yes; records sessions no\n";
    assert_eq!(text, expected);
    alarm(sandbox, &access, 5);
    let stream = ["--stream", "plant"];
    assert_eq!(numbers(sandbox, &[&stream, &access[..]].concat()), [4, 5]);
    let wrong = ["notifications", "settings", "--records-max", "0"];
    sandbox.run(&[&wrong, &access[..]].concat()).failed(1);
}

#[test]
fn users_of_a_server_need_a_rule_to_send() {
    let sandbox = sandbox();
    add_user(&sandbox, &["maria", "--admin"]);
    add_user(&sandbox, &["reader"]);
    let server = sandbox.serve(&STORE);
    sandbox.write("alarm.json", r#"{"plant:alarm":{"number":7}}"#);
    run_as(&sandbox, &server, "maria", &["notify", "alarm.json"]).ok();
    let error = run_as(&sandbox, &server, "reader", &["notify", "alarm.json"]).failed(1);
    assert!(error.contains("access denied"), "{error}");
    let shown = run_as(&sandbox, &server, "reader", &["notifications", "--json"]).ok();
    assert!(shown.contains("\"number\":7"), "{shown}");
}

/// A command that prints updates of a datastore.
struct Pushed(Follower);

impl Pushed {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let arguments = [&["notifications", "--json", "--push"], arguments].concat();
        let mut command = sandbox.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
        let output = child.stdout.take().expect("an output");
        Self(Follower(child, BufReader::new(output)))
    }

    /// The content of the next update, which has this name.
    fn next(&mut self, name: &str) -> Value {
        let mut line = String::new();
        self.0.1.read_line(&mut line).expect("a line");
        let mut event: Value = serde_json::from_str(&line).expect("an event");
        event["ietf-restconf:notification"][format!("ietf-yang-push:{name}")].take()
    }
}

#[test]
fn changes_of_a_datastore_are_printed_of_a_store_and_of_a_server() {
    let sandbox = sandbox();
    let server = sandbox.serve(&STORE);
    let access = ["--server", &*server.url];
    let on_change = ["running", "--filter", "/plant:pump"];
    let mut all = [
        Pushed::start(&sandbox, &[&on_change[..], &access].concat()),
        Pushed::start(&sandbox, &[&on_change[..], &STORE].concat()),
    ];
    for pushed in &mut all {
        let contents = pushed.next("push-update")["datastore-contents"].take();
        assert_eq!(contents, json!({"plant:pump": [{"name": "main"}]}));
    }
    let set = ["set", "/plant:pump=spare"];
    sandbox.run(&[&set[..], &access].concat()).ok();
    for pushed in &mut all {
        let changes = pushed.next("push-change-update")["datastore-changes"].take();
        let edit = &changes["yang-patch"]["edit"][0];
        assert_eq!(edit["target"], "/plant:pump=spare", "{changes}");
    }
    let periodic = ["operational", "--period", "1"];
    let mut regularly = Pushed::start(&sandbox, &[&periodic[..], &STORE].concat());
    for _ in 0..2 {
        let contents = regularly.next("push-update")["datastore-contents"].take();
        assert_eq!(contents["plant:pump"][1]["name"], "spare", "{contents}");
    }
    assert_eq!(
        server.terminate(),
        Some(0),
        "it stops although data is received"
    );
}
