//! Runs the commands of the guide as printed.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::process::{Sandbox, Server};

/// The first fenced block of a page after a heading.
pub fn block(page: &str, heading: &str) -> String {
    block_of(&text_of(&format!("docs/guide/{page}")), heading)
}

/// Reads a file of the repository.
fn text_of(name: &str) -> String {
    let file = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).expect("the file")
}

fn block_of(text: &str, heading: &str) -> String {
    let (_, below) = text.split_once(heading).expect("the heading");
    let block = below.split("```").nth(1).expect("commands");
    // The line of the fence has the language of the block.
    let (_, commands) = block.split_once('\n').expect("lines");
    commands.to_owned()
}

/// Runs a shell script in the folder; returns its standard output.
pub fn shell(sandbox: &Sandbox, script: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_espalier"));
    let folder = binary.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-e", "-c", script])
        .env("PATH", format!("{folder}:{path}"))
        .current_dir(sandbox.path(""))
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{text}{errors}");
    text
}

/// Runs lines with `curl` against a server; an error status is a failure.
fn curl(sandbox: &Sandbox, server: &Server, lines: &str) -> String {
    let lines = lines.replace("http://127.0.0.1:8080", &server.url);
    let command = "curl() { command curl -sS --fail-with-body \"$@\"; echo; }\n";
    shell(sandbox, &format!("{command}{lines}"))
}

#[test]
fn upgrading_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    let run = |heading: &str| shell(&sandbox, &block("upgrading.md", heading));
    let text = run("## Try it first");
    assert!(text.contains("/plant:plant/colour"), "{text}");
    assert!(text.contains(r#""pots": "4""#), "{text}");
    run("## Data that the new modules do not have");
    let text = run("## Earlier versions");
    assert_eq!(text.matches(r#""colour": "green""#).count(), 2, "{text}");
}

#[test]
fn the_example_of_cert_maps_runs_as_printed() {
    let sandbox = Sandbox::new();
    let heading = "## Users of client certificates";
    let text = shell(&sandbox, &block("certificates.md", heading));
    assert!(text.contains("maria may do everything"), "{text}");
    let get = "espalier get /ietf-system:system/authentication/espalier-system:cert-maps \
               --dataspace espalier --anchor server --store embedded:users";
    let maps = shell(&sandbox, get);
    assert!(maps.contains("specified"), "{maps}");
}

#[test]
fn schema_mount_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    shell(&sandbox, &block("schema-mount.md", "## Example"));
    let text = shell(
        &sandbox,
        &block("schema-mount.md", "Paths continue into the mounted data"),
    );
    assert!(text.contains(r#""optics:channel": 7"#), "{text}");
    assert!(text.contains(r#""router:mtu": 9000"#), "{text}");
    // Both of these are rejected.
    let rejected = block("schema-mount.md", "An interface of another router");
    assert_eq!(rejected.lines().count(), 2, "{rejected}");
    for line in rejected.lines() {
        let set = format!("! {line} --store embedded:data");
        shell(&sandbox, &set);
    }
}

#[test]
fn netconf_client_guide_runs_as_printed() {
    let text = shell(&Sandbox::new(), &block("netconf-client.md", "## Try it"));
    assert!(
        text.contains("base 1.1") && text.contains(r#""to-core-1""#),
        "{text}"
    );
    assert!(text.contains("module ietf-interfaces"), "{text}");
}

#[test]
fn collections_guide_runs_as_printed() {
    let script = block("collections.md", "# Document collections");
    assert!(script.lines().count() > 10, "{script}");
    let text = shell(&Sandbox::new(), &script);
    assert!(text.contains(r#""color":"green""#), "{text}");
}

#[test]
fn collections_over_http_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&["--store", "memory:", "--yang", "ietf-interfaces"]);
    let lines = block("collections.md", "## Over HTTP");
    assert!(lines.matches("curl ").count() >= 4, "{lines}");
    curl(&sandbox, &server, &lines);
    let get = "curl http://127.0.0.1:8080/documents/vans/items/0";
    let text = curl(&sandbox, &server, get);
    assert!(text.contains(r#""color":"blue""#), "{text}");
}

#[test]
fn dodb_folder_is_migrated() {
    let sandbox = Sandbox::new();
    for (name, document) in [
        ("0000000002", r#"{"name":"a","color":"red","keywords":[]}"#),
        (
            "0000000010.json",
            "{\"name\":\"50 % of b\",\n\"color\":\"red\",\"keywords\":[\"x\"]}\n",
        ),
        ("0000000011.new", "{"),
    ] {
        sandbox.write(&format!("storage/data/{name}"), document);
    }
    shell(&sandbox, &block("switching.md", "## DODB"));
    let find =
        "export ESPALIER_STORE=embedded:garage; espalier documents find cars color red --keys";
    assert_eq!(shell(&sandbox, find), "2\n10\n");
}

#[test]
fn trifle_table_is_migrated() {
    let sandbox = Sandbox::new();
    let table = Connection::open(sandbox.path("stats.db")).expect("a database");
    let buckets = [
        (
            "orders::1m::1741168800",
            r#"{"count":3,"of.a":2,"of":{"a":4}}"#,
        ),
        ("orders::1m::1741168860", r#"{"count":1.5}"#),
        ("orders::1h::1741168800", r#"{"count":4.5}"#),
        ("__system__key__::1m::1741168800", r#"{"count":7}"#),
    ];
    table
        .execute_batch("CREATE TABLE trifle_stats (key varchar(255), data json)")
        .expect("the table of Trifle::Stats");
    for (key, data) in buckets {
        table
            .execute("INSERT INTO trifle_stats VALUES (?, ?)", [key, data])
            .expect("a bucket");
    }
    let mut lines = table
        .prepare(&block("switching.md", "## Trifle::Stats"))
        .expect("the statement of the guide");
    let lines: rusqlite::Result<Vec<String>> = lines
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect);
    sandbox.write("lines.jsonl", lines.expect("lines").join("\n"));
    let script = "export ESPALIER_STORE=embedded:counts; espalier stats configure >&2
        espalier stats import --format jsonl lines.jsonl --request-id from-trifle >&2
        espalier stats values orders -g 1h --from 2025-03-05T10:00:00Z --to 2025-03-05T10:00:00Z --json";
    let values: serde_json::Value = serde_json::from_str(&shell(&sandbox, script)).expect("JSON");
    assert_eq!(
        values["values"],
        serde_json::json!([{"count": 4.5, "of": {"a": 6}}])
    );
}

#[test]
fn statistics_over_http_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    sandbox.write("metrics.txt", "# TYPE up gauge\nup{job=\"a\"} 1\n");
    let server = sandbox.serve(&["--store", "memory:", "--yang", "ietf-interfaces"]);
    let lines = block("statistics.md", "## Over HTTP");
    assert!(lines.matches("curl ").count() >= 6, "{lines}");
    curl(&sandbox, &server, &lines);
    let read = "curl 'http://127.0.0.1:8080/stats/series?metric=hits&path=count&aggregate=sum'";
    let text = curl(&sandbox, &server, read);
    assert!(text.contains('8'), "{text}");
    let keys = curl(&sandbox, &server, "curl http://127.0.0.1:8080/stats/keys");
    assert!(keys.contains("\"up\""), "{keys}");
}

#[test]
fn server_removes_expired_buckets() {
    let sandbox = Sandbox::new();
    let store = ["--store", "embedded:store", "--yang", "ietf-interfaces"];
    let server = sandbox.serve(&[&store[..], &["--stats-expiry", "1"]].concat());
    let track = |at: &str| {
        let body = format!(r#"{{"metric":"n","at":"{at}","values":{{"a":1}}}}"#);
        let media = "-H 'content-type: application/json'";
        let line = format!("curl http://127.0.0.1:8080/stats/track {media} -d '{body}'");
        curl(&sandbox, &server, &line);
    };
    (1..30).for_each(|minute| track(&format!("2025-03-05T12:{minute:02}:00Z")));
    // Another process sets the retention of minutes; the server applies it. What has expired is not read, whether it was
    // removed or not, so the retention is lifted to look.
    let configure = |retention: &str| {
        let command = ["stats", "configure", "--store", "embedded:store"];
        sandbox
            .run(&[&command[..], &["--retention", retention]].concat())
            .ok();
    };
    let minutes = "curl 'http://127.0.0.1:8080/stats/values?metric=n&granularity=1m&from=2025-03-05T12:00:00Z&to=2025-03-05T12:29:00Z'";
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while curl(&sandbox, &server, minutes).contains("\"a\"") {
        assert!(std::time::Instant::now() < deadline, "they are still there");
        configure("1m=7d");
        std::thread::sleep(std::time::Duration::from_secs(3));
        configure("1m=for-ever");
        // The server reads its settings once a second.
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
    let days = "curl 'http://127.0.0.1:8080/stats/values?metric=n&granularity=1d&from=2025-03-05T00:00:00Z&to=2025-03-05T00:00:00Z'";
    let text = curl(&sandbox, &server, days);
    assert!(text.contains("29"), "days are kept: {text}");
}

/// Each command after a `$` prints the lines that follow it, if there are any.
#[test]
fn readme_quick_start_prints_what_it_shows() {
    let sandbox = Sandbox::new();
    let block = block_of(&text_of("README.md"), "## Quick start");
    let commands: Vec<_> = block.split("$ ").skip(1).collect();
    assert!(commands.len() > 6, "{block}");
    let mut before = String::new();
    for command in commands {
        let (line, shown) = command.split_once('\n').expect("a line");
        let printed = shell(&sandbox, &format!("{before}{line}"));
        if !shown.is_empty() {
            assert_eq!(printed, shown, "{line}");
        }
        if line.starts_with("export ") {
            before = format!("{line}\n");
        }
    }
}

#[test]
fn first_steps_run_as_printed() {
    let sandbox = Sandbox::new();
    let text = text_of("docs/guide/first-steps.md");
    let blocks: Vec<_> = text.split("```").skip(1).step_by(2).collect();
    assert!(blocks.len() > 6, "{}", blocks.len());
    // The last block runs `serve`, which has its own test.
    let (_, before) = blocks.split_last().expect("blocks");
    let script = before.join("\n");
    let script = script.replace("kill %1", "");
    let text = shell(&sandbox, &script);
    assert!(text.contains("core-1"), "{text}");
}

/// The store of the first steps, in `data`.
fn example_store(sandbox: &Sandbox) {
    shell(sandbox, &block("first-steps.md", "# First steps"));
    shell(sandbox, &block("first-steps.md", "Load it. The first time"));
}

#[test]
fn candidates_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    example_store(&sandbox);
    let store = "export ESPALIER_STORE=embedded:data\n";
    let run = |heading: &str| {
        let commands = block("candidates.md", heading);
        shell(&sandbox, &format!("{store}{commands}"))
    };
    let text = run("# Candidates, confirmed");
    assert!(text.contains("cellar"), "{text}");
    run("A *private candidate* belongs");
    run("## Conflicts");
    let edit =
        "espalier set '/espalier-network:network/device=core-3/site' roof --datastore candidate";
    let commands = block("candidates.md", "## Confirmed commits");
    let (confirm, cancel) = commands.rsplit_once("espalier commit").expect("a cancel");
    shell(&sandbox, &format!("{store}{edit}\n{confirm}"));
    let again =
        "espalier set '/espalier-network:network/device=core-3/site' attic --datastore candidate
        espalier commit --confirmed 60 --persist move";
    shell(
        &sandbox,
        &format!("{store}{again}\nespalier commit{cancel}"),
    );
    let read = "espalier get '/espalier-network:network/device=core-3/site'";
    let text = shell(&sandbox, &format!("{store}{read}"));
    assert!(text.contains("roof"), "{text}");
    let commands = block("candidates.md", "## Locks");
    let (locks, _) = commands.split_once("espalier unlock").expect("an unlock");
    assert!(shell(&sandbox, &format!("{store}{locks}")).contains("maria"));
    for unlock in commands
        .lines()
        .filter(|line| line.starts_with("espalier unlock"))
    {
        shell(&sandbox, &format!("{store}{unlock} || espalier lock\n"));
    }
}

/// Every request of the table, in its order.
#[test]
fn restconf_guide_runs_as_printed() {
    let sandbox = Sandbox::new();
    example_store(&sandbox);
    let server = sandbox.serve(&["--store", "embedded:data"]);
    let text = text_of("docs/guide/restconf.md");
    let requests: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter_map(|line| line.split('`').find(|code| code.starts_with("curl ")))
        .collect();
    assert!(requests.len() > 9, "{requests:?}");
    let variables = block_of(&text, "# RESTCONF by example");
    let lines = format!("{variables}{}\n", requests.join("\n"));
    let text = curl(&sandbox, &server, &lines);
    assert!(
        text.contains("core-1") && text.contains("yang-library"),
        "{text}"
    );
    let patch = block("restconf.md", "### YANG Patch");
    let text = curl(&sandbox, &server, &format!("{variables}{patch}"));
    let ok = r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"move-lab","ok":[null]}}"#;
    assert!(text.contains(ok), "{text}");
}

/// A new account has none of the folders.
#[test]
fn readme_installation_runs_in_an_empty_home() {
    let sandbox = Sandbox::new();
    let install = block_of(&text_of("README.md"), "## Install");
    assert!(install.starts_with("make build\n"), "{install}");
    let script = format!(
        "make() {{ mkdir -p target/release; cp \"$(command -v espalier)\" target/release/; }}
        export HOME=$PWD/home; mkdir $HOME\n{install}
        test -x home/.local/bin/espalier
        grep -q _espalier home/.local/share/bash-completion/completions/espalier"
    );
    shell(&sandbox, &script);
}

#[test]
fn readme_figures_are_the_measured_ones() {
    let (readme, measured) = (text_of("README.md"), text_of("docs/performance.md"));
    let (_, below) = readme.split_once("<!-- headlines").expect("the headlines");
    let (shown, _) = below
        .split_once("<!-- end of headlines -->")
        .expect("their end");
    let rows: Vec<_> = shown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 5, "{shown}");
    for row in rows {
        assert!(
            measured.contains(row),
            "scripts/headlines docs/performance.md README.md: {row}"
        );
    }
}
