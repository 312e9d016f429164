//! What sysrepo takes, as measured by us.

use crate::bench::row::Peer;

/// Where the figures are from.
const SOURCE: &str = "measured by us: sysrepo 4.6.2 and libyang 5.4.9, Debian 12, 2 cores, JSON files \
                      in shared memory, first tries";

/// What sysrepo publishes: size, plugin, row, seconds.
const PUBLISHED: &str = include_str!("published.csv");

/// Where those are from.
const PUBLISHED_SOURCE: &str =
    "published by sysrepo (DB_PLG_PERF.md), mean of 10 tries on another machine";

/// The plugin of files.
const JSON: &str = "JSON DS file";

/// Numbers of entries that there are figures for.
const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

/// A row, and for each size processor and wall-clock seconds.
type Known = (&'static str, [(f64, f64); 3]);

/// The rows in sysrepo's order.
const KNOWN: [Known; 22] = [
    (
        "get tree",
        [(0.003226, 0.003225), (0.03167, 0.04226), (0.5067, 0.7564)],
    ),
    (
        "get item",
        [(0.003052, 0.003083), (0.03029, 0.0435), (0.3973, 0.5837)],
    ),
    (
        "get tree hash",
        [(0.002068, 0.002067), (0.02125, 0.03054), (0.3192, 0.4532)],
    ),
    (
        "get user ordered tree",
        [(0.001127, 0.001125), (0.01088, 0.01192), (0.1861, 0.2693)],
    ),
    (
        "get oper tree",
        [(0.003606, 0.00361), (0.04391, 0.06755), (0.734, 1.091)],
    ),
    (
        "create batch",
        [(0.0073, 0.007667), (0.08682, 0.1655), (1.386, 2.031)],
    ),
    (
        "create user ordered items",
        [(0.01258, 0.01392), (0.1452, 0.2242), (1.889, 2.989)],
    ),
    (
        "create all items",
        [(0.01614, 0.02219), (0.1787, 0.2314), (2.625, 5.913)],
    ),
    (
        "create all items oper",
        [(0.01783, 0.01796), (0.1919, 0.2386), (2.731, 4.559)],
    ),
    (
        "many oper change_subs",
        [(1.53, 1.908), (24.79, 27.92), (369.0, 810.4)],
    ),
    (
        "remove all items",
        [(0.004302, 0.004694), (0.0739, 0.08612), (0.6948, 1.201)],
    ),
    (
        "remove whole subtree",
        [(0.004693, 0.005741), (0.06427, 0.09654), (0.6826, 1.119)],
    ),
    (
        "create an item",
        [(0.003149, 0.003262), (0.0309, 0.03238), (0.496, 1.159)],
    ),
    (
        "create an item oper",
        [(0.006511, 0.006533), (0.084, 0.09235), (2.087, 3.445)],
    ),
    (
        "modify an item",
        [(0.003594, 0.003622), (0.03132, 0.03438), (0.5482, 0.9133)],
    ),
    (
        "remove an item",
        [(0.003415, 0.004936), (0.03162, 0.0333), (0.4832, 1.196)],
    ),
    (
        "get tree hash cached",
        [
            (0.000014, 0.000013),
            (0.000014, 0.000014),
            (0.001564, 0.001587),
        ],
    ),
    (
        "remove all items cached",
        [(0.00397, 0.003968), (0.04535, 0.04857), (0.9688, 1.119)],
    ),
    (
        "remove whole subtree cached",
        [(0.004103, 0.004112), (0.04757, 0.05001), (1.391, 1.725)],
    ),
    (
        "create an item cached",
        [(0.00196, 0.002074), (0.02231, 0.02458), (0.4652, 1.03)],
    ),
    (
        "modify an item cached",
        [(0.00234, 0.002374), (0.02468, 0.02608), (0.5265, 1.325)],
    ),
    (
        "remove an item cached",
        [(0.002272, 0.002449), (0.02608, 0.03903), (0.4892, 0.8631)],
    ),
];

/// sysrepo's processor seconds for a row, where they are known.
pub fn cpu_seconds(row: &str, size: u64) -> Option<f64> {
    figures(row, size).map(|(cpu, _)| cpu)
}

/// sysrepo's figures for a row on a driver, where they are known: those published for its own plugin
/// of the same engine first, then those that we measured with JSON files.
pub fn peers(row: &str, size: u64, driver: &str) -> Vec<Peer> {
    let peer = |name: String, seconds, source: &str| Peer {
        name,
        seconds,
        source: source.to_owned(),
    };
    let mut peers = Vec::new();
    if let Some((cpu, wall)) = figures(row, size) {
        peers.push(peer("sysrepo, cpu".to_owned(), cpu, SOURCE));
        peers.push(peer("sysrepo, wall".to_owned(), wall, SOURCE));
    }
    if let Some((plugin, seconds)) = published(row, size, driver) {
        let published = peer(format!("sysrepo, {plugin}"), seconds, PUBLISHED_SOURCE);
        match plugin_of(driver) {
            JSON => peers.push(published),
            _ => peers.insert(0, published),
        }
    }
    peers
}

/// The plugin of sysrepo for the engine of a driver, or the nearest, and its published seconds.
pub fn published(row: &str, size: u64, driver: &str) -> Option<(&'static str, f64)> {
    let (plugin, size) = (plugin_of(driver), size.to_string());
    PUBLISHED.lines().find_map(|line| {
        let mut fields = line.split(',');
        let is_it = fields.next()? == size && fields.next()? == plugin && fields.next()? == row;
        let seconds = fields.next()?.parse().ok()?;
        is_it.then_some((plugin, seconds))
    })
}

fn plugin_of(driver: &str) -> &'static str {
    match driver {
        "redis" | "rediss" => "REDIS DS",
        "mongodb" => "MONGO DS",
        _ => JSON,
    }
}

fn figures(row: &str, size: u64) -> Option<(f64, f64)> {
    let at = SIZES.iter().position(|&known| known == size)?;
    let known = KNOWN.iter().find(|known| known.0 == row)?;
    Some(known.1[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_for_the_sizes_that_were_measured() {
        let peers = peers("get tree", 1_000, "embedded");
        let seconds: Vec<f64> = peers.iter().map(|peer| peer.seconds).collect();
        assert_eq!(seconds, [0.003226, 0.003225, 0.001854]);
        let of_redis = published("create batch", 100_000, "redis");
        assert_eq!(of_redis.map(|found| found.0), Some("REDIS DS"));
        assert_eq!(published("create batch", 99, "redis"), None);
        assert_eq!(cpu_seconds("modify an item", 100_000), Some(0.5482));
        assert_eq!(cpu_seconds("modify an item", 100_001), None);
        assert_eq!(cpu_seconds("modify nothing", 100_000), None);
    }
}
