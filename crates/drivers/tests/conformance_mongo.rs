//! The conformance suite on MongoDB, and on FerretDB, another server with its protocol.
#![cfg(feature = "mongo")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::servers::Mongo;

/// With small pages, and frequent new trees.
fn open(server: &Mongo) -> impl Fn() -> Arc<dyn Driver> + use<> {
    let url = server.url("timeout_ms=60000&page_bytes=512&tail_bytes=4096");
    move || espalier_drivers::open(&url).expect("the server is there")
}

mod mongodb {
    use super::Mongo;

    espalier_testkit::conformance!({
        let Some(mongo) = Mongo::shared() else { return };
        crate::open(mongo)
    });
}

mod ferretdb {
    use super::Mongo;

    espalier_testkit::conformance!(few: {
        let Some(ferretdb) = Mongo::shared_ferretdb() else { return };
        crate::open(ferretdb)
    });
}
