//! The servers that a test binary shares, by the names of their drivers.

use super::{Etcd, Postgres, Redis};

/// The names of the drivers whose servers can be shared.
pub const SHARED: &[&str] = &["postgres", "redis", "etcd"];

/// The URL of a key space of its own in the shared server of a driver, with these options, and
/// relaxed where commits can be. None for other drivers, and where this run is to do without.
pub fn shared_url(driver: &str, options: &str) -> Option<String> {
    let relaxed = match options {
        "" => "durability=relaxed".to_owned(),
        options => format!("durability=relaxed&{options}"),
    };
    match driver {
        "postgres" => Some(Postgres::shared()?.url(&relaxed)),
        "redis" => Some(Redis::shared()?.url(&relaxed)),
        "etcd" => Some(Etcd::shared()?.url(options)),
        _ => None,
    }
}
