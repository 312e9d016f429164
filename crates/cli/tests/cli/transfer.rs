//! `copy`, `backup`, `restore`, and what `info` and `check` say of their targets.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engines::servers_under;
use crate::inventory::Inventory;
use crate::process::Bench;

/// Of LMDB's pages, which are those of the machine.
const PAGE_BYTES: usize = 4096;

/// A folder with the example and a store `embedded:data` that holds it.
fn store(devices: &str) -> Bench {
    let bench = Bench::new();
    let example = ["example", "network", "-o", "network", "--devices", devices];
    bench.run(&example).ok();
    let load = [
        "load",
        "network/network.json",
        "--yang",
        "network",
        "--store",
        "embedded:data",
    ];
    bench.run(&load).ok();
    bench
}

fn exported(bench: &Bench, url: &str) -> String {
    let exported = bench.run(&["export", "--store", url]).ok();
    assert!(exported.len() > 1000, "{exported}");
    exported
}

/// A store that goes from engine to engine ends as it began.
#[track_caller]
fn check_circle(bench: &Bench, urls: &[String]) {
    let before = exported(bench, "embedded:data");
    let mut from = "embedded:data";
    for url in urls {
        let copied = bench.run(&["copy", from, url, "--json"]).json();
        assert_eq!(copied["resumed"], false, "{copied}");
        let checked = bench.run(&["check", url, "--json"]).json();
        assert_eq!(checked["findings"], serde_json::json!([]), "{url}");
        from = url;
    }
    bench.run(&["copy", from, "embedded:data", "--force"]).ok();
    assert!(
        exported(bench, "embedded:data") == before,
        "it changed on its way"
    );
}

/// One URL for each engine that this build and this run have.
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

/// The servers, with nothing in memory and with everything.
fn servers() -> impl Iterator<Item = String> {
    let policies = ["policy=uncached", "policy=cached"];
    policies.into_iter().flat_map(servers_under)
}

#[test]
fn a_store_goes_around_all_engines_and_comes_back_the_same() {
    let bench = store("60");
    bench.run(&["backup", "embedded:data", "all.backup"]).ok();
    let mut urls = engines();
    bench
        .run(&["restore", "all.backup", "sqlite:restored.db"])
        .ok();
    assert!(exported(&bench, "sqlite:restored.db") == exported(&bench, "embedded:data"));
    urls.push("sqlite:last.db".to_owned());
    check_circle(&bench, &urls);
}

/// The same with a large public model, where this machine has its data.
#[test]
fn openroadm_goes_around_all_engines_and_comes_back_the_same() {
    let Some(inventory) = Inventory::openroadm() else {
        eprintln!("left out: the OpenROADM data set is not here");
        return;
    };
    let bench = Bench::new();
    let devices = (1..=40).map(|number| inventory.device(number));
    let document = inventory.document(devices).to_string();
    let document = bench.write("devices.json", &document);
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
    bench.run(&load).ok();
    check_circle(&bench, &engines());
}

fn info(bench: &Bench, url: &str) -> Value {
    let info = bench.run(&["info", url, "--json"]);
    match info.status {
        0 => info.json(),
        // A file that is being made.
        _ => Value::Null,
    }
}

fn state(bench: &Bench, url: &str) -> Value {
    info(bench, url)["state"].clone()
}

/// Starts copies until one is killed in the middle: with rows in the target, and others not.
fn kill_a_copy(bench: &Bench, target: &str) {
    let start = Instant::now();
    loop {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "none was killed"
        );
        let mut copying = bench
            .command(&["copy", "embedded:data", target, "--force"])
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary");
        while copying.try_wait().expect("a child").is_none() {
            let info = info(bench, target);
            if info["state"] == "unfinished" && info["keys"].as_u64() > Some(5_000) {
                copying.kill().expect("it can be killed");
                copying.wait().expect("an end");
                if state(bench, target) == "unfinished" {
                    return;
                }
            }
        }
    }
}

/// A copy that is killed leaves something that is no store, and goes on when it is called again.
#[test]
fn a_killed_copy_is_no_store_and_goes_on() {
    let bench = store("3000");
    let target = "sqlite:there.db";
    kill_a_copy(&bench, target);
    assert_eq!(state(&bench, target), "unfinished");
    let text = bench.run(&["info", target]).ok();
    assert!(
        text.contains("not complete") && text.contains("embedded:data"),
        "{text}"
    );
    for command in [&["check", target][..], &["export", "--store", target]] {
        let error = bench.run(command).failed(1);
        assert!(error.contains("embedded:data"), "{error}");
    }
    let error = bench.run(&["copy", "embedded:data", "embedded:other"]).ok();
    assert!(error.contains("compared"), "{error}");
    let error = bench.run(&["copy", "embedded:other", target]).failed(1);
    assert!(error.contains("--force"), "{error}");
    let copied = bench
        .run(&["copy", "embedded:data", target, "--json"])
        .json();
    assert_eq!(copied["resumed"], true, "{copied}");
    assert!(
        copied["changed"].as_u64() < copied["rows"].as_u64(),
        "{copied}"
    );
    assert!(exported(&bench, target) == exported(&bench, "embedded:data"));
}

/// A backup taken while a server changes the store is one state of it.
#[test]
fn a_backup_of_what_is_served() {
    let bench = store("40");
    let server = bench.serve(&["--store", "embedded:data"]);
    let path = "/espalier-network:network/device=core-1/site";
    let at = ["--server", &server.url];
    for number in 0..10 {
        let site = format!("site-{number}");
        bench.run(&[&["set", path, &site], &at[..]].concat()).ok();
        let file = format!("{number}.backup");
        bench.run(&["backup", "embedded:data", &file]).ok();
        let url = format!("sqlite:{number}.db");
        bench.run(&["restore", &file, &url]).ok();
        let found = bench.run(&["get", path, "--store", &url]).ok();
        assert!(found.contains(&site), "{found}");
    }
    drop(server);
}

#[test]
fn refusals_name_what_to_do() {
    let bench = store("10");
    bench.run(&["backup", "embedded:data", "a.backup"]).ok();
    let again = bench
        .run(&["backup", "embedded:data", "a.backup"])
        .failed(2);
    assert!(
        again.contains("a.backup") && again.contains("--force"),
        "{again}"
    );
    bench
        .run(&["backup", "embedded:data", "a.backup", "--force"])
        .ok();
    let bytes = fs::read(bench.path("a.backup")).expect("the backup");
    bench.write("cut.backup", &bytes[..bytes.len() / 2]);
    for (url, place) in [
        ("sqlite:cut.db", "cut.db"),
        ("embedded:cut", "cut"),
        ("file:cut-files", "cut-files"),
    ] {
        let error = bench.run(&["restore", "cut.backup", url]).failed(1);
        assert!(
            error.contains("truncated") && error.contains("byte"),
            "{error}"
        );
        assert!(!bench.path(place).exists(), "{url} was left behind");
    }
    let error = bench
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
        let error = bench.run(missing).failed(2);
        assert!(error.contains("there is no store at"), "{error}");
    }
    assert!(!bench.path("none.db").exists() && !bench.path("b.backup").exists());
    for target in ["memory:", "sqlite:b.db?policy=ram"] {
        let error = bench.run(&["copy", "embedded:data", target]).failed(2);
        assert!(error.contains("gone when"), "{error}");
    }
    assert!(!bench.path("b.db").exists());
    let both = ["info", "embedded:data", "--store", "embedded:data"];
    bench.run(&both).failed(2);
}

#[test]
fn info_tells_the_policy_and_the_lag() {
    let bench = store("10");
    let info = bench
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
    let text = bench.run(&["info", "embedded:data?policy=cached"]).ok();
    assert!(text.contains("memory policy cached"), "{text}");
    let uncached = bench.run(&["info", "embedded:data", "--json"]).json();
    assert_eq!(uncached["memory"]["policy"], "uncached");
    assert_eq!(uncached["memory"]["lag-ms"], Value::Null);
}

/// It said "durable" of all that outlives a process, whatever was asked for and the server is set to.
#[test]
fn info_says_what_commits_outlive() {
    let bench = store("4");
    let says = |url: &str, durability: &str| {
        let text = bench.run(&["info", url]).ok();
        let (_, told) = text.split_once(": ").expect("an engine");
        assert!(told.starts_with(durability), "{text}");
    };
    says("embedded:data", "durable, ");
    says(
        "embedded:data?durability=relaxed&policy=cached",
        "relaxed, ",
    );
    says("embedded:data?policy=ram", "not durable, ");
    let relaxed = ["info", "embedded:data?durability=relaxed", "--json"];
    let relaxed = bench.run(&relaxed).json();
    assert_eq!(
        (&relaxed["durable"], &relaxed["durability"]),
        (&false.into(), &"relaxed".into())
    );
    // The servers of tests do not wait for their disks.
    for url in servers_under("") {
        bench.run(&["copy", "embedded:data", &url]).ok();
        let (scheme, _) = url.split_once(':').expect("a scheme");
        says(
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
fn a_damaged_page_is_told_and_does_not_end_the_process() {
    let bench = store("4");
    let file = bench.path("data/data.mdb");
    let sound = fs::read(&file).expect("the engine's file");
    let pages = sound.len() / PAGE_BYTES;
    let commands: [(&[&str], bool); 5] = [
        (&["check", "embedded:data"], true),
        (&["info", "embedded:data"], true),
        (&["backup", "embedded:data", "a.backup", "--force"], true),
        (&["copy", "embedded:data", "sqlite:a.db", "--force"], true),
        // Whoever does not read it all does not look at all of it first.
        (&["export", "--store", "embedded:data"], false),
    ];
    let mut told = [0; 5];
    // The first two say where the others are.
    for (number, page) in (2..pages).step_by(3).enumerate() {
        let mut damaged = sound.clone();
        let byte = if number % 2 == 0 { 0 } else { 0xff };
        damaged[page * PAGE_BYTES..][..PAGE_BYTES].fill(byte);
        fs::write(&file, damaged).expect("a damaged file");
        for (told, (command, names_page)) in told.iter_mut().zip(&commands) {
            let outcome = bench.run(command);
            match outcome.status {
                0 => {}
                1 => {
                    let said = format!("{}{}", outcome.stdout, outcome.stderr);
                    let (is_error, place) = match names_page {
                        true => (outcome.stderr.starts_with("error: "), "data.mdb, page"),
                        // LMDB says something first.
                        false => (outcome.stderr.contains("error: "), "data.mdb"),
                    };
                    assert!(is_error, "{outcome:?}");
                    *told += u32::from(said.contains(place));
                }
                _ => panic!("page {page}: {command:?}: {outcome:?}"),
            }
        }
    }
    assert!(
        told.iter().all(|told| *told > 0),
        "{told:?} of {pages} pages"
    );
}

#[test]
fn a_name_where_nothing_was_ever_written_is_no_store() {
    let bench = Bench::new();
    fs::create_dir(bench.path("empty")).expect("a folder");
    let shared = servers_under("policy=uncached");
    let urls = ["embedded:empty", "file:empty", "embedded:absent"].map(str::to_owned);
    for url in urls.iter().chain(&shared) {
        for command in [&["check", url][..], &["backup", url, "b"]] {
            let said = bench.run(command).failed(2);
            assert!(said.contains("there is no store at"), "{command:?}: {said}");
        }
    }
    // It once held an empty store then.
    let left = fs::read_dir(bench.path("empty")).expect("the folder");
    assert_eq!(left.count(), 0);
}

/// A mistyped database, schema or prefix is told as it is meant, and nothing is made there.
#[test]
fn reading_where_nothing_was_ever_written_makes_nothing() {
    let bench = Bench::new();
    let shared = servers_under("policy=cached");
    let files = ["embedded", "file", "sqlite"].map(|scheme| {
        let place = bench.path(&format!("absent.{scheme}"));
        format!("{scheme}:{}", place.display())
    });
    for url in files.iter().chain(&shared) {
        let site = espalier_drivers::resolve(url).expect("a look");
        assert!(!site.exists, "{site:?}");
        for command in [
            &["info", url][..],
            &["check", url],
            &["copy", url, "sqlite:target"],
            &["get", "/", "--store", url],
            &["stats", "values", "hits", "--store", url],
            &["documents", "ls", "--store", url],
            &["serve", "--store", url],
        ] {
            let said = bench.run(command).failed(2);
            let told = format!(
                "there is no store at {}: nothing was ever written there",
                site.url
            );
            assert!(said.contains(&told), "{command:?}: {said}");
        }
        let modules = [("ESPALIER_YANG", "ietf-interfaces")];
        let keys = ["stats", "keys", "--store", url];
        bench.run_with(&keys, b"", &modules).failed(2);
        assert!(!espalier_drivers::resolve(url).expect("a look").exists);
        bench.run(&["stats", "configure", "--store", url]).ok();
        assert!(espalier_drivers::resolve(url).expect("a look").exists);
        bench.run(&["stats", "keys", "--store", url]).ok();
    }
}
