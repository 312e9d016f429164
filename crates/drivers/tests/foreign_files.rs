//! A new store is not created among the files of another program or engine.
#![cfg(all(feature = "embedded", feature = "file"))]

mod opening;

use std::fs;
use std::path::Path;

use espalier_drivers::open;
use espalier_keyspace::ErrorKind;

use crate::opening::{assert_refused, put};

const SCHEMES: [&str; 2] = ["embedded", "file"];

fn url(scheme: &str, dir: &Path) -> String {
    format!("{scheme}:{}", dir.display())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Engines created their stores among each other's files.
#[test]
fn a_store_is_not_created_in_that_of_another_engine() {
    for (made, other) in [("embedded", "file"), ("file", "embedded")] {
        let dir = tempfile::tempdir().expect("a directory");
        put(&*open(&url(made, dir.path())).expect("made"), "key");
        let before = names(dir.path());
        let refused = open(&url(other, dir.path()));
        assert_refused(refused, ErrorKind::WrongVersion, &format!("({made}:"));
        assert_eq!(names(dir.path()), before);
        open(&url(made, dir.path())).expect("as it was");
    }
}

#[test]
fn a_store_is_not_created_among_foreign_files() {
    for scheme in SCHEMES {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["thesis.tex", "a", "b", "c"] {
            fs::write(dir.path().join(name), "text").expect("a file");
        }
        let before = names(dir.path());
        let refused = open(&url(scheme, dir.path()));
        assert_refused(refused, ErrorKind::WrongVersion, "but a, b, c and 1 more;");
        assert_eq!(names(dir.path()), before);
    }
}

#[test]
fn hidden_files_and_those_of_the_file_system_do_not_prevent_a_new_store() {
    for scheme in SCHEMES {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(".keep"), "").expect("a file");
        fs::create_dir(dir.path().join("lost+found")).expect("a folder");
        put(&*open(&url(scheme, dir.path())).expect("made"), "key");
        // An existing store may have foreign files next to it.
        fs::write(dir.path().join("notes"), "").expect("a file");
        open(&url(scheme, dir.path())).expect("opens again");
    }
}
