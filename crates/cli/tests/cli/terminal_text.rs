//! Control characters in data are not printed to a terminal, and newlines in data do not start new lines.

use crate::interfaces_data::{MODULES, store};
use crate::process::{Outcome, Sandbox};

/// A forged line, and characters that terminals interpret: C0, DEL, C1, a change of direction.
const HOSTILE: &str = "a\nforged line\u{1b}[2J\u{7}\u{7f}\u{9b}31m\u{202e}b";

/// The same without characters that a YANG string cannot have.
const HOSTILE_VALUE: &str = "a\nforged line\u{7f}\u{9b}31m\u{202e}b";

fn assert_harmless(outcome: &Outcome, what: &str) {
    let output = format!("{}{}", outcome.stdout, outcome.stderr);
    let is_harmful =
        |letter: char| letter.is_control() && !"\n\t".contains(letter) || letter == '\u{202e}';
    assert!(!output.contains(is_harmful), "{what}: {output:?}");
    let forged = output.lines().any(|line| line.starts_with("forged"));
    assert!(!forged, "{what}: {output}");
    assert!(
        output.contains("forged line"),
        "{what} does not print it: {output}"
    );
}

#[test]
fn data_are_printed_without_control_characters() {
    let (sandbox, access) = store();
    let on = |command: &[&str]| sandbox.run(&[command, &access[..2]].concat());
    let description = "/ietf-interfaces:interfaces/interface=eth0/description";
    on(&[
        "set",
        description,
        HOSTILE_VALUE,
        "--author",
        HOSTILE,
        "--comment",
        HOSTILE,
    ])
    .ok();
    let name = format!("/ietf-interfaces:interfaces/interface[name=\"{HOSTILE_VALUE}\"]/type");
    on(&["set", &name, "iana-if-type:other"]).ok();
    on(&["lock", &name.replace("/type", ""), "--session", HOSTILE]).ok();
    on(&["stats", "configure"]).ok();
    on(&["stats", "track", HOSTILE, "count=1"]).ok();
    on(&[
        "documents",
        "configure",
        "cars",
        "--partition",
        "name=/name",
    ])
    .ok();
    let document = serde_json::json!({"name": HOSTILE, HOSTILE: 1}).to_string();
    on(&["documents", "insert", "cars", &document]).ok();
    for command in [
        &["history"][..],
        &["history", "--json"],
        &["diff", "1", "2"],
        &["diff", "1", "3"],
        &["diff", "1", "3", "--json"],
        &["get", "/"],
        &["get", "/", "--at", "2"],
        &["export"],
        &["locks"],
        &["locks", "--json"],
        &["stats", "keys"],
        &["stats", "keys", "--json"],
        &["documents", "find", "cars", "name", HOSTILE],
        &["documents", "ls", "cars", "name"],
        &["documents", "ls", "cars", "name", "--json"],
        &["documents", "export", "cars"],
    ] {
        let outcome = on(command);
        assert_eq!(outcome.status, 0, "{command:?}: {outcome:?}");
        assert_harmless(&outcome, &command.join(" "));
    }
    let server = sandbox.serve(&access[..2]);
    for command in [
        &["history"][..],
        &["get", "/"],
        &["locks"],
        &["diff", "1", "3"],
    ] {
        let arguments = [command, &["--server", &server.url]].concat();
        assert_harmless(&sandbox.run(&arguments), &arguments.join(" "));
    }
}

#[test]
fn errors_are_printed_without_control_characters() {
    let (sandbox, access) = store();
    let hostile_path = format!("/ietf-interfaces:interfaces/{HOSTILE}");
    let in_key = format!("/ietf-interfaces:interfaces/interface[name=\"{HOSTILE_VALUE}\"]");
    let number = format!("--limit={HOSTILE}");
    for command in [
        &["get", &hostile_path][..],
        &["get", &in_key],
        &["get", "/", "--anchor", HOSTILE],
        &["get", "/", "--datastore", HOSTILE],
        &["get", "/", HOSTILE],
        &["history", &number],
        &["load", HOSTILE],
        &["load", "interfaces.json", "--yang", HOSTILE],
        &["stats", "series", HOSTILE],
        &[
            "set",
            "/ietf-interfaces:interfaces/interface=eth0/enabled",
            HOSTILE_VALUE,
        ],
        &["documents", "ls", HOSTILE],
        &["get", "/", "--log", HOSTILE],
    ] {
        let outcome = sandbox.run(&[command, &access[..2]].concat());
        assert_ne!(outcome.status, 0, "{command:?}");
        assert_harmless(&outcome, &format!("{command:?}"));
    }
    let text = format!(
        "{{\"ietf-interfaces:interfaces\":{{{:?}:1}}}}",
        "forged line \u{9b}\u{202e}"
    );
    sandbox.write(
        "bad.json",
        text.replace("\\u{9b}", "\u{9b}")
            .replace("\\u{202e}", "\u{202e}"),
    );
    let outcome = sandbox.run(&[&["load", "bad.json"], &access[..2]].concat());
    assert_harmless(&outcome, "an unknown member");
}

/// A JSON escape is the same character, so programs read the stored data.
#[test]
fn json_output_equals_the_stored_data() {
    let sandbox = Sandbox::new();
    let store = ["--store", "embedded:store"];
    let path = "/ietf-interfaces:interfaces/interface=eth0/description";
    sandbox.write("e.json", r#"{"ietf-interfaces:interfaces":{"interface":[{"name":"eth0","type":"iana-if-type:other"}]}}"#);
    sandbox
        .run(&[&["load", "e.json"], &store[..], &MODULES].concat())
        .ok();
    sandbox
        .run(&[&["set", path, HOSTILE_VALUE], &store[..]].concat())
        .ok();
    let read = sandbox.run(&[&["get", path], &store[..]].concat()).json();
    assert_eq!(read["ietf-interfaces:description"], HOSTILE_VALUE);
    // A file is read by programs: only necessary escapes are used.
    sandbox
        .run(&[&["export", "-o", "all.json"], &store[..]].concat())
        .ok();
    let text = std::fs::read_to_string(sandbox.path("all.json")).expect("a file");
    assert!(text.contains('\u{202e}'), "{text}");
}
