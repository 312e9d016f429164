//! The conformance suite on a Redis server that the tests start.
#![cfg(feature = "redis")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::servers::Redis;

/// Opens the same key space of the shared server on each call; `None` in a run without Redis.
fn opener(options: &str) -> Option<impl Fn() -> Arc<dyn Driver> + use<>> {
    let url = Redis::shared()?.url(&format!("durability=relaxed&{options}"));
    Some(move || espalier_drivers::open(&url).expect("the server is there"))
}

mod standalone {
    use super::opener;
    espalier_testkit::conformance!({
        let Some(open) = opener("") else { return };
        open
    });
}

mod cluster {
    use espalier_testkit::servers::Redis;

    espalier_testkit::conformance!({
        let Some(server) = Redis::shared_cluster() else {
            return;
        };
        let url = server.cluster_url("durability=relaxed");
        move || espalier_drivers::open(&url).expect("the Cluster is there")
    });
}
