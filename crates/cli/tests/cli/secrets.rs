//! A password in a URL is never printed, for any command, engine, error and output format.

use crate::interfaces_data::store;
use crate::process::{Outcome, Sandbox};

/// The password. No other output contains this text.
const PASSWORD: &str = "hunter2";

/// An address that no process listens on.
const UNUSED_ADDRESS: &str = "127.0.0.1:1";

fn assert_hidden(outcome: &Outcome, what: &str) {
    let output = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(!output.contains(PASSWORD), "{what}: {output}");
    assert!(
        !output.is_empty() && outcome.status != 0,
        "{what}: {outcome:?}"
    );
}

/// User parts of URLs, valid and invalid.
fn user_infos() -> Vec<String> {
    let user_infos = [
        "me:*",
        ":*",
        "me:a/*",
        "me:1/*",
        "me:a?*",
        "me:a?*=b",
        "me:a?b&*",
        "me:a@*",
        "me:'*",
        "me:\"*",
        "me: *",
        "me:%*",
        "me:*,*",
        "me:[*",
        "me:#*",
        "me:*\n",
        "me:\u{1b}*",
        "me:ä*",
        "*:me:*",
    ];
    user_infos
        .iter()
        .map(|text| text.replace('*', PASSWORD))
        .collect()
}

#[test]
fn urls_of_every_scheme_are_reported_without_password() {
    let sandbox = Sandbox::new();
    let engines = [
        ("postgres", "connect_timeout=1"),
        ("postgresql", "connect_timeout=1"),
        ("redis", "timeout_ms=50"),
        ("rediss", "timeout_ms=50"),
        ("mongodb", "timeout_ms=50"),
        ("etcd", "timeout_ms=50"),
        ("postgre", "x=1"),
        ("mongo", "x=1"),
        ("sqlite", "x=1"),
        ("embeded", "x=1"),
    ];
    for (index, user) in user_infos().iter().enumerate() {
        // All pairs would take long: every user part is tried with a third of the engines.
        let subset = engines
            .iter()
            .enumerate()
            .filter(|(number, _)| number % 3 == index % 3);
        for (_, (scheme, option)) in subset {
            let url = format!("{scheme}://{user}@{UNUSED_ADDRESS}/x?{option}");
            assert_hidden(&sandbox.run(&["check", &url]), &url);
        }
    }
}

#[test]
fn mistyped_urls_are_reported_without_password() {
    let sandbox = Sandbox::new();
    for url in [
        "postgre://me:hunter2@h/x",
        "postgres:/me:hunter2@h/x",
        "postgres:me:hunter2@h/x",
        "postgres//me:hunter2@h/x",
        "redis://me:hunter2",
        "redis://me:hunter2%40h/0",
        "redis://:hunter2",
        "etcd://me:hunter2",
        "mongodb://me:hunter2/x",
        "redis://127.0.0.1:1/0?password=hunter2",
        "postgres://127.0.0.1:1/x?sslpassword=hunter2&x=y",
        "mongodb://me@127.0.0.1:1/x?token=hunter2",
    ] {
        for command in [
            &["get", "/", "--store"][..],
            &["check"],
            &["get", "/", "--json", "--store"],
            // The parser repeats an unexpected argument in its error.
            &["get", "/", "too-many"],
            &["stats", "keys", "--stor"],
        ] {
            let arguments = [command, &[url]].concat();
            assert_hidden(&sandbox.run(&arguments), &arguments.join(" "));
        }
        let joined = format!("--limit={url}");
        assert_hidden(&sandbox.run(&["history", &joined]), url);
    }
}

/// Every command on a tree.
const COMMANDS: &[&[&str]] = &[
    &["get", "/"],
    &[
        "set",
        "/ietf-interfaces:interfaces/interface=a/description",
        "b",
    ],
    &["delete", "/ietf-interfaces:interfaces"],
    &["load", "interfaces.json"],
    &["export"],
    &["edit", "interfaces.json"],
    &["validate"],
    &["commit"],
    &["discard"],
    &["update"],
    &["lock", "--session", "s"],
    &["unlock", "--session", "s"],
    &["locks"],
    &["copy-config", "running", "startup"],
    &["history"],
    &["diff", "0", "1"],
    &["rollback", "0"],
    &["schema"],
];

/// Every command with a URL argument, with an unreachable URL.
#[test]
fn no_command_prints_a_password() {
    let (sandbox, access) = store();
    sandbox.write("broken.backup", "this is none");
    sandbox
        .run(&["backup", "embedded:store", "all.backup"])
        .ok();
    let url = "redis://me:hunter2@127.0.0.1:1/0?timeout_ms=50";
    let server = "http://me:hunter2@127.0.0.1:1";
    let run = |arguments: Vec<&str>| {
        for more in [
            &[][..],
            &["--json"],
            &["--log", "trace"],
            &["--log", "trace", "--log-format", "json"],
        ] {
            let arguments = [&arguments[..], more].concat();
            assert_hidden(&sandbox.run(&arguments), &arguments.join(" "));
        }
    };
    for command in COMMANDS {
        run([command, &["--store", url][..]].concat());
        run([command, &["--server", server][..]].concat());
    }
    for command in [
        &["check", url][..],
        &["info", url],
        &["serve", "--listen", "127.0.0.1:0", "--store", url],
        &["serve", "--server", server],
        &["copy", url, "embedded:new"],
        &["copy", access[1], url],
        &["copy", url, url],
        &["backup", url, "new.backup"],
        &["restore", "all.backup", url],
        &["restore", "broken.backup", url],
        &["stats", "keys", "--store", url],
        &["stats", "track", "m", "a=1", "--store", url],
        &["documents", "ls", "--store", url],
        &["documents", "insert", "cars", "{}", "--store", url],
    ] {
        run(command.to_vec());
    }
    for engines in [
        "redis://me:hunter2@127.0.0.1:1/0?timeout_ms=50",
        "memory,redi://me:hunter2@h",
    ] {
        let arguments = [
            "bench",
            "scale",
            "--sizes",
            "2",
            "--drivers",
            engines,
            "--json",
            "-",
        ];
        assert_hidden(&sandbox.run(&arguments), engines);
    }
}

#[test]
fn errors_in_settings_and_files_have_no_password() {
    let sandbox = Sandbox::new();
    let url = "postgre://me:hunter2@h/x";
    let environment = [("ESPALIER_STORE", url)];
    assert_hidden(
        &sandbox.run_with(&["get", "/"], b"", &environment),
        "the environment",
    );
    sandbox.write("espalier.toml", format!("store = \"{url}\"\n"));
    assert_hidden(&sandbox.run(&["get", "/"]), "the configuration");
    sandbox.write("espalier.toml", format!("stoer = \"{url}\"\n"));
    assert_hidden(&sandbox.run(&["get", "/"]), "a mistyped configuration");
    sandbox.write("espalier.toml", format!("store = \"{url}\n"));
    assert_hidden(&sandbox.run(&["get", "/"]), "an unfinished configuration");
}

/// A report of the bench command contains its command line.
#[test]
fn a_report_has_no_password() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.jsonl", "");
    let report = [
        "bench",
        "--from",
        "rows.jsonl",
        "--html",
        "r.html",
        "--markdown",
        "r.md",
    ];
    let url = ["--drivers", "memory,redis://me:hunter2@127.0.0.1:1/0"];
    sandbox.run(&[&report[..], &url].concat()).ok();
    for file in ["r.html", "r.md"] {
        let text = std::fs::read_to_string(sandbox.path(file)).expect("a report");
        assert!(!text.contains(PASSWORD), "{file}");
    }
}

#[test]
fn a_password_may_be_in_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("password", format!("{PASSWORD}\nnot this\n"));
    sandbox.write("empty", "\n");
    for scheme in ["postgres", "redis", "mongodb", "etcd"] {
        let option = match scheme {
            "postgres" => "connect_timeout=1",
            _ => "timeout_ms=50",
        };
        let run = |file: &str| {
            let url = format!("{scheme}://me@{UNUSED_ADDRESS}/0?password_file={file}&{option}");
            let outcome = sandbox.run(&["check", &url]);
            assert_hidden(&outcome, &url);
            outcome.stderr
        };
        let output = run("password");
        assert!(!output.contains("password_file"), "{output}");
        for (file, problem) in [("missing", "cannot read"), ("empty", "first line")] {
            let output = run(file);
            assert!(
                output.contains("password_file") && output.contains(problem),
                "{output}"
            );
        }
    }
}
