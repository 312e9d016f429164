//! The servers that this build knows and this run has.

use espalier_testkit::servers::{Etcd, Postgres, Redis};

/// A URL of a key space of its own in each of them, under a memory policy.
pub fn servers_under(policy: &str) -> Vec<String> {
    let relaxed = format!("durability=relaxed&{policy}");
    let urls = espalier_drivers::schemes()
        .iter()
        .filter_map(|scheme| match scheme.name {
            "postgres" => Postgres::shared().map(|server| server.url(&relaxed)),
            "redis" => Redis::shared().map(|server| server.url(&relaxed)),
            "etcd" => Etcd::shared().map(|server| server.url(policy)),
            _ => None,
        });
    urls.collect()
}
