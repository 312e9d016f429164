//! The conformance suite on the embedded driver: durable, relaxed, with a map that has to grow, and with a
//! journal that is merged continuously.
#![cfg(feature = "embedded")]

use std::sync::Arc;

use espalier_drivers::embedded::{Config, Durability, Embedded};
use espalier_keyspace::Driver;

/// Opens the same directory on each call, with the given options.
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

/// Opens the same directory on each call, with a map without headroom.
fn opener_without_headroom() -> impl Fn() -> Arc<dyn Driver> {
    let dir = tempfile::tempdir().expect("a directory");
    move || {
        let mut config = Config::new(dir.path());
        config.durability = Durability::Relaxed;
        config.map_bytes = Some(16 << 20);
        config.headroom_bytes = 0;
        Arc::new(Embedded::open(config).expect("the directory opens"))
    }
}

mod growing {
    use super::opener_without_headroom;
    espalier_testkit::conformance!(opener_without_headroom());
}

mod short_journal {
    use super::opener;
    espalier_testkit::conformance!(opener("durability=relaxed&journal_size=4K"));
}
