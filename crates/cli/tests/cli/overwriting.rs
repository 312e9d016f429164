//! Commands that write files replace existing files on request only, and never one of a store.

use std::fs;
use std::os::unix::fs::symlink;

use crate::interfaces_data::store;
use crate::process::Sandbox;

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

fn prepared() -> Sandbox {
    let (sandbox, access) = store();
    sandbox
        .run(&[&["documents", "configure", "cars"], &access[..2]].concat())
        .ok();
    sandbox.write("rows.jsonl", "");
    sandbox
}

#[test]
fn file_is_replaced_only_on_request() {
    let sandbox = prepared();
    for command in WRITERS {
        let name = sandbox.write("file", "precious");
        let outcome = sandbox.run(&[command, &[&name]].concat());
        let output = outcome.failed(2);
        assert!(
            output.contains("exists already") && output.contains("--force"),
            "{output}"
        );
        assert_eq!(
            fs::read(sandbox.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        sandbox.run(&[command, &[&name, "--force"]].concat()).ok();
        assert_ne!(
            fs::read(sandbox.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        // A link is followed, and stays one.
        fs::write(sandbox.path("file"), "precious").expect("written");
        symlink("file", sandbox.path("link")).expect("a link");
        sandbox.run(&[command, &["link"]].concat()).failed(2);
        sandbox.run(&[command, &["link", "--force"]].concat()).ok();
        assert!(sandbox.path("link").is_symlink(), "{command:?}");
        assert_ne!(
            fs::read(sandbox.path("file")).expect("a file"),
            b"precious",
            "{command:?}"
        );
        fs::remove_file(sandbox.path("link")).expect("removed");
        fs::remove_file(sandbox.path("file")).expect("removed");
    }
    let left = fs::read_dir(sandbox.path(""))
        .expect("the folder")
        .flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().contains("partial")),
        "{left:?}"
    );
}

#[test]
fn output_never_replaces_a_file_of_a_store() {
    let sandbox = prepared();
    sandbox
        .run(&["copy", "embedded:store", "sqlite:store.db"])
        .ok();
    sandbox.run(&["copy", "embedded:store", "file:files"]).ok();
    symlink("store", sandbox.path("to-store")).expect("a link");
    symlink("store/data.mdb", sandbox.path("to-data")).expect("a link");
    fs::hard_link(sandbox.path("store/data.mdb"), sandbox.path("hard")).expect("a link");
    let data = fs::read(sandbox.path("store/data.mdb")).expect("the data");
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
        // The bench command does not open a store that a hard link could lead to.
        if command[0] != "bench" {
            names.push("hard");
        }
        for name in names {
            let output = sandbox
                .run(&[command, &[name, "--force"]].concat())
                .failed(2);
            assert!(
                output.contains("within the store"),
                "{command:?} {name}: {output}"
            );
        }
    }
    assert_eq!(
        fs::read(sandbox.path("store/data.mdb")).expect("the data"),
        data
    );
    assert!(!sandbox.path("store/new").exists() && !sandbox.path("store/sub").exists());
    for store in ["embedded:store", "sqlite:store.db", "file:files"] {
        sandbox.run(&["check", store]).ok();
    }
}

#[test]
fn example_replaces_no_changed_file() {
    let sandbox = Sandbox::new();
    let example = ["example", "network", "-o", "network", "--devices", "20"];
    sandbox.run(&example).ok();
    // Writing the same contents again is allowed.
    sandbox.run(&example).ok();
    let changed = sandbox.write("network/network.json", "{}");
    let output = sandbox.run(&example).failed(2);
    assert!(
        output.contains("network.json") && output.contains("--force"),
        "{output}"
    );
    assert_eq!(fs::read(sandbox.path(&changed)).expect("a file"), b"{}");
    sandbox.run(&[&example[..], &["--force"]].concat()).ok();
    assert_ne!(fs::read(sandbox.path(&changed)).expect("a file"), b"{}");
}
