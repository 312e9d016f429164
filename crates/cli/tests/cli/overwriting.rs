//! Commands that write files replace none by mistake, and never one of a store.

use std::fs;
use std::os::unix::fs::symlink;

use crate::documents::store;
use crate::process::Bench;

/// The commands that write a file, without its name.
const WRITERS: [&[&str]; 4] = [
    &["export", "--store", "embedded:store", "-o"],
    &[
        "documents",
        "export",
        "cars",
        "--store",
        "embedded:store",
        "-o",
    ],
    &["backup", "embedded:store"],
    &["bench", "--from", "rows.jsonl", "--html"],
];

fn prepared() -> Bench {
    let (bench, access) = store();
    bench
        .run(&[&["documents", "configure", "cars"], &access[..2]].concat())
        .ok();
    bench.write("rows.jsonl", "");
    bench
}

#[test]
fn a_file_is_replaced_only_when_that_is_asked_for() {
    let bench = prepared();
    for command in WRITERS {
        let name = bench.write("file", "precious");
        let outcome = bench.run(&[command, &[&name]].concat());
        let told = outcome.failed(2);
        assert!(
            told.contains("exists already") && told.contains("--force"),
            "{told}"
        );
        assert_eq!(
            fs::read(bench.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        bench.run(&[command, &[&name, "--force"]].concat()).ok();
        assert_ne!(
            fs::read(bench.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        // A link is followed, and stays one.
        fs::write(bench.path("file"), "precious").expect("written");
        symlink("file", bench.path("link")).expect("a link");
        bench.run(&[command, &["link"]].concat()).failed(2);
        bench.run(&[command, &["link", "--force"]].concat()).ok();
        assert!(bench.path("link").is_symlink(), "{command:?}");
        assert_ne!(
            fs::read(bench.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        fs::remove_file(bench.path("link")).expect("removed");
        fs::remove_file(bench.path("file")).expect("removed");
    }
    let left = fs::read_dir(bench.path("")).expect("the folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("partial")),
        "{left:?}"
    );
}

#[test]
fn a_file_of_a_store_is_never_written_to() {
    let bench = prepared();
    bench
        .run(&["copy", "embedded:store", "sqlite:store.db"])
        .ok();
    bench.run(&["copy", "embedded:store", "file:files"]).ok();
    symlink("store", bench.path("to-store")).expect("a link");
    symlink("store/data.mdb", bench.path("to-data")).expect("a link");
    fs::hard_link(bench.path("store/data.mdb"), bench.path("hard")).expect("a link");
    let data = fs::read(bench.path("store/data.mdb")).expect("the data");
    for command in WRITERS {
        let mut names = vec![
            "store/data.mdb",
            "store/new",
            "store/sub/new",
            "to-store/new",
            "to-data",
            "store/../store/data.mdb",
            "store.db",
            "files/datastores/default/default/running.json",
        ];
        // The bench has no store of its own, which a hard link would lead to.
        if command[0] != "bench" {
            names.push("hard");
        }
        for name in names {
            let told = bench.run(&[command, &[name, "--force"]].concat()).failed(2);
            assert!(
                told.contains("within the store"),
                "{command:?} {name}: {told}"
            );
        }
    }
    assert_eq!(
        fs::read(bench.path("store/data.mdb")).expect("the data"),
        data
    );
    assert!(!bench.path("store/new").exists() && !bench.path("store/sub").exists());
    for store in ["embedded:store", "sqlite:store.db", "file:files"] {
        bench.run(&["check", store]).ok();
    }
}

#[test]
fn an_example_replaces_nothing_that_was_changed() {
    let bench = Bench::new();
    let example = ["example", "network", "-o", "network", "--devices", "20"];
    bench.run(&example).ok();
    // The same again is no loss.
    bench.run(&example).ok();
    let changed = bench.write("network/network.json", "{}");
    let told = bench.run(&example).failed(2);
    assert!(
        told.contains("network.json") && told.contains("--force"),
        "{told}"
    );
    assert_eq!(fs::read(bench.path(&changed)).expect("a file"), b"{}");
    bench.run(&[&example[..], &["--force"]].concat()).ok();
    assert_ne!(fs::read(bench.path(&changed)).expect("a file"), b"{}");
}
