//! Error messages of commands: file, line, path and hint.

use crate::interfaces_data::{INTERFACES, MODULES, store};
use crate::process::Sandbox;

/// A document with two errors.
fn broken() -> String {
    INTERFACES
        .replace("\"mtu\": 1500", "\"mtu\": 15")
        .replace("\"description\"", "\"descriptoin\"")
}

fn line_of(text: &str, part: &str) -> usize {
    let offset = text.find(part).expect("the part");
    text[..offset].matches('\n').count() + 1
}

#[test]
fn every_error_of_a_document_names_file_line_and_path() {
    let (sandbox, access) = store();
    let text = broken();
    sandbox.write("broken.json", &text);
    let before = sandbox.run(&[&["export"], &access[..]].concat()).ok();
    let output = sandbox
        .run(&[&["load", "broken.json"], &access[..]].concat())
        .failed(1);
    for (part, path) in [
        (
            "15,",
            "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu",
        ),
        ("descriptoin", "interface[name='eth0']"),
    ] {
        let place = format!("broken.json:{}: ", line_of(&text, part));
        let line = output.lines().find(|line| line.contains(&place));
        let line = line.unwrap_or_else(|| panic!("no {place} in {output}"));
        assert!(line.contains(path), "{line}");
    }
    assert_eq!(
        sandbox.run(&[&["export"], &access[..]].concat()).ok(),
        before
    );
}

/// Changes under `policy=ram` are in the memory of the process, which ends with the command.
#[test]
fn a_command_under_policy_ram_reads_and_changes_nothing() {
    let (sandbox, access) = store();
    let interface = "/ietf-interfaces:interfaces/interface=eth0/description";
    sandbox.write("all.json", INTERFACES);
    for command in [
        &["stats", "configure"][..],
        &["stats", "track", "hits", "count=1"],
        &["documents", "configure", "cars"],
        &["documents", "insert", "cars", "{}"],
    ] {
        sandbox.run(&[command, &access[..2]].concat()).ok();
    }
    let ram = format!("{}?policy=ram", access[1]);
    let under_ram = |command: &[&str]| sandbox.run(&[command, &["--store", &ram]].concat());
    for command in [
        &["set", interface, "other"][..],
        &["set", interface, "other", "--datastore", "candidate"],
        &["delete", interface],
        &["load", "all.json", "--replace"],
        &["history", "--keep", "1"],
        &["stats", "configure", "--retention", "1m=1d"],
        &["stats", "track", "hits", "count=1"],
        &["stats", "delete", "hits"],
        &["documents", "configure", "bikes"],
        &["documents", "insert", "cars", "{}"],
        &["documents", "update", "cars", "{\"a\":1}", "--key", "0"],
        &["documents", "delete", "cars", "--collection-too"],
    ] {
        let output = under_ram(command).failed(1);
        assert!(
            output.contains("leave policy=ram out"),
            "{command:?}: {output}"
        );
    }
    let values = ["stats", "values", "hits", "-g", "1d", "--last", "1d"];
    for command in [
        &["get", interface][..],
        &["info"],
        &["check"],
        &values,
        &["documents", "get", "cars", "0"],
    ] {
        under_ram(command).ok();
    }
    let new = ["stats", "configure", "--store", "embedded:new?policy=ram"];
    let output = sandbox.run(&new).failed(2);
    assert!(output.contains("leave policy=ram out"), "{output}");
    assert!(!sandbox.path("new").exists());
}

#[test]
fn json_errors_are_machine_readable() {
    let (sandbox, access) = store();
    let text = broken();
    sandbox.write("broken.json", &text);
    let outcome = sandbox.run(&[&["load", "broken.json", "--json"], &access[..]].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    let output: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let errors = output["error"]["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 2, "{output}");
    for error in errors {
        assert_eq!(error["file"], "broken.json");
        assert!(
            error["line"].as_u64().is_some() && error["error-path"].is_string(),
            "{error}"
        );
        assert!(
            error["error-tag"].is_string() && error["error-message"].is_string(),
            "{error}"
        );
    }
}

#[test]
fn server_reports_the_same_errors() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    let text = broken();
    sandbox.write("broken.json", &text);
    let output = sandbox
        .run(&["load", "broken.json", "--server", &server.url])
        .failed(1);
    assert!(
        output.contains(&format!("broken.json:{}: ", line_of(&text, "15,"))),
        "{output}"
    );
    let output = sandbox
        .run_with(
            &["load", "-", "--server", &server.url],
            text.as_bytes(),
            &[],
        )
        .failed(1);
    assert!(
        output.contains("/ietf-interfaces:interfaces/interface[name='eth0']"),
        "{output}"
    );
}

#[test]
fn usage_errors_exit_with_2_and_a_hint() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 9] = [
        (&["get", "/x"], "--store embedded:DIR or --server URL"),
        (&["get", "/x", "--store", "embedded:none"], "--yang"),
        (
            &["get", "/x", "--store", "embedded:a", "--server", "http://b"],
            "cannot be used with",
        ),
        (&["get", "/x", "--server", "b"], "http://127.0.0.1:8080"),
        (
            &[
                "load",
                "none.json",
                "--store",
                "memory:",
                "--yang",
                "ietf-ip",
            ],
            "none.json",
        ),
        (&["schema", "--yang", "no-such-module"], "--built-in"),
        (
            &["schema", "--yang", "ietf-ip", "--features", "x"],
            "MODULE:FEATURE",
        ),
        (
            &[
                "export",
                "--store",
                "memory:",
                "--yang",
                "ietf-interfaces",
                "--path",
                "/nothing:here",
            ],
            "espalier schema",
        ),
        (&["check", "--server", "http://127.0.0.1:1"], "--store"),
    ];
    for (arguments, hint) in cases {
        let output = sandbox.run(arguments).failed(2);
        assert!(output.contains(hint), "{arguments:?}: {output}");
    }
    assert!(
        !sandbox.path("none").exists(),
        "a mistyped store was created"
    );
}

#[test]
fn usage_errors_are_json_with_json_option() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["get", "--json"][..],
        &["get", "/x", "--json"],
        &["get", "/x", "--json", "--nothing"],
    ] {
        let outcome = sandbox.run(arguments);
        let output: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        assert_eq!(
            (outcome.status, &output["error"]["exit-status"]),
            (2, &2.into()),
            "{output}"
        );
    }
}

#[test]
fn closed_output_is_not_an_error() {
    let (sandbox, access) = store();
    let mut child = sandbox
        .command(&[&["export"], &access[..]].concat())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn invalid_model_is_reported_with_its_position() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "m.yang",
        "module m {\n  namespace \"urn:m\";\n  prefix m;\n  leaf a { type strin; }\n}\n",
    );
    let output = sandbox.run(&["schema", "--yang", "m.yang"]).failed(1);
    assert!(output.contains("strin"), "{output}");
    sandbox.write("n.yang", "<module/>");
    let output = sandbox.run(&["schema", "--yang", "n.yang"]).failed(2);
    assert!(
        output.contains("n.yang") && output.contains("YIN"),
        "{output}"
    );
}

#[test]
fn missing_server_is_reported() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .run(&["get", "/", "--server", "http://127.0.0.1:1"])
        .failed(1);
    assert!(output.contains("espalier serve"), "{output}");
}

#[test]
fn xml_errors_name_the_line_too() {
    let sandbox = Sandbox::new();
    let text = "<interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\">\n  <interface>\n    \
        <name>a</name>\n    <type>wrong</type>\n  </interface>\n</interfaces>\n";
    sandbox.write("a.xml", text);
    let arguments = [&["load", "a.xml", "--store", "memory:"], &MODULES[..]].concat();
    assert!(sandbox.run(&arguments).failed(1).contains("a.xml:4: "));
}

/// Regression: the hint about creating a store was also given for an existing store that cannot be opened.
#[test]
fn creation_hint_is_given_only_if_the_store_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "text");
    for command in [&["stats", "keys"][..], &["documents", "ls"]] {
        let run = |url: &str| {
            let outcome = sandbox.run(&[command, &["--store", url]].concat());
            assert_ne!(outcome.status, 0);
            outcome.stderr
        };
        let missing = run("embedded:nothing");
        assert!(missing.contains("make one: espalier"), "{missing}");
        for url in ["embedded:file", "sqlite:file"] {
            let output = run(url);
            assert!(!output.contains("make one"), "{url}: {output}");
        }
    }
}

/// Regression: a target that is no regular file was replaced.
#[test]
fn backup_replaces_regular_files_only() {
    let (sandbox, access) = store();
    let outcome = sandbox.run(&["backup", access[1], "/dev/null", "--force"]);
    let output = outcome.failed(2);
    assert!(output.contains("that is no file"), "{output}");
}

/// Regression: with modules named, also in the settings, they created an empty store.
#[test]
fn read_commands_create_no_store() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.yang",
        "module a { namespace urn:a; prefix a; leaf x { type string; } }",
    );
    for command in [
        &["get", "/a:x"][..],
        &["export"],
        &["diff", "0", "1"],
        &["history"],
        &["schema"],
        &["locks"],
        &["validate"],
        &["check"],
    ] {
        for (url, path) in [
            ("embedded:data", "data"),
            ("file:data", "data"),
            ("sqlite:a.db", "a.db"),
        ] {
            let output = sandbox.run(&[command, &["--store", url, "--yang", "a.yang"]].concat());
            let output = output.failed(2);
            assert!(
                output.contains("there is no store at"),
                "{command:?}: {output}"
            );
            assert!(!sandbox.path(path).exists(), "{command:?} has made {url}");
        }
    }
}

/// Includes values and paths on the command line, and missing data at a path.
#[test]
fn errors_of_every_command_carry_tag_and_path() {
    const MTU: &str = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";
    let check = |sandbox: &Sandbox, access: &[&str]| {
        let table = [
            (&["set", MTU, "15"][..], "invalid-value", MTU),
            (&["set", MTU, "abc"], "invalid-value", MTU),
            (
                &["get", "/ietf-interfaces:nothing"],
                "unknown-element",
                "/ietf-interfaces:nothing",
            ),
            (
                &["set", "/nowhere:x", "1"],
                "unknown-namespace",
                "/nowhere:x",
            ),
            (
                &["get", "/ietf-interfaces:interfaces/interface=none"],
                "data-missing",
                "/ietf-interfaces:interfaces/interface[name='none']",
            ),
            (
                &[
                    "export",
                    "--path",
                    "/ietf-interfaces:interfaces/interface=none",
                ],
                "data-missing",
                "/ietf-interfaces:interfaces/interface[name='none']",
            ),
        ];
        for (command, tag, path) in table {
            let outcome = sandbox.run(&[command, &["--json"], access].concat());
            let output: serde_json::Value = serde_json::from_str(&outcome.stdout)
                .unwrap_or_else(|_| panic!("{command:?}: {outcome:?}"));
            let error = &output["error"]["errors"][0];
            assert_eq!(
                (&error["error-tag"], &error["error-path"]),
                (&tag.into(), &path.into()),
                "{output}"
            );
        }
    };
    let (sandbox, access) = store();
    check(&sandbox, &access);
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    check(&sandbox, &["--server", &server.url]);
}

/// Invalid metadata gets the same error in every encoding (RFC 7952 §5.2).
#[test]
fn invalid_metadata_is_rejected_in_every_encoding() {
    let (sandbox, access) = store();
    let wrong = r#"{"ietf-interfaces:interfaces":{"interface":[{"name":"eth0","type":"iana-if-type:ethernetCsmacd","description":"x","@description":[{}]}]}}"#;
    sandbox.write("wrong.json", wrong);
    let server = sandbox.serve(&access);
    let remote = ["--server", server.url.as_str()];
    for command in [
        &["load", "wrong.json"][..],
        &["load", "wrong.json", "--replace"],
        &["edit", "wrong.json"],
    ] {
        for access in [&access[..], &remote[..]] {
            let output = sandbox.run(&[command, access].concat()).failed(1);
            assert!(
                output.contains("bad-attribute") && output.contains("/description"),
                "{output}"
            );
        }
    }
}

#[test]
fn mistyped_names_in_paths_and_engines_get_suggestions() {
    let (sandbox, access) = store();
    for (path, guess) in [
        (
            "/ietf-interfaces:interfces",
            "did you mean 'ietf-interfaces:interfaces'?",
        ),
        (
            "/ietf-interface:interfaces",
            "did you mean 'ietf-interfaces'?",
        ),
        (
            "/ietf-interfaces:interfaces/interface=eth0/descripton",
            "did you mean 'description'?",
        ),
        (
            "/ietf-interfaces:interfaces/interface=eth0/ipv5",
            "did you mean 'ietf-ip:ipv4'?",
        ),
    ] {
        let output = sandbox
            .run(&[&["get", path], &access[..]].concat())
            .failed(2);
        assert!(output.contains(guess), "{output}");
    }
    let output = sandbox
        .run(&[&["get", "/ietf-interfaces:interfaces/zebra"], &access[..]].concat())
        .failed(2);
    assert!(!output.contains("did you mean"), "{output}");
    let output = sandbox.run(&["check", "embeded:store"]).failed(1);
    assert!(output.contains("did you mean embedded:?"), "{output}");
    // Through a server, in a RESTCONF URL.
    let server = sandbox.serve(&access);
    let answer = server.request("GET", "/restconf/data/ietf-interfaces:interfces", None);
    assert!(answer.body.contains("did you mean"), "{answer:?}");
}

/// The error suggested the same name.
#[test]
fn names_of_operations_and_notifications_are_reported_as_such() {
    let sandbox = Sandbox::new();
    let module = "module m { yang-version 1.1; namespace urn:m; prefix m; rpc go; notification no; \
                  container c { presence p; action act; } }";
    sandbox.write("m.yang", module);
    let access = ["--store", "memory:", "--yang", "m.yang"];
    for (path, what) in [
        ("/m:go", "an operation"),
        ("/m:no", "a notification"),
        ("/m:c/act", "an action"),
    ] {
        let output = sandbox.run(&[&["get", path], &access[..]].concat());
        let output = output.failed(2);
        assert!(
            output.contains(&format!("is {what}, which has no data")),
            "{output}"
        );
    }
}

/// `edit -` read XML as JSON.
#[test]
fn xml_from_standard_input_is_edited() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "m.yang",
        "module m { namespace urn:m; prefix m; leaf a { type string; } }",
    );
    sandbox.write("a.json", r#"{"m:a":"1"}"#);
    let store = ["--store", "embedded:store"];
    sandbox
        .run(&[&["load", "a.json", "--yang", "m.yang"], &store[..]].concat())
        .ok();
    let edit = [&["edit", "-"], &store[..]].concat();
    sandbox
        .run_with(&edit, b" <a xmlns='urn:m'>2</a>", &[])
        .ok();
    let export = sandbox.run(&[&["export"], &store[..]].concat()).json();
    assert_eq!(export["m:a"], "2");
}

/// The error did not name the other entry.
#[test]
fn a_unique_error_names_the_other_entry() {
    let sandbox = Sandbox::new();
    let list = "list l { key k; unique v; leaf k { type string; } leaf v { type string; } }";
    sandbox.write(
        "m.yang",
        format!("module m {{ namespace urn:m; prefix m; {list} }}"),
    );
    sandbox.write("a.json", r#"{"m:l":[{"k":"a","v":"1"},{"k":"b","v":"1"}]}"#);
    let load = ["load", "a.json", "--yang", "m.yang", "--store", "memory:"];
    let output = sandbox.run(&load).failed(1);
    assert!(
        output.contains("/m:l[k='a'] has the same v")
            || output.contains("/m:l[k='b'] has the same v"),
        "{output}"
    );
}

#[test]
fn slash_in_a_key_gets_a_quoting_hint() {
    let (sandbox, access) = store();
    let path = "/ietf-interfaces:interfaces/interface=ge-0/0/0/description";
    let output = sandbox
        .run(&[&["get", path], &access[..]].concat())
        .failed(2);
    assert!(
        output.contains("%2F") && output.contains("interface[KEY='a/b']"),
        "{output}"
    );
    let server = sandbox.serve(&access);
    let path = "/restconf/data/ietf-interfaces:interfaces/interface=ge-0/0/0";
    let answer = server.request("GET", path, None);
    assert!(
        answer.status == 400 && answer.body.contains("%2F"),
        "{answer:?}"
    );
}

#[test]
fn union_error_lists_what_its_members_accept() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "u.yang",
        "module u { yang-version 1.1; namespace 'urn:u'; prefix u; leaf v { type union {
            type uint8 { range '1..10'; } type enumeration { enum auto; enum none; }
            type string { pattern 'x.*'; } } } }",
    );
    sandbox.write("v.json", r#"{"u:v":"seven"}"#);
    let load = [
        "load",
        "v.json",
        "--yang",
        "u.yang",
        "--store",
        "embedded:u",
    ];
    let output = sandbox.run(&load).failed(1);
    for accepted in ["uint8 (1..10)", "enumeration (auto, none)", "pattern x.*"] {
        assert!(output.contains(accepted), "{output}");
    }
}

#[test]
fn lock_without_session_names_the_missing_option() {
    let (sandbox, access) = store();
    for command in [&["lock"][..], &["unlock"], &["unlock", "--all"]] {
        let output = sandbox.run(&[command, &access[..]].concat()).failed(2);
        assert!(output.contains("--session NAME"), "{output}");
    }
}

#[test]
fn copy_of_a_store_onto_itself_is_rejected() {
    let (sandbox, access) = store();
    sandbox.run(&["copy", access[1], "file:f"]).ok();
    sandbox.run(&["copy", access[1], "sqlite:s.db"]).ok();
    for (from, to) in [
        ("file:f", "file:f"),
        ("file:f", "file:./f?durability=relaxed"),
        ("embedded:store", "embedded:./store"),
        ("sqlite:s.db", "sqlite:s.db"),
    ] {
        let output = sandbox.run(&["copy", from, to, "--force"]).failed(2);
        assert!(output.contains("are the same store"), "{output}");
    }
    sandbox.run(&["check", "file:f"]).ok();
}

#[test]
fn mistyped_module_creates_no_store() {
    let sandbox = Sandbox::new();
    sandbox.write("e.json", "{}");
    for command in [
        &["load", "e.json"][..],
        &["serve", "--listen", "127.0.0.1:0"],
        &["get", "/"],
    ] {
        for store in ["embedded:new", "file:new", "sqlite:new"] {
            let options = ["--store", store, "--yang", "no-such-module"];
            let output = sandbox.run(&[command, &options].concat()).failed(2);
            assert!(
                output.contains("no-such-module") || output.contains("no store"),
                "{output}"
            );
            assert!(!sandbox.path("new").exists(), "{command:?} {store}");
        }
    }
}

#[test]
fn retention_over_http_has_the_units_of_the_command_and_rejects_unknown_members() {
    let (sandbox, access) = store();
    let server = sandbox.serve(&access);
    let set = |body: &str| server.request_json("POST", "/espalier/retention", body);
    assert_eq!(set(r#"{"versions":500,"age-seconds":86400}"#).status, 204);
    let output = server.request("GET", "/espalier/retention", None).body;
    assert_eq!(output, r#"{"versions":500,"age-seconds":86400}"#);
    for wrong in [
        r#"{"versions":1,"x":"="}"#,
        r#"{"versions":1,"age_ms":1}"#,
        r#"{"version":1}"#,
    ] {
        let answer = set(wrong);
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    let output = server.request("GET", "/espalier/retention", None).body;
    assert!(output.contains("500"), "{output}");
}
