//! The conformance suite on the PostgreSQL driver: durable, relaxed, and with readable columns, on a real server.
#![cfg(feature = "postgres")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::servers::Postgres;

/// Opens the same schema on each call, with the given options. In a run without the server it opens a memory
/// engine, as the suite cannot be skipped at run time.
fn opener(options: &str) -> impl Fn() -> Arc<dyn Driver> + use<> {
    let url = Postgres::shared().map(|server| server.url(options));
    move || {
        let url = url.as_deref().unwrap_or("memory:");
        espalier_drivers::open(url).expect("the schema opens")
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
