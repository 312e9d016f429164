//! `copy`, `backup` and `restore`, with `info` and `check` of their targets.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::inventory::Inventory;
use crate::process::Sandbox;
use crate::server_engines::servers_under;

/// The page size of LMDB, which is that of the machine.
const PAGE_BYTES: usize = 4096;

/// A folder with the example and a store `embedded:data` that holds it.
fn store(devices: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let example = ["example", "network", "-o", "network", "--devices", devices];
    sandbox.run(&example).ok();
    let load = [
        "load",
        "network/network.json",
        "--yang",
        "network",
        "--store",
        "embedded:data",
    ];
    sandbox.run(&load).ok();
    sandbox
}

fn exported(sandbox: &Sandbox, url: &str) -> String {
    let exported = sandbox.run(&["export", "--store", url]).ok();
    assert!(exported.len() > 1000, "{exported}");
    exported
}

/// A store that is copied from engine to engine is unchanged at the end.
#[track_caller]
fn check_round_trip(sandbox: &Sandbox, urls: &[String]) {
    let before = exported(sandbox, "embedded:data");
    let mut from = "embedded:data";
    for url in urls {
        let copied = sandbox.run(&["copy", from, url, "--json"]).json();
        assert_eq!(copied["resumed"], false, "{copied}");
        let checked = sandbox.run(&["check", url, "--json"]).json();
        assert_eq!(checked["findings"], serde_json::json!([]), "{url}");
        from = url;
    }
    sandbox
        .run(&["copy", from, "embedded:data", "--force"])
        .ok();
    assert!(
        exported(sandbox, "embedded:data") == before,
        "it changed on its way"
    );
}

/// A URL for each engine that is available in this build and run.
fn engines() -> Vec<String> {
    let mut urls = vec![
        "sqlite:there.db".to_owned(),
        "sqlite:cached.db?policy=cached&durability=relaxed".to_owned(),
        "embedded:there?policy=indexed".to_owned(),
    ];
    urls.extend(servers());
    eprintln!("around {urls:?}");
    urls
}

/// The engines with a server, uncached and cached.
fn servers() -> impl Iterator<Item = String> {
    let policies = ["policy=uncached", "policy=cached"];
    policies.into_iter().flat_map(servers_under)
}

#[test]
fn store_is_unchanged_after_copies_through_all_engines() {
    let sandbox = store("60");
    sandbox.run(&["backup", "embedded:data", "all.backup"]).ok();
    let mut urls = engines();
    sandbox
        .run(&["restore", "all.backup", "sqlite:restored.db"])
        .ok();
    assert!(exported(&sandbox, "sqlite:restored.db") == exported(&sandbox, "embedded:data"));
    urls.push("sqlite:last.db".to_owned());
    check_round_trip(&sandbox, &urls);
}

/// The same with a large public model, if its data are available.
#[test]
fn openroadm_store_is_unchanged_after_copies_through_all_engines() {
    let Some(inventory) = Inventory::openroadm() else {
        eprintln!("left out: the OpenROADM data set is not here");
        return;
    };
    let sandbox = Sandbox::new();
    let devices = (1..=40).map(|number| inventory.device(number));
    let document = inventory.document(devices).to_string();
    let document = sandbox.write("devices.json", &document);
    let modules = inventory.modules.display().to_string();
    let load = [
        "load",
        &document,
        "--yang",
        &modules,
        "--validation",
        "structure",
        "--store",
        "embedded:data",
    ];
    sandbox.run(&load).ok();
    check_round_trip(&sandbox, &engines());
}

fn info(sandbox: &Sandbox, url: &str) -> Value {
    let info = sandbox.run(&["info", url, "--json"]);
    match info.status {
        0 => info.json(),
        // A file that is being created.
        _ => Value::Null,
    }
}

fn state(sandbox: &Sandbox, url: &str) -> Value {
    info(sandbox, url)["state"].clone()
}

/// Starts copies until one is killed midway: with some of the rows in the target.
fn kill_a_copy(sandbox: &Sandbox, target: &str) {
    let start = Instant::now();
    loop {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "none was killed"
        );
        let mut copying = sandbox
            .command(&["copy", "embedded:data", target, "--force"])
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary");
        while copying.try_wait().expect("a child").is_none() {
            let info = info(sandbox, target);
            if info["state"] == "unfinished" && info["keys"].as_u64() > Some(5_000) {
                copying.kill().expect("it can be killed");
                copying.wait().expect("an end");
                if state(sandbox, target) == "unfinished" {
                    return;
                }
            }
        }
    }
}

/// A killed copy leaves no valid store, and resumes when it is run again.
#[test]
fn killed_copy_is_no_store_and_can_be_resumed() {
    let sandbox = store("3000");
    let target = "sqlite:there.db";
    kill_a_copy(&sandbox, target);
    assert_eq!(state(&sandbox, target), "unfinished");
    let text = sandbox.run(&["info", target]).ok();
    assert!(
        text.contains("not complete") && text.contains("embedded:data"),
        "{text}"
    );
    for command in [&["check", target][..], &["export", "--store", target]] {
        let error = sandbox.run(command).failed(1);
        assert!(error.contains("embedded:data"), "{error}");
    }
    let error = sandbox
        .run(&["copy", "embedded:data", "embedded:other"])
        .ok();
    assert!(error.contains("compared"), "{error}");
    let error = sandbox.run(&["copy", "embedded:other", target]).failed(1);
    assert!(error.contains("--force"), "{error}");
    let copied = sandbox
        .run(&["copy", "embedded:data", target, "--json"])
        .json();
    assert_eq!(copied["resumed"], true, "{copied}");
    assert!(
        copied["changed"].as_u64() < copied["rows"].as_u64(),
        "{copied}"
    );
    assert!(exported(&sandbox, target) == exported(&sandbox, "embedded:data"));
}

/// A backup taken while a server changes the store is one state of it.
#[test]
fn backup_of_a_served_store_is_one_state() {
    let sandbox = store("40");
    let server = sandbox.serve(&["--store", "embedded:data"]);
    let path = "/espalier-network:network/device=core-1/site";
    let at = ["--server", &server.url];
    for number in 0..10 {
        let resolved = format!("site-{number}");
        sandbox
            .run(&[&["set", path, &resolved], &at[..]].concat())
            .ok();
        let file = format!("{number}.backup");
        sandbox.run(&["backup", "embedded:data", &file]).ok();
        let url = format!("sqlite:{number}.db");
        sandbox.run(&["restore", &file, &url]).ok();
        let found = sandbox.run(&["get", path, "--store", &url]).ok();
        assert!(found.contains(&resolved), "{found}");
    }
    drop(server);
}

#[test]
fn rejected_transfers_have_hints() {
    let sandbox = store("10");
    sandbox.run(&["backup", "embedded:data", "a.backup"]).ok();
    let again = sandbox
        .run(&["backup", "embedded:data", "a.backup"])
        .failed(2);
    assert!(
        again.contains("a.backup") && again.contains("--force"),
        "{again}"
    );
    sandbox
        .run(&["backup", "embedded:data", "a.backup", "--force"])
        .ok();
    let bytes = fs::read(sandbox.path("a.backup")).expect("the backup");
    sandbox.write("cut.backup", &bytes[..bytes.len() / 2]);
    for (url, place) in [
        ("sqlite:cut.db", "cut.db"),
        ("embedded:cut", "cut"),
        ("file:cut-files", "cut-files"),
    ] {
        let error = sandbox.run(&["restore", "cut.backup", url]).failed(1);
        assert!(
            error.contains("truncated") && error.contains("byte"),
            "{error}"
        );
        assert!(!sandbox.path(place).exists(), "{url} was left behind");
    }
    let error = sandbox
        .run(&["restore", "a.backup", "embedded:data"])
        .failed(1);
    assert!(
        error.contains("not empty") && error.contains("--force"),
        "{error}"
    );
    for missing in [
        &["copy", "sqlite:none.db", "sqlite:b.db"][..],
        &["backup", "embedded:none", "b.backup"],
        &["info", "sqlite:none.db"],
        &["check", "embedded:none"],
    ] {
        let error = sandbox.run(missing).failed(2);
        assert!(error.contains("there is no store at"), "{error}");
    }
    assert!(!sandbox.path("none.db").exists() && !sandbox.path("b.backup").exists());
    for target in ["memory:", "sqlite:b.db?policy=ram"] {
        let error = sandbox.run(&["copy", "embedded:data", target]).failed(2);
        assert!(error.contains("gone when"), "{error}");
    }
    assert!(!sandbox.path("b.db").exists());
    let both = ["info", "embedded:data", "--store", "embedded:data"];
    sandbox.run(&both).failed(2);
}

#[test]
fn info_reports_the_policy_and_the_lag() {
    let sandbox = store("10");
    let info = sandbox
        .run(&[
            "info",
            "embedded:data?policy=cached&staleness_ms=60000",
            "--json",
        ])
        .json();
    let memory = &info["memory"];
    assert_eq!(
        (&memory["policy"], &memory["lag-ms-max"]),
        (&"cached".into(), &60_000.into())
    );
    assert!(
        memory["lag-ms"].as_u64() <= Some(60_000) && memory["keys"] == info["keys"],
        "{info}"
    );
    let text = sandbox.run(&["info", "embedded:data?policy=cached"]).ok();
    assert!(text.contains("memory policy cached"), "{text}");
    let uncached = sandbox.run(&["info", "embedded:data", "--json"]).json();
    assert_eq!(uncached["memory"]["policy"], "uncached");
    assert_eq!(uncached["memory"]["lag-ms"], Value::Null);
}

/// Regression: it reported "durable" for every engine that outlives a process, regardless of the requested durability
/// and the configuration of the server.
#[test]
fn info_reports_the_durability() {
    let sandbox = store("4");
    let check_durability = |url: &str, durability: &str| {
        let text = sandbox.run(&["info", url]).ok();
        let (_, reported) = text.split_once(": ").expect("an engine");
        assert!(reported.starts_with(durability), "{text}");
    };
    check_durability("embedded:data", "durable, ");
    check_durability(
        "embedded:data?durability=relaxed&policy=cached",
        "relaxed, ",
    );
    check_durability("embedded:data?policy=ram", "not durable, ");
    let relaxed = ["info", "embedded:data?durability=relaxed", "--json"];
    let relaxed = sandbox.run(&relaxed).json();
    assert_eq!(
        (&relaxed["durable"], &relaxed["durability"]),
        (&false.into(), &"relaxed".into())
    );
    // The servers in tests do not sync to disk.
    for url in servers_under("") {
        sandbox.run(&["copy", "embedded:data", &url]).ok();
        let (scheme, _) = url.split_once(':').expect("a scheme");
        check_durability(
            &url,
            match scheme {
                "redis" => "relaxed (appendonly is no, appendfsync is everysec), ",
                "postgres" => "relaxed (fsync is off), ",
                "etcd" => "durable, ",
                _ => "relaxed, ",
            },
        );
    }
}

#[test]
fn damaged_page_is_reported_and_does_not_end_the_process() {
    let sandbox = store("4");
    let file = sandbox.path("data/data.mdb");
    let sound = fs::read(&file).expect("the engine's file");
    let pages = sound.len() / PAGE_BYTES;
    let commands: [(&[&str], bool); 5] = [
        (&["check", "embedded:data"], true),
        (&["info", "embedded:data"], true),
        (&["backup", "embedded:data", "a.backup", "--force"], true),
        (&["copy", "embedded:data", "sqlite:a.db", "--force"], true),
        // A command that does not read all data does not check all of it first.
        (&["export", "--store", "embedded:data"], false),
    ];
    let mut reported_counts = [0; 5];
    // The first two pages locate the others.
    for (number, page) in (2..pages).step_by(3).enumerate() {
        let mut damaged = sound.clone();
        let byte = if number % 2 == 0 { 0 } else { 0xff };
        damaged[page * PAGE_BYTES..][..PAGE_BYTES].fill(byte);
        fs::write(&file, damaged).expect("a damaged file");
        for (count, (command, names_page)) in reported_counts.iter_mut().zip(&commands) {
            let outcome = sandbox.run(command);
            match outcome.status {
                0 => {}
                1 => {
                    let output = format!("{}{}", outcome.stdout, outcome.stderr);
                    let (is_error, place) = match names_page {
                        true => (outcome.stderr.starts_with("error: "), "data.mdb, page"),
                        // LMDB prints a message first.
                        false => (outcome.stderr.contains("error: "), "data.mdb"),
                    };
                    assert!(is_error, "{outcome:?}");
                    *count += u32::from(output.contains(place));
                }
                _ => panic!("page {page}: {command:?}: {outcome:?}"),
            }
        }
    }
    assert!(
        reported_counts.iter().all(|count| *count > 0),
        "{reported_counts:?} of {pages} pages"
    );
}

#[test]
fn unwritten_name_is_no_store() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).expect("a folder");
    let shared = servers_under("policy=uncached");
    let urls = ["embedded:empty", "file:empty", "embedded:absent"].map(str::to_owned);
    for url in urls.iter().chain(&shared) {
        for command in [&["check", url][..], &["backup", url, "b"]] {
            let output = sandbox.run(command).failed(2);
            assert!(
                output.contains("there is no store at"),
                "{command:?}: {output}"
            );
        }
    }
    // Regression: the folder held an empty store afterwards.
    let left = fs::read_dir(sandbox.path("empty")).expect("the folder");
    assert_eq!(left.count(), 0);
}

/// A mistyped database, schema or prefix is reported as a missing store, and nothing is created.
#[test]
fn reading_an_unwritten_name_creates_nothing() {
    let sandbox = Sandbox::new();
    let shared = servers_under("policy=cached");
    let files = ["embedded", "file", "sqlite"].map(|scheme| {
        let place = sandbox.path(&format!("absent.{scheme}"));
        format!("{scheme}:{}", place.display())
    });
    for url in files.iter().chain(&shared) {
        let resolved = espalier_drivers::resolve(url).expect("a look");
        assert!(!resolved.exists, "{resolved:?}");
        for command in [
            &["info", url][..],
            &["check", url],
            &["copy", url, "sqlite:target"],
            &["get", "/", "--store", url],
            &["stats", "values", "hits", "--store", url],
            &["documents", "ls", "--store", url],
            &["serve", "--store", url],
        ] {
            let output = sandbox.run(command).failed(2);
            let expected = format!(
                "there is no store at {}: nothing was ever written there",
                resolved.url
            );
            assert!(output.contains(&expected), "{command:?}: {output}");
        }
        let modules = [("ESPALIER_YANG", "ietf-interfaces")];
        let keys = ["stats", "keys", "--store", url];
        sandbox.run_with(&keys, b"", &modules).failed(2);
        assert!(!espalier_drivers::resolve(url).expect("a look").exists);
        sandbox.run(&["stats", "configure", "--store", url]).ok();
        assert!(espalier_drivers::resolve(url).expect("a look").exists);
        sandbox.run(&["stats", "keys", "--store", url]).ok();
    }
}
