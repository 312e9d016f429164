//! The conformance suite on the embedded driver, durable, relaxed, with a map that has to grow, and with a
//! journal that is merged all the time.
#![cfg(feature = "embedded")]

use std::sync::Arc;

use espalier_keyspace::Driver;

/// Opens one directory, again and again, with the given options.
fn opener(options: &str) -> impl Fn() -> Arc<dyn Driver> {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}?{options}", dir.path().display());
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

mod growing {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed&map_size=16M"));
}

mod short_journal {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed&journal_size=4K"));
}
