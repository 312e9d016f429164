//! Directories in which a new store would lie among what others have made.
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

/// They were made among each other's files.
#[test]
fn a_store_is_not_made_in_that_of_another_engine() {
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
fn a_store_is_not_made_among_the_files_of_strangers() {
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
fn hidden_files_and_those_of_the_file_system_keep_nobody_from_making_a_store() {
    for scheme in SCHEMES {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(".keep"), "").expect("a file");
        fs::create_dir(dir.path().join("lost+found")).expect("a folder");
        put(&*open(&url(scheme, dir.path())).expect("made"), "key");
        // Once it is there, what else there is matters to nobody.
        fs::write(dir.path().join("notes"), "").expect("a file");
        open(&url(scheme, dir.path())).expect("opens again");
    }
}
