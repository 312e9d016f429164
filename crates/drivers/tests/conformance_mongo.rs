//! The conformance suite on a MongoDB-protocol server that the tests start.
#![cfg(feature = "mongo")]

use espalier_testkit::servers::Mongo;

mod server {
    use super::Mongo;

    // Transactions are small, so that the batches of the suite are staged.
    espalier_testkit::conformance!(few: {
        let Some(mongo) = Mongo::shared() else { return };
        let url = mongo.url("timeout_ms=60000&operations=100");
        move || espalier_drivers::open(&url).expect("the server is there")
    });
}
