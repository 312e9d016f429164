//! Full and read-only disks, through commands and a server, on every engine with files.

use std::fs;

use espalier_testkit::disk::{mount, mounted_at};

use crate::process::{Outcome, Sandbox};

const MODEL: &str = "module m { yang-version 1.1; namespace 'urn:m'; prefix m;
  container c { list e { key k; leaf k { type string; } leaf v { type uint32; } } } }";

/// The engines with files, with their data on the disk mounted at `disk`.
const STORES: [&str; 3] = ["embedded:disk/l", "sqlite:disk/s.db", "file:disk/f"];

/// Runs `act` on each engine, with a separate disk of the given size.
fn on_disks(size: &str, act: impl Fn(&Sandbox, &[&str])) {
    for store in STORES {
        let sandbox = Sandbox::new();
        let disk = sandbox.path("disk");
        fs::create_dir(&disk).expect("a folder");
        mounted_at(&disk, &format!("size={size}"), || {
            eprintln!("on {store}");
            sandbox.write("m.yang", MODEL);
            sandbox.write("keep.json", r#"{"m:c":{"e":[{"k":"keep","v":1}]}}"#);
            let access = ["--store", store];
            let load = ["load", "keep.json", "--yang", "m.yang"];
            sandbox.run(&[&load, &access[..]].concat()).ok();
            act(&sandbox, &access);
        });
    }
}

/// A document of `count` entries of about 170 bytes.
fn entries(count: u32) -> String {
    let key = "x".repeat(150);
    let entries = (0..count).map(|number| format!(r#"{{"k":"{number}{key}","v":{number}}}"#));
    let entries: Vec<_> = entries.collect();
    format!(r#"{{"m:c":{{"e":[{}]}}}}"#, entries.join(","))
}

fn run(sandbox: &Sandbox, access: &[&str], arguments: &[&str]) -> Outcome {
    sandbox.run(&[arguments, access].concat())
}

/// Reads the store by every read command.
fn check_read(sandbox: &Sandbox, access: &[&str]) {
    let kept = run(sandbox, access, &["get", "/m:c/e=keep/v"]).json();
    assert_eq!(kept["m:v"], 1);
    run(sandbox, access, &["export", "-o", "/dev/null"]).ok();
    run(sandbox, access, &["history"]).ok();
    run(sandbox, access, &["check"]).ok();
    let server = sandbox.serve(access);
    let answer = server.request("GET", "/restconf/data/m:c/e=keep/v", None);
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// A load that does not fit frees its disk space: small edits that fit succeed afterwards.
#[test]
fn failed_load_frees_its_disk_space() {
    on_disks("6m", |sandbox, access| {
        sandbox.write("large.json", entries(60_000));
        run(sandbox, access, &["load", "large.json"]).failed(1);
        check_read(sandbox, access);
        for number in 0..50 {
            let part = format!(
                r#"{{"m:c":{{"e":[{{"k":"{number}{}"}}]}}}}"#,
                "y".repeat(8000)
            );
            sandbox.write("part.json", part);
            run(sandbox, access, &["edit", "part.json"]).ok();
        }
    });
}

/// On a full disk, writes get status 507 and reads succeed. When there is space again, writes succeed.
#[test]
fn full_disk_is_reported_and_readable_and_writes_resume_with_space() {
    on_disks("8m", |sandbox, access| {
        let server = sandbox.serve(access);
        let filler = sandbox.path("disk/filler");
        // The file of an interrupted write.
        let _ = fs::write(&filler, vec![1; 16 << 20]);
        let large = entries(20_000);
        let rejected = server.request(
            "PATCH",
            "/restconf/data",
            Some(&format!(r#"{{"ietf-restconf:data":{large}}}"#)),
        );
        assert_eq!(rejected.status, 507, "{rejected:?}");
        let read = server.request("GET", "/restconf/data/m:c/e=keep/v", None);
        assert_eq!(read.status, 200, "{read:?}");
        fs::remove_file(&filler).expect("removed");
        let small = r#"{"m:c":{"e":[{"k":"later","v":2}]}}"#;
        let done = server.request("PATCH", "/restconf/data/m:c", Some(small));
        assert_eq!(done.status, 204, "{done:?}");
        drop(server);
        check_read(sandbox, access);
        let _ = fs::write(&filler, vec![1; 16 << 20]);
        check_read(sandbox, access);
        fs::remove_file(&filler).expect("removed");
        run(sandbox, access, &["set", "/m:c/e=keep/v", "7"]).ok();
    });
}

/// A store on a read-only file system is readable by every command, and rejects changes with an error that names the
/// file.
#[test]
fn store_on_a_read_only_file_system_is_readable() {
    on_disks("30m", |sandbox, access| {
        mount(&sandbox.path("disk"), &["-o", "remount,ro"]);
        check_read(sandbox, access);
        let rejected = run(sandbox, access, &["set", "/m:c/e=keep/v", "7"]).failed(1);
        assert!(rejected.contains("read-only file system"), "{rejected}");
        let server = sandbox.serve(access);
        let small = r#"{"m:c":{"e":[{"k":"later","v":2}]}}"#;
        let answer = server.request("PATCH", "/restconf/data/m:c", Some(small));
        assert!((400..600).contains(&answer.status), "{answer:?}");
        drop(server);
        mount(&sandbox.path("disk"), &["-o", "remount,rw"]);
        run(sandbox, access, &["set", "/m:c/e=keep/v", "7"]).ok();
    });
}
