//! The conformance suite on the file driver: durable, relaxed, and with continuous compaction.
#![cfg(feature = "file")]

use std::sync::Arc;

use espalier_keyspace::Driver;

/// Opens the same directory on each call, with the given options.
fn opener(options: &str) -> impl Fn() -> Arc<dyn Driver> {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("file:{}?{options}", dir.path().display());
    move || {
        assert!(dir.path().exists());
        espalier_drivers::open(&url).expect("the directory opens")
    }
}

mod durable {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=durable"));
}

mod relaxed {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed"));
}

mod compacting {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed&journal_size=1"));
}
