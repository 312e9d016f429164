//! A store that is removed or replaced by another one while it is open. Its commits went to files that no longer
//! had a name, and closing it destroyed the new store.
#![cfg(all(feature = "embedded", feature = "file", feature = "sqlite"))]

mod opening;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use espalier_drivers::open;
use espalier_keyspace::{Batch, ErrorKind};
use espalier_testkit::process::{self, Part, say};

use crate::opening::{assert_refused, put};

/// Enough commits that closing the old store has to write.
const COMMITS: usize = 300;

/// The schemes of the engines, and the file name in the URL of a store in a directory.
const SCHEMES: [(&str, &str); 3] = [("embedded", ""), ("file", ""), ("sqlite", "/data.db")];

fn url((scheme, file): (&str, &str), dir: &Path) -> String {
    format!("{scheme}:{}{file}", dir.display())
}

fn batch() -> Batch {
    let mut batch = Batch::new();
    batch.put("lost", "value");
    batch
}

/// Opens `store`, commits, removes or replaces its directory with `replace`, and expects that further commits fail.
fn check(scheme: (&str, &str), store: &Path, replace: &dyn Fn()) {
    let driver = open(&url(scheme, store)).expect("opens");
    (0..COMMITS).for_each(|number| put(&*driver, &format!("old {number}")));
    let held = driver.snapshot().expect("reads");
    replace();
    let gone = "was removed or replaced";
    assert_refused(driver.commit(batch()), ErrorKind::ReadOnly, gone);
    let written = driver.write(&[], &mut |writer| writer.put(b"lost", b"value"));
    assert_refused(written, ErrorKind::ReadOnly, gone);
    assert!(held.get(b"old 1").expect("still read").is_some());
}

#[test]
fn nothing_is_committed_to_a_store_that_was_removed() {
    for scheme in SCHEMES {
        let dir = tempfile::tempdir().expect("a directory");
        let store = dir.path().join("store");
        check(scheme, &store, &|| {
            fs::remove_dir_all(&store).expect("removed");
        });
        assert!(!store.exists(), "{scheme:?} has created it again");
    }
}

#[test]
fn closing_a_replaced_store_leaves_the_new_one_unchanged() {
    for scheme in SCHEMES {
        let dir = tempfile::tempdir().expect("a directory");
        let (made, store) = (dir.path().join("made"), dir.path().join("store"));
        put(&*open(&url(scheme, &made)).expect("opens"), "new");
        let before = files(&made);
        check(scheme, &store, &|| {
            fs::remove_dir_all(&store).expect("removed");
            fs::rename(&made, &store).expect("replaced");
        });
        assert_eq!(files(&store), before, "{scheme:?}");
        let driver = open(&url(scheme, &store)).expect("opens");
        let read = driver.snapshot().expect("reads");
        assert!(read.get(b"new").expect("read").is_some());
        assert!(read.get(b"old 1").expect("read").is_none());
    }
}

#[test]
fn part_committing() {
    if let Some(url) = process::argument() {
        let driver = open(&url).expect("opens");
        let mut batch = batch();
        // Too large for the journal, so a new journal is started.
        batch.put("large", vec![1; 2 << 20]);
        driver.commit(batch).expect("committed");
        say("committed");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("a line");
    }
}

/// The driver would have read the commits of another process from the new store's journal.
#[test]
fn a_reader_that_lags_behind_in_a_replaced_store_gets_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, made) = (dir.path().join("store"), dir.path().join("made"));
    let [store_url, made_url] = [&store, &made].map(|dir| url(("embedded", ""), dir));
    put(&*open(&made_url).expect("made"), "new");
    let driver = open(&store_url).expect("opens");
    let mut part = Part::start("part_committing", &store_url);
    assert_eq!(part.line().as_deref(), Some("committed"));
    part.kill();
    fs::remove_dir_all(&store).expect("removed");
    fs::rename(&made, &store).expect("replaced");
    let gone = "was removed or replaced";
    assert_refused(driver.snapshot().map(drop), ErrorKind::ReadOnly, gone);
}

/// Names and contents of the files of a directory.
fn files(dir: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a directory");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let file = |entry: fs::DirEntry| (entry.file_name(), fs::read(entry.path()).expect("a file"));
    entries.map(file).collect()
}
