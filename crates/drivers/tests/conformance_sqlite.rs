//! The conformance suite on the SQLite driver: durable, relaxed, and with readable columns.
#![cfg(feature = "sqlite")]

use std::sync::Arc;

use espalier_keyspace::Driver;

/// Opens the same file on each call, with the given options.
fn opener(options: &str) -> impl Fn() -> Arc<dyn Driver> {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite:{}?{options}", dir.path().join("data.db").display());
    move || {
        assert!(dir.path().exists());
        espalier_drivers::open(&url).expect("the file opens")
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

mod readable {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed&readable=true"));
}
