//! The shared servers of a test binary, by driver name.

use std::path::Path;

use super::{Etcd, Mongo, Postgres, Redis, is_wanted};

/// The drivers whose test suites run on shared servers.
pub const SHARED_DRIVERS: &[&str] = &["postgres", "redis", "etcd", "mongodb"];

/// The URL of a new key space in the shared server of a driver, with these options, and relaxed durability
/// if supported. `None` for other drivers, and for excluded servers.
pub fn shared_url(driver: &str, options: &str) -> Option<String> {
    let relaxed = match options {
        "" => "durability=relaxed".to_owned(),
        options => format!("durability=relaxed&{options}"),
    };
    match driver {
        "postgres" => Some(Postgres::shared()?.url(&relaxed)),
        "redis" => Some(Redis::shared()?.url(&relaxed)),
        "mongodb" => Some(Mongo::shared()?.url(&relaxed)),
        "etcd" => Some(Etcd::shared()?.url(options)),
        _ => None,
    }
}

/// Those of these drivers whose servers this run includes.
pub fn shared_among(drivers: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    drivers
        .filter(|driver| SHARED_DRIVERS.contains(driver) && is_wanted(driver))
        .collect()
}

/// The number of steps of a random run on an engine: fewer if each needs one or more round trips.
pub fn steps_on(engine: &str, steps: usize) -> usize {
    match engine {
        "etcd" => steps / 15,
        engine if SHARED_DRIVERS.contains(&engine) => steps / 5,
        _ => steps,
    }
}

/// URLs of key spaces that may be opened several times, with these options: in files below `dir`, and in
/// the servers of these drivers.
pub fn shareable_urls(
    dir: &Path,
    drivers: impl Iterator<Item = &'static str>,
    options: &str,
) -> Vec<String> {
    let local = ["sqlite", "embedded"].map(|driver| {
        let place = dir.join(driver);
        format!("{driver}:{}?durability=relaxed&{options}", place.display())
    });
    let servers = drivers.filter_map(|driver| shared_url(driver, options));
    local.into_iter().chain(servers).collect()
}
