//! What commands say when something is wrong: file, line, path, and what to do.

use crate::documents::{INTERFACES, MODULES, store};
use crate::process::Bench;

/// Two mistakes on known lines.
fn broken() -> String {
    INTERFACES
        .replace("\"mtu\": 1500", "\"mtu\": 15")
        .replace("\"description\"", "\"descriptoin\"")
}

fn line_of(text: &str, part: &str) -> usize {
    let at = text.find(part).expect("the part");
    text[..at].matches('\n').count() + 1
}

#[test]
fn every_error_of_a_document_names_file_line_and_path() {
    let (bench, access) = store();
    let text = broken();
    bench.write("broken.json", &text);
    let before = bench.run(&[&["export"], &access[..]].concat()).ok();
    let said = bench
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
        let line = said.lines().find(|line| line.contains(&place));
        let line = line.unwrap_or_else(|| panic!("no {place} in {said}"));
        assert!(line.contains(path), "{line}");
    }
    assert_eq!(bench.run(&[&["export"], &access[..]].concat()).ok(), before);
}

/// What is changed under `policy=ram` is in the memory of the process, which ends with the command.
#[test]
fn a_command_under_policy_ram_reads_and_changes_nothing() {
    let (bench, access) = store();
    let interface = "/ietf-interfaces:interfaces/interface=eth0/description";
    bench.write("all.json", INTERFACES);
    for command in [
        &["stats", "configure"][..],
        &["stats", "track", "hits", "count=1"],
        &["documents", "configure", "cars"],
        &["documents", "insert", "cars", "{}"],
    ] {
        bench.run(&[command, &access[..2]].concat()).ok();
    }
    let ram = format!("{}?policy=ram", access[1]);
    let under_ram = |command: &[&str]| bench.run(&[command, &["--store", &ram]].concat());
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
        let said = under_ram(command).failed(1);
        assert!(said.contains("leave policy=ram out"), "{command:?}: {said}");
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
    let said = bench.run(&new).failed(2);
    assert!(said.contains("leave policy=ram out"), "{said}");
    assert!(!bench.path("new").exists());
}

#[test]
fn json_errors_are_machine_readable() {
    let (bench, access) = store();
    let text = broken();
    bench.write("broken.json", &text);
    let outcome = bench.run(&[&["load", "broken.json", "--json"], &access[..]].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    let said: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let errors = said["error"]["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 2, "{said}");
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
fn a_server_says_the_same() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    let text = broken();
    bench.write("broken.json", &text);
    let said = bench
        .run(&["load", "broken.json", "--server", &server.url])
        .failed(1);
    assert!(
        said.contains(&format!("broken.json:{}: ", line_of(&text, "15,"))),
        "{said}"
    );
    let said = bench
        .run_with(
            &["load", "-", "--server", &server.url],
            text.as_bytes(),
            &[],
        )
        .failed(1);
    assert!(
        said.contains("/ietf-interfaces:interfaces/interface[name='eth0']"),
        "{said}"
    );
}

#[test]
fn mistakes_in_the_call_end_with_2_and_say_what_to_do() {
    let bench = Bench::new();
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
        let said = bench.run(arguments).failed(2);
        assert!(said.contains(hint), "{arguments:?}: {said}");
    }
    assert!(!bench.path("none").exists(), "a mistyped store was created");
}

#[test]
fn mistakes_in_the_call_are_json_too() {
    let bench = Bench::new();
    for arguments in [
        &["get", "--json"][..],
        &["get", "/x", "--json"],
        &["get", "/x", "--json", "--nothing"],
    ] {
        let outcome = bench.run(arguments);
        let said: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        assert_eq!(
            (outcome.status, &said["error"]["exit-status"]),
            (2, &2.into()),
            "{said}"
        );
    }
}

#[test]
fn an_output_that_is_closed_is_no_error() {
    let (bench, access) = store();
    let mut child = bench
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
fn a_model_that_does_not_compile_is_told_with_its_place() {
    let bench = Bench::new();
    bench.write(
        "m.yang",
        "module m {\n  namespace \"urn:m\";\n  prefix m;\n  leaf a { type strin; }\n}\n",
    );
    let said = bench.run(&["schema", "--yang", "m.yang"]).failed(1);
    assert!(said.contains("strin"), "{said}");
    bench.write("n.yang", "<module/>");
    let said = bench.run(&["schema", "--yang", "n.yang"]).failed(2);
    assert!(said.contains("n.yang") && said.contains("YIN"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let bench = Bench::new();
    let said = bench
        .run(&["get", "/", "--server", "http://127.0.0.1:1"])
        .failed(1);
    assert!(said.contains("espalier serve"), "{said}");
}

#[test]
fn xml_errors_name_the_line_too() {
    let bench = Bench::new();
    let text = "<interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\">\n  <interface>\n    \
        <name>a</name>\n    <type>wrong</type>\n  </interface>\n</interfaces>\n";
    bench.write("a.xml", text);
    let arguments = [&["load", "a.xml", "--store", "memory:"], &MODULES[..]].concat();
    assert!(bench.run(&arguments).failed(1).contains("a.xml:4: "));
}

/// How to make a store was said of one that is there and cannot be opened, too.
#[test]
fn only_where_there_is_no_store_it_is_said_how_to_make_one() {
    let bench = Bench::new();
    bench.write("file", "text");
    for command in [&["stats", "keys"][..], &["documents", "ls"]] {
        let run = |url: &str| {
            let outcome = bench.run(&[command, &["--store", url]].concat());
            assert_ne!(outcome.status, 0);
            outcome.stderr
        };
        let missing = run("embedded:nothing");
        assert!(missing.contains("make one: espalier"), "{missing}");
        for url in ["embedded:file", "sqlite:file"] {
            let said = run(url);
            assert!(!said.contains("make one"), "{url}: {said}");
        }
    }
}

/// A target that is no file was replaced by one.
#[test]
fn a_backup_replaces_files_only() {
    let (bench, access) = store();
    let outcome = bench.run(&["backup", access[1], "/dev/null", "--force"]);
    let said = outcome.failed(2);
    assert!(said.contains("that is no file"), "{said}");
}

/// With modules named, in the settings too, they made an empty store.
#[test]
fn what_reads_makes_no_store() {
    let bench = Bench::new();
    bench.write(
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
            let said = bench.run(&[command, &["--store", url, "--yang", "a.yang"]].concat());
            let said = said.failed(2);
            assert!(said.contains("there is no store at"), "{command:?}: {said}");
            assert!(!bench.path(path).exists(), "{command:?} has made {url}");
        }
    }
}

/// Also of a value or path on the command line, and of nothing at a path.
#[test]
fn errors_of_every_command_carry_tag_and_path() {
    const MTU: &str = "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4/mtu";
    let check = |bench: &Bench, access: &[&str]| {
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
            let outcome = bench.run(&[command, &["--json"], access].concat());
            let said: serde_json::Value = serde_json::from_str(&outcome.stdout)
                .unwrap_or_else(|_| panic!("{command:?}: {outcome:?}"));
            let error = &said["error"]["errors"][0];
            assert_eq!(
                (&error["error-tag"], &error["error-path"]),
                (&tag.into(), &path.into()),
                "{said}"
            );
        }
    };
    let (bench, access) = store();
    check(&bench, &access);
    let (bench, access) = store();
    let server = bench.serve(&access);
    check(&bench, &["--server", &server.url]);
}

/// Metadata that is wrong has one verdict, however it comes (RFC 7952 §5.2).
#[test]
fn wrong_metadata_is_refused_however_it_comes() {
    let (bench, access) = store();
    let wrong = r#"{"ietf-interfaces:interfaces":{"interface":[{"name":"eth0","type":"iana-if-type:ethernetCsmacd","description":"x","@description":[{}]}]}}"#;
    bench.write("wrong.json", wrong);
    let server = bench.serve(&access);
    let remote = ["--server", server.url.as_str()];
    for command in [
        &["load", "wrong.json"][..],
        &["load", "wrong.json", "--replace"],
        &["edit", "wrong.json"],
    ] {
        for access in [&access[..], &remote[..]] {
            let said = bench.run(&[command, access].concat()).failed(1);
            assert!(
                said.contains("bad-attribute") && said.contains("/description"),
                "{said}"
            );
        }
    }
}

#[test]
fn mistyped_names_in_paths_and_engines_are_guessed() {
    let (bench, access) = store();
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
        let told = bench.run(&[&["get", path], &access[..]].concat()).failed(2);
        assert!(told.contains(guess), "{told}");
    }
    let told = bench
        .run(&[&["get", "/ietf-interfaces:interfaces/zebra"], &access[..]].concat())
        .failed(2);
    assert!(!told.contains("did you mean"), "{told}");
    let told = bench.run(&["check", "embeded:store"]).failed(1);
    assert!(told.contains("did you mean embedded:?"), "{told}");
    // Through a server, in a URL of RESTCONF.
    let server = bench.serve(&access);
    let answer = server.request("GET", "/restconf/data/ietf-interfaces:interfces", None);
    assert!(answer.body.contains("did you mean"), "{answer:?}");
}

#[test]
fn a_slash_in_a_key_is_told_how_to_write() {
    let (bench, access) = store();
    let path = "/ietf-interfaces:interfaces/interface=ge-0/0/0/description";
    let told = bench.run(&[&["get", path], &access[..]].concat()).failed(2);
    assert!(
        told.contains("%2F") && told.contains("interface[KEY='a/b']"),
        "{told}"
    );
    let server = bench.serve(&access);
    let path = "/restconf/data/ietf-interfaces:interfaces/interface=ge-0/0/0";
    let answer = server.request("GET", path, None);
    assert!(
        answer.status == 400 && answer.body.contains("%2F"),
        "{answer:?}"
    );
}

#[test]
fn a_union_tells_what_its_members_accept() {
    let bench = Bench::new();
    bench.write(
        "u.yang",
        "module u { yang-version 1.1; namespace 'urn:u'; prefix u; leaf v { type union {
            type uint8 { range '1..10'; } type enumeration { enum auto; enum none; }
            type string { pattern 'x.*'; } } } }",
    );
    bench.write("v.json", r#"{"u:v":"seven"}"#);
    let load = [
        "load",
        "v.json",
        "--yang",
        "u.yang",
        "--store",
        "embedded:u",
    ];
    let told = bench.run(&load).failed(1);
    for accepted in ["uint8 (1..10)", "enumeration (auto, none)", "pattern x.*"] {
        assert!(told.contains(accepted), "{told}");
    }
}

#[test]
fn a_lock_without_a_session_is_told_which_option_is_missing() {
    let (bench, access) = store();
    for command in [&["lock"][..], &["unlock"], &["unlock", "--all"]] {
        let told = bench.run(&[command, &access[..]].concat()).failed(2);
        assert!(told.contains("--session NAME"), "{told}");
    }
}

#[test]
fn a_copy_of_a_store_onto_itself_is_refused_as_such() {
    let (bench, access) = store();
    bench.run(&["copy", access[1], "file:f"]).ok();
    bench.run(&["copy", access[1], "sqlite:s.db"]).ok();
    for (from, to) in [
        ("file:f", "file:f"),
        ("file:f", "file:./f?durability=relaxed"),
        ("embedded:store", "embedded:./store"),
        ("sqlite:s.db", "sqlite:s.db"),
    ] {
        let told = bench.run(&["copy", from, to, "--force"]).failed(2);
        assert!(told.contains("are the same store"), "{told}");
    }
    bench.run(&["check", "file:f"]).ok();
}

#[test]
fn a_mistyped_module_makes_no_store() {
    let bench = Bench::new();
    bench.write("e.json", "{}");
    for command in [
        &["load", "e.json"][..],
        &["serve", "--listen", "127.0.0.1:0"],
        &["get", "/"],
    ] {
        for store in ["embedded:new", "file:new", "sqlite:new"] {
            let options = ["--store", store, "--yang", "no-such-module"];
            let told = bench.run(&[command, &options].concat()).failed(2);
            assert!(
                told.contains("no-such-module") || told.contains("no store"),
                "{told}"
            );
            assert!(!bench.path("new").exists(), "{command:?} {store}");
        }
    }
}

#[test]
fn retention_over_http_has_the_units_of_the_command_and_no_unknown_members() {
    let (bench, access) = store();
    let server = bench.serve(&access);
    let set = |body: &str| server.request_json("POST", "/espalier/retention", body);
    assert_eq!(set(r#"{"versions":500,"age-seconds":86400}"#).status, 204);
    let told = server.request("GET", "/espalier/retention", None).body;
    assert_eq!(told, r#"{"versions":500,"age-seconds":86400}"#);
    for wrong in [
        r#"{"versions":1,"x":"="}"#,
        r#"{"versions":1,"age_ms":1}"#,
        r#"{"version":1}"#,
    ] {
        let answer = set(wrong);
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    let told = server.request("GET", "/espalier/retention", None).body;
    assert!(told.contains("500"), "{told}");
}
