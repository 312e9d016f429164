//! Arguments and documents of `espalier netconf`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::netconf_client::{Served, create_store, title};
use crate::process::Sandbox;

const SUBSCRIBED: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";

/// `--output json` was ignored.
#[test]
fn replies_of_any_operation_as_json() {
    let served = Served::new();
    let rpc = |operation: &str| served.netconf_with(&["rpc", "-", "--output", "json"], operation);
    let get = "<get-config><source><running/></source></get-config>";
    assert_eq!(rpc(get).json()["m:c"]["title"], "first");
    let whole =
        format!("<rpc xmlns='urn:ietf:params:xml:ns:netconf:base:1.0' message-id='1'>{get}</rpc>");
    assert_eq!(rpc(&whole).json()["m:c"]["title"], "first");
    assert_eq!(rpc("<discard-changes/>").ok(), "");
    let schema = "<get-schema xmlns='urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring'>\
                  <identifier>m</identifier></get-schema>";
    let text = rpc(schema).json();
    assert!(
        text["data"]
            .as_str()
            .expect("a text")
            .starts_with("module m"),
        "{text}"
    );
    let establish = format!(
        "<establish-subscription xmlns='{SUBSCRIBED}'><stream>NETCONF</stream></establish-subscription>"
    );
    let output = rpc(&establish).json();
    let output = &output["ietf-subscribed-notifications:output"];
    assert!(output["id"].is_number(), "{output}");
}

/// The first line that a subscription prints, while `change` is called again and again.
fn first_line(served: &Served, arguments: &[&str], change: &mut dyn FnMut()) -> Value {
    let running = ["netconf", "unix:netconf.sock", "subscribe", "--count", "1"];
    let mut child = served.sandbox.command(&[&running, arguments].concat());
    let child = child.stdout(Stdio::piped()).spawn().expect("the binary");
    let ended = std::thread::spawn(move || child.wait_with_output());
    while !ended.is_finished() {
        change();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let output = ended.join().expect("a thread").expect("an end");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().last().unwrap_or_else(|| panic!("{output:?}"));
    serde_json::from_str(line).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn notifications_as_json() {
    let served = Served::new();
    served
        .sandbox
        .write("alarm.json", r#"{"m:alarm":{"number":7}}"#);
    let notify = ["notify", "alarm.json", "--server", &served.server.url];
    let arguments = ["--output", "json", "--subtree", "<alarm xmlns='urn:m'/>"];
    let line = first_line(&served, &arguments, &mut || {
        served.sandbox.run(&notify).ok();
    });
    let notification = &line["ietf-restconf:notification"];
    assert_eq!(notification["m:alarm"], json!({"number": 7}), "{line}");
    assert!(notification["eventTime"].is_string(), "{line}");
}

#[test]
fn data_that_are_pushed() {
    let served = Served::new();
    let mut number = 0;
    let mut change = || {
        number += 1;
        let edit = title(&format!("title {number}"));
        served.netconf_with(&["edit-config", "-"], &edit).ok();
    };
    let of_title = ["--datastore", "running", "--xpath", "/m:c/m:title"];
    let xml = |arguments: &[&str], change: &mut dyn FnMut()| {
        let line = first_line(
            &served,
            &[arguments, &of_title, &["--json"]].concat(),
            change,
        );
        line["xml"].as_str().expect("XML").to_owned()
    };
    let all = xml(&["--period", "1"], &mut || {});
    assert!(
        all.contains("<push-update") && all.contains("title>first<"),
        "{all}"
    );
    let first = xml(&["--on-change", "--dampening", "1"], &mut change);
    assert!(
        first.contains("<push-") && first.contains("</title>"),
        "{first}"
    );
    let json = first_line(
        &served,
        &[&of_title[..], &["--output", "json"]].concat(),
        &mut || {},
    );
    let notification = &json["ietf-restconf:notification"];
    let update = &notification["ietf-yang-push:push-update"];
    let contents = &update["datastore-contents"];
    assert!(contents["m:c"]["title"].is_string(), "{json}");
    for wrong in [
        &["--period", "1"][..],
        &[
            "--dampening",
            "1",
            "--datastore",
            "running",
            "--period",
            "1",
        ],
        &["--datastore", "running", "--stream", "NETCONF"],
        &["--datastore", "a.xml"],
    ] {
        served.netconf(&[&["subscribe"], wrong].concat()).failed(2);
    }
}

#[test]
fn times_of_subscriptions_are_spans_too() {
    let served = Served::new();
    served
        .sandbox
        .write("alarm.json", r#"{"m:alarm":{"number":7}}"#);
    served
        .sandbox
        .run(&["notify", "alarm.json", "--server", &served.server.url])
        .ok();
    let alarms = [
        "subscribe",
        "--xpath",
        "/m:alarm",
        "--start",
        "1h",
        "--count",
        "1",
    ];
    let text = served.netconf(&alarms).ok();
    assert!(text.contains("<number>7</number>"), "{text}");
    let error = served
        .netconf(&["subscribe", "--start", "yesterday"])
        .failed(2);
    assert!(error.contains("as in 7d"), "{error}");
}

/// The shell never printed the notifications of a subscription that `rpc` made.
#[test]
fn the_shell_prints_notifications_that_arrive() {
    let served = Served::new();
    served
        .sandbox
        .write("alarm.json", r#"{"m:alarm":{"number":7}}"#);
    served
        .sandbox
        .run(&["notify", "alarm.json", "--server", &served.server.url])
        .ok();
    let script = "rpc - <<END\n<create-subscription xmlns='urn:ietf:params:xml:ns:netconf:notification:1.0'>\n\
                  <startTime>2020-01-01T00:00:00Z</startTime></create-subscription>\nEND\n";
    // Replies of later operations come after the notifications.
    let script = format!("{script}{}", "get-schema m\n".repeat(20));
    let printed = served.netconf_with(&["shell"], &script).ok();
    assert!(printed.contains("<number>7</number>"), "{printed}");
}

#[test]
fn conflicts_of_a_private_candidate_are_resolved() {
    let served = Served::new();
    let error = served.netconf(&["update"]).failed(2);
    assert!(error.contains("--private-candidate"), "{error}");
    served.sandbox.write("mine.xml", title("mine"));
    let script = |mode: &str| {
        let edit = format!("edit-config - <<END\n{}\nEND\n", title("theirs"));
        let update = format!("update --resolution-mode {mode}\ncommit\n");
        let mine = "edit-config mine.xml --target candidate\n";
        let arguments = ["--private-candidate", "shell"];
        served
            .netconf_with(&arguments, &format!("{mine}{edit}{update}"))
            .ok();
        served.netconf(&["get-config", "--output", "json"]).json()["m:c"]["title"].clone()
    };
    assert_eq!(script("prefer-candidate"), "mine");
    assert_eq!(script("prefer-running"), "theirs");
    // The other sessions do not see it.
    let own = [
        "--private-candidate",
        "edit-config",
        "mine.xml",
        "--target",
        "candidate",
    ];
    served.netconf(&own).ok();
    let shared = served
        .netconf(&["get-config", "--source", "candidate"])
        .ok();
    assert!(!shared.contains("mine"), "{shared}");
}

#[test]
fn documents_in_a_script() {
    let served = Served::new();
    let script = format!(
        "edit-config - <<END\n{}\nEND\nget-config --output json\n",
        title("in\nthe script").replace('\n', "&#32;")
    );
    let printed = served.netconf_with(&["shell"], &script).ok();
    let data: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(data["m:c"]["title"], "in the script");
    let open = served
        .netconf_with(&["shell"], "edit-config - <<END\n<a/>\n")
        .failed(2);
    assert!(
        open.contains("no line “END”") && open.contains("line 1"),
        "{open}"
    );
    // That of an operation that fails is not the next one's.
    let unused = "edit-config none.xml --target - <<END\nx\nEND\n";
    served.netconf_with(&["shell"], unused).failed(2);
    // The number of a line counts those of documents.
    let script = format!("edit-config - <<END\n{}\nEND\nunlock\n", title("x"));
    let error = served.netconf_with(&["shell"], &script).failed(1);
    assert!(error.contains("line 4"), "{error}");
}

#[test]
fn wrong_documents_have_file_and_line() {
    let served = Served::new();
    served
        .sandbox
        .write("wrong.xml", "<c xmlns='urn:m'>\n<title>x</titel>\n</c>");
    for arguments in [
        &["edit-config", "wrong.xml"][..],
        &["copy-config", "--file", "wrong.xml", "running"],
        &["validate", "--file", "wrong.xml"],
        &["rpc", "wrong.xml"],
        &["get", "--subtree", "wrong.xml"],
    ] {
        let error = served.netconf(arguments).failed(1);
        assert!(error.contains("wrong.xml:2: "), "{arguments:?}: {error}");
        let json = served.netconf(&[arguments, &["--json"]].concat());
        let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
        assert_eq!(json["error"]["errors"][0]["line"], 2, "{json}");
    }
    let error = served
        .netconf_with(&["shell"], "\nedit-config wrong.xml\n")
        .failed(1);
    assert!(error.contains("line 2: wrong.xml:2: "), "{error}");
    let error = served.netconf(&["get", "--subtree", "<a"]).failed(2);
    assert!(
        error.contains("--subtree") && !error.contains("all"),
        "{error}"
    );
    for empty in ["", " \n", "\u{feff}"] {
        let error = served.netconf_with(&["edit-config", "-"], empty).failed(1);
        assert!(error.contains("is empty"), "{error}");
    }
}

#[test]
fn configuration_as_json_is_converted() {
    let served = Served::new();
    served
        .netconf_with(&["edit-config", "-"], r#"{"m:c": {"title": "json"}}"#)
        .ok();
    let read = || served.netconf(&["get-config", "--output", "json"]).json();
    assert_eq!(read()["m:c"]["title"], "json");
    served.sandbox.write("whole.json", read().to_string());
    served
        .netconf(&["copy-config", "--file", "whole.json", "running"])
        .ok();
    // Annotations are the operations (RFC 7952).
    let delete = r#"{"m:c": {"e": [{"k": "a", "@": {"ietf-netconf:operation": "delete"}}]}}"#;
    served.netconf_with(&["edit-config", "-"], delete).ok();
    let entries = read()["m:c"]["e"].as_array().expect("entries").len();
    assert_eq!(entries, 2);
    served.sandbox.write("whole.json", read().to_string());
    let same = ["netconf", "diff", "whole.json", "unix:netconf.sock"];
    assert_eq!(served.sandbox.run(&same).ok(), "");
    let wrong = served.netconf_with(&["edit-config", "-"], r#"{"m:c": {"titel": "x"}}"#);
    let error = wrong.failed(1);
    assert!(
        error.contains("titel") && error.contains("standard input"),
        "{error}"
    );
    let error = served.netconf_with(&["rpc", "-"], "{}").failed(1);
    assert!(error.contains("JSON, not XML"), "{error}");
}

#[test]
fn urls_have_their_form_in_messages() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("urls")).expect("a folder");
    let options = [
        "--netconf-socket",
        "netconf.sock",
        "--netconf-url-dir",
        "urls",
    ];
    let served = Served::in_sandbox(sandbox, &options);
    for wrong in ["file:backup.xml", "backup.xml", "./backup.xml", ""] {
        for arguments in [
            &["copy-config", "running", wrong][..],
            &["copy-config", wrong, "running"],
            &["delete-config", wrong],
            &["validate", wrong],
            &["get-config", "--source", wrong],
        ] {
            let error = served.netconf(arguments).failed(2);
            assert!(error.contains("file:///NAME"), "{arguments:?}: {error}");
        }
    }
    let error = served.netconf(&["edit-config", "file:a.xml"]).failed(2);
    assert!(error.contains("file:///NAME"), "{error}");
    served
        .netconf(&["copy-config", "running", "file:///b.xml"])
        .ok();
    served.netconf(&["validate", "file:///b.xml"]).ok();
    let error = served
        .netconf(&["get-config", "--source", "file:///b.xml"])
        .failed(2);
    assert!(
        error.contains("copy-config file:///b.xml candidate"),
        "{error}"
    );
    let both = ["copy-config", "--file", "a.xml", "running", "startup"];
    let error = served.netconf(&both).failed(2);
    assert!(error.contains("--file backup.xml running"), "{error}");
}

/// Folders were created for `--out`.
#[test]
fn files_are_in_folders_that_exist() {
    let served = Served::new();
    for arguments in [&["get-config"][..], &["get-schema", "m"]] {
        let out = [arguments, &["--out", "none/x"]].concat();
        let error = served.netconf(&out).failed(2);
        assert!(error.contains("there is no folder none"), "{error}");
        assert!(!served.sandbox.path("none").exists());
    }
}

#[test]
fn differences_name_the_side_and_set_the_exit_status() {
    let sandbox = Sandbox::new();
    create_store(&sandbox);
    sandbox.write("a.xml", title("a"));
    sandbox.write("b.xml", title("b"));
    let diff = |arguments: &[&str]| {
        sandbox.run(&[&["netconf", "diff"], arguments, &["--yang", "m.yang"]].concat())
    };
    let same = ["a.xml", "a.xml", "--exit-code"];
    assert_eq!(diff(&same).ok(), "");
    let different = diff(&["a.xml", "b.xml", "--exit-code"]);
    assert_eq!((different.status, different.stderr.as_str()), (1, ""));
    assert!(different.stdout.contains("/m:c/title"), "{different:?}");
    diff(&["a.xml", "b.xml"]).ok();
    for none in ["none.xml", "./none", "none/a"] {
        let error = diff(&["a.xml", none]).failed(2);
        assert!(
            error.contains("no such file") && error.contains(none),
            "{error}"
        );
    }
    sandbox.write("wrong.xml", "<c xmlns='urn:m'><nothing/></c>");
    let error = diff(&["a.xml", "wrong.xml"]).failed(1);
    assert!(error.contains("wrong.xml"), "{error}");
}
