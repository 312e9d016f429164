//! The conformance suite on a MongoDB-protocol server that the tests start.
#![cfg(feature = "mongo")]

use espalier_testkit::servers::Mongo;

mod server {
    use super::Mongo;

    // Pages are small, and trees are made often.
    espalier_testkit::conformance!(few: {
        let Some(mongo) = Mongo::shared() else { return };
        let url = mongo.url("timeout_ms=60000&page_bytes=512&tail_bytes=4096");
        move || espalier_drivers::open(&url).expect("the server is there")
    });
}
