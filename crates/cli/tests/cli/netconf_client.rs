//! `espalier netconf` against a served store, over a Unix socket.

use serde_json::Value;

use crate::process::{Outcome, Sandbox, Server};

const MODEL: &str = "module m {
  yang-version 1.1; namespace 'urn:m'; prefix m;
  container c {
    leaf title { type string { length '1..20'; } }
    list e { key k; ordered-by user; leaf k { type string; } leaf v { type uint8; } }
  }
  notification alarm { leaf number { type uint32; } }
  rpc ping { output { leaf text { type string; } } }
}";

/// A served store with [`MODEL`].
pub struct Served {
    pub sandbox: Sandbox,
    pub server: Server,
}

impl Served {
    pub fn new() -> Self {
        Self::with(&["--netconf-socket", "netconf.sock"])
    }

    /// Serves with options.
    pub fn with(options: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        Self::in_sandbox(sandbox, options)
    }

    pub fn in_sandbox(sandbox: Sandbox, options: &[&str]) -> Self {
        create_store(&sandbox);
        let server = sandbox.serve(&[&["--store", "embedded:store"], options].concat());
        Self { sandbox, server }
    }

    /// Runs `espalier netconf` on the socket.
    pub fn netconf(&self, arguments: &[&str]) -> Outcome {
        self.netconf_with(arguments, "")
    }

    /// Runs `espalier netconf` on the socket with a text on standard input.
    pub fn netconf_with(&self, arguments: &[&str], input: &str) -> Outcome {
        let arguments = [&["netconf", "unix:netconf.sock"], arguments].concat();
        self.sandbox.run_with(&arguments, input.as_bytes(), &[])
    }
}

/// Creates a store with some data.
pub fn create_store(sandbox: &Sandbox) {
    sandbox.write("m.yang", MODEL);
    let data = r#"{"m:c":{"title":"first","e":[{"k":"a","v":1},{"k":"b","v":2},{"k":"c"}]}}"#;
    sandbox.write("data.json", data);
    let load = [
        "load",
        "data.json",
        "--yang",
        "m.yang",
        "--store",
        "embedded:store",
    ];
    sandbox.run(&load).ok();
}

/// An edit of the title.
pub fn title(text: &str) -> String {
    format!("<c xmlns=\"urn:m\"><title>{text}</title></c>")
}

#[test]
fn hello_lists_the_capabilities() {
    let served = Served::new();
    let text = served.netconf(&["hello"]).ok();
    assert!(
        text.starts_with("session ") && text.contains(", base 1.1\n"),
        "{text}"
    );
    assert!(
        text.contains("\nurn:ietf:params:netconf:capability:candidate:1.0\n"),
        "{text}"
    );
    let hello = served.netconf(&["hello", "--json", "--base", "1.0"]).json();
    assert_eq!(hello["base"], "1.0");
    assert!(hello["session-id"].as_u64() > Some(0), "{hello}");
    assert!(hello["capabilities"].as_array().expect("a list").len() > 5);
}

#[test]
fn data_as_xml_and_json_with_filters() {
    let served = Served::new();
    let subtree = "<c xmlns='urn:m'><e><k>b</k></e></c>";
    let expected = "<data xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\n  <c xmlns=\"urn:m\">\n    <e>\n      \
                    <k>b</k>\n      <v>2</v>\n    </e>\n  </c>\n</data>\n";
    let printed = served.netconf(&["get-config", "--subtree", subtree]).ok();
    assert_eq!(printed.replace("message-id=", ""), expected);
    served
        .sandbox
        .write("filter.xml", format!("<filter>{subtree}</filter>"));
    assert_eq!(
        served
            .netconf(&["get-config", "--subtree", "filter.xml"])
            .ok(),
        printed
    );
    assert_eq!(
        served
            .netconf_with(&["get-config", "--subtree", "-"], subtree)
            .ok(),
        printed
    );
    for xpath in [
        &["--xpath", "/m:c/m:e[m:k='b']"][..],
        &["--xpath", "/x:c/x:e[x:k='b']", "--namespace", "x=urn:m"],
    ] {
        let json = ["--output", "json"];
        let data = served
            .netconf(&[&["get-config"], xpath, &json].concat())
            .json();
        assert_eq!(
            data,
            serde_json::json!({"m:c": {"e": [{"k": "b", "v": 2}]}})
        );
    }
    let data = served
        .netconf(&["get-data", "--datastore", "running", "--max-depth", "1"])
        .ok();
    assert!(
        data.contains("ietf-netconf-nmda") && !data.contains("title"),
        "{data}"
    );
    let get = served.netconf(&[
        "get",
        "--xpath",
        "/ietf-netconf-monitoring:netconf-state",
        "--json",
    ]);
    let get = get.json();
    assert!(
        get["xml"].as_str().expect("XML").contains("<datastore>"),
        "{get}"
    );
}

#[test]
fn files_have_the_data_as_the_server_sends_them() {
    let served = Served::new();
    let out = ["get-config", "--out", "all.xml"];
    served.netconf(&out).ok();
    let text = std::fs::read_to_string(served.sandbox.path("all.xml")).expect("a file");
    assert!(
        text.starts_with("<data ") && text.ends_with("</data>\n"),
        "{text}"
    );
    let error = served.netconf(&out).failed(2);
    assert!(error.contains("--force"), "{error}");
    let json = served
        .netconf(&["get-config", "--out", "all.xml", "--force", "--json"])
        .json();
    assert_eq!(json["bytes"], text.len());
    // The file is a payload too.
    let replace = ["edit-config", "all.xml", "--default-operation", "replace"];
    assert_eq!(served.netconf(&replace).ok(), "");
}

#[test]
fn changes_reach_the_datastores() {
    let served = Served::new();
    let has = |datastore: &str, text: &str| {
        let data = served.netconf(&["get-config", "--source", datastore]).ok();
        data.contains(&format!("<title>{text}</title>"))
    };
    served
        .netconf_with(&["edit-config", "-"], &title("one"))
        .ok();
    assert!(has("running", "one"));
    served
        .netconf_with(&["edit-data", "-", "--datastore", "startup"], &title("two"))
        .ok();
    assert!(has("startup", "two") && has("running", "one"));
    served.netconf(&["copy-config", "running", "startup"]).ok();
    assert!(has("startup", "one"));
    served
        .sandbox
        .write("whole.xml", format!("<config>{}</config>", title("three")));
    served
        .netconf(&["copy-config", "--file", "whole.xml", "running"])
        .ok();
    assert!(has("running", "three"));
    served.netconf(&["validate", "--file", "whole.xml"]).ok();
    let edit = ["edit-config", "whole.xml", "--target", "candidate"];
    served
        .netconf(
            &[
                &edit[..],
                &[
                    "--test-option",
                    "set",
                    "--error-option",
                    "rollback-on-error",
                ],
            ]
            .concat(),
        )
        .ok();
    served.netconf(&["validate"]).ok();
    served.netconf(&["commit"]).ok();
    served.netconf(&["discard-changes"]).ok();
    served.netconf(&["delete-config", "startup"]).ok();
    assert!(!has("startup", "one"));
    let ok = served.netconf(&["lock", "candidate", "--json"]).json();
    assert_eq!(ok, serde_json::json!({"ok": true}));
}

#[test]
fn confirmed_commits_of_two_sessions() {
    let served = Served::new();
    let edit = |text: &str| {
        served
            .netconf_with(&["edit-config", "-", "--target", "candidate"], &title(text))
            .ok();
    };
    let has = |text: &str| served.netconf(&["get-config"]).ok().contains(text);
    let confirmed = [
        "commit",
        "--confirmed",
        "--timeout",
        "600",
        "--persist",
        "p",
    ];
    edit("one");
    served.netconf(&confirmed).ok();
    assert!(has("one"));
    served.netconf(&["cancel-commit", "--persist-id", "p"]).ok();
    assert!(has("first"));
    edit("two");
    served.netconf(&confirmed).ok();
    let error = served
        .netconf(&["commit", "--persist-id", "other"])
        .failed(1);
    assert!(error.contains("invalid-value"), "{error}");
    served.netconf(&["commit", "--persist-id", "p"]).ok();
    assert!(has("two"));
    let error = served.netconf(&["commit", "--timeout", "5"]).failed(2);
    assert!(error.contains("--confirmed"), "{error}");
}

#[test]
fn errors_of_the_server_have_all_their_parts() {
    let served = Served::new();
    let wrong = title(&"x".repeat(30));
    let error = served.netconf_with(&["edit-config", "-"], &wrong).failed(1);
    for part in ["/m:c/m:title", "invalid-value", "type application"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let outcome = served.netconf_with(&["edit-config", "-", "--json"], &wrong);
    assert_eq!(outcome.status, 1);
    let json: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let error = &json["error"]["errors"][0];
    assert_eq!(error["error-tag"], "invalid-value");
    assert_eq!(error["error-type"], "application");
    let none = served.netconf(&["kill-session", "999999"]).failed(1);
    assert!(none.contains("invalid-value"), "{none}");
    // Wrong arguments are found before there is a connection, or before anything is sent.
    for arguments in [
        &["edit-config", "none.xml"][..],
        &["get", "--subtree", "<a>"],
        &["get", "--xpath", "/a", "--subtree", "<a/>"],
        &["get", "--output", "yaml"],
        &["kill-session", "x"],
        &["copy-config", "running"],
    ] {
        served.netconf(arguments).failed(2);
    }
    let error = served
        .netconf_with(&["edit-config", "-"], "<a><b></a>")
        .failed(1);
    assert!(error.contains("not well-formed"), "{error}");
}

#[test]
fn any_operation_as_an_element_or_a_whole_message() {
    let served = Served::new();
    let get = "<get-config><source><running/></source></get-config>";
    assert!(
        served
            .netconf_with(&["rpc", "-"], get)
            .ok()
            .contains("<title>first</title>")
    );
    let whole = "<?xml version='1.0'?><nc:rpc xmlns:nc='urn:ietf:params:xml:ns:netconf:base:1.0' message-id='a&lt;b'>\
         <nc:discard-changes/></nc:rpc>";
    assert_eq!(served.netconf_with(&["rpc", "-"], whole).ok(), "");
    let without_id = whole.replace("message-id='a&lt;b'", "");
    let error = served.netconf_with(&["rpc", "-"], &without_id).failed(1);
    assert!(
        error.contains("missing-attribute") && error.contains("bad-element rpc"),
        "{error}"
    );
    let unknown = served
        .netconf_with(&["rpc", "-"], "<nothing xmlns='urn:none'/>")
        .failed(1);
    assert!(
        unknown.contains("(un") || unknown.contains("not-supported"),
        "{unknown}"
    );
    served.netconf_with(&["rpc", "-"], "no XML").failed(1);
}

#[test]
fn schemas_one_and_all() {
    let served = Served::new();
    let text = served.netconf(&["get-schema", "m"]).ok();
    assert_eq!(text.trim_end(), MODEL);
    let json = served.netconf(&["get-schema", "m", "--json"]).json();
    assert_eq!(json["text"], MODEL);
    let json = served
        .netconf(&["get-schema", "--all", "modules", "--json"])
        .json();
    let files = json["files"].as_array().expect("files");
    assert!(
        !files.is_empty() && files.contains(&"m.yang".into()),
        "{json}"
    );
    for file in files {
        let name = format!("modules/{}", file.as_str().expect("a name"));
        assert!(served.sandbox.path(&name).exists(), "{name}");
    }
    let error = served.netconf(&["get-schema", "none"]).failed(1);
    assert!(error.contains("invalid-value"), "{error}");
    served.netconf(&["get-schema"]).failed(2);
}

#[test]
fn notifications_past_and_new() {
    let served = Served::new();
    served
        .sandbox
        .write("alarm.json", r#"{"m:alarm":{"number":7}}"#);
    let notify = ["notify", "alarm.json", "--server", &served.server.url];
    let subtree = ["--subtree", "<alarm xmlns='urn:m'/>"];
    for arguments in [
        &["--xpath", "/m:alarm"][..],
        &subtree,
        &[&["--rfc8639"], &subtree[..]].concat(),
    ] {
        let running = [
            "netconf",
            "unix:netconf.sock",
            "subscribe",
            "--count",
            "1",
            "--json",
        ];
        let mut child = served.sandbox.command(&[&running, arguments].concat());
        let child = child
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the binary");
        // Until it has subscribed, notifications are not received.
        let ended = std::thread::spawn(move || child.wait_with_output());
        while !ended.is_finished() {
            served.sandbox.run(&notify).ok();
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let output = ended.join().expect("a thread").expect("an end");
        let line: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        assert_eq!(line["name"], "alarm", "{line}");
        assert!(
            line["xml"]
                .as_str()
                .expect("XML")
                .contains("<number>7</number>"),
            "{line}"
        );
    }
    let replay = [
        "subscribe",
        "--start",
        "2020-01-01T00:00:00Z",
        "--stop",
        "2020-01-02T00:00:00Z",
    ];
    let text = served.netconf(&replay).ok();
    assert!(text.contains("notificationComplete"), "{text}");
    let error = served.netconf(&["subscribe", "--stream", "none"]).failed(1);
    assert!(error.contains("none"), "{error}");
}
