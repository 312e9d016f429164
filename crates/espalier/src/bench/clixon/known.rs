//! What Clixon takes, as measured by us.

use crate::bench::row::Peer;

/// Where the figures are from.
const SOURCE: &str = "measured by us: Clixon 7.8, Debian 12, 2 busy cores, XML datastores; clients that stay \
                      connected, the better of two runs; wall-clock time is inflated by other work on the machine, \
                      processor time is not";

/// Said of figures of its pages.
const SOURCE_OF_PAGES: &str = "measured by us: Clixon 7.8, Debian 12, 2 busy cores; processor time of the backend, \
                               entries of three leaves";

/// Said of figures of its latency.
const SOURCE_OF_LATENCY: &str = "measured by us: Clixon 7.8, Debian 12, 2 busy cores; median while another session \
                                 edits and commits";

/// Said of figures of its start.
const SOURCE_OF_STARTUP: &str = "measured by us: Clixon 7.8, Debian 12, 2 busy cores, a single run: the backend starts \
                                 with so many entries in its startup datastore";

/// Numbers of entries that there are figures for.
const SIZES: [u64; 4] = [100, 1_000, 10_000, 100_000];

/// Milliseconds for a size: wall-clock, and processor of the backend and of the front end.
type Figures = (f64, f64, f64);

/// How many of the rows are NETCONF's; those after them are RESTCONF's.
const NETCONF: usize = 14;

/// The rows in the order of the published table.
const KNOWN: [(&str, [Figures; 4]); 23] = [
    (
        "write N in one edit",
        [
            (2.8, 2.06, 0.52),
            (31.0, 15.0, 3.9),
            (317.0, 140.0, 37.0),
            (2720.0, 1877.0, 483.0),
        ],
    ),
    (
        "commit N",
        [
            (2.58, 2.12, 0.14),
            (19.0, 9.4, 0.2),
            (178.0, 88.0, 2.6),
            (1103.0, 937.0, 78.0),
        ],
    ),
    (
        "read N",
        [
            (1.22, 0.36, 0.64),
            (5.3, 2.0, 3.0),
            (118.0, 21.0, 31.0),
            (743.0, 254.0, 354.0),
        ],
    ),
    (
        "read 1, xpath on key",
        [
            (0.41, 0.13, 0.09),
            (0.31, 0.09, 0.07),
            (0.44, 0.1, 0.07),
            (0.16, 0.09, 0.06),
        ],
    ),
    (
        "read 1, subtree filter on key",
        [
            (2.3, 0.43, 0.66),
            (8.9, 2.1, 3.2),
            (109.0, 27.0, 38.0),
            (2434.0, 304.0, 1379.0),
        ],
    ),
    (
        "read 1, xpath on non-key leaf",
        [
            (1.1, 0.25, 0.15),
            (1.7, 0.86, 0.11),
            (14.0, 7.3, 0.2),
            (180.0, 90.0, 0.7),
        ],
    ),
    (
        "write 1, same value",
        [
            (2.8, 0.55, 0.17),
            (4.2, 1.5, 0.1),
            (26.0, 16.0, 0.2),
            (412.0, 213.0, 0.3),
        ],
    ),
    (
        "write 1, new value",
        [
            (4.3, 0.48, 0.2),
            (4.3, 2.0, 0.1),
            (24.0, 17.0, 0.2),
            (433.0, 225.0, 0.2),
        ],
    ),
    (
        "delete 1",
        [
            (1.7, 0.34, 0.11),
            (6.3, 2.0, 0.1),
            (50.0, 25.0, 0.2),
            (586.0, 281.0, 0.3),
        ],
    ),
    (
        "write 1 + commit",
        [
            (13.0, 2.6, 0.3),
            (23.0, 12.0, 0.3),
            (204.0, 137.0, 0.4),
            (2721.0, 1582.0, 0.4),
        ],
    ),
    (
        "commit, nothing changed",
        [
            (6.3, 1.6, 0.1),
            (17.0, 8.6, 0.1),
            (208.0, 114.0, 0.2),
            (2442.0, 1311.0, 0.2),
        ],
    ),
    (
        "commit, 100 entries changed",
        [
            (12.0, 2.7, 0.1),
            (22.0, 9.4, 0.1),
            (162.0, 141.0, 0.2),
            (2023.0, 1302.0, 0.2),
        ],
    ),
    (
        "validate, 100 deleted",
        [
            (1.4, 1.2, 0.1),
            (12.0, 7.4, 0.1),
            (133.0, 94.0, 0.3),
            (2063.0, 1196.0, 0.2),
        ],
    ),
    (
        "discard-changes",
        [
            (0.33, 0.18, 0.06),
            (5.8, 1.9, 0.1),
            (34.0, 29.0, 0.3),
            (352.0, 187.0, 0.2),
        ],
    ),
    (
        "GET all",
        [
            (3.9, 0.72, 2.1),
            (17.0, 2.3, 9.6),
            (183.0, 20.0, 91.0),
            (2709.0, 254.0, 1154.0),
        ],
    ),
    (
        "PUT all, over N existing",
        [
            (20.0, 3.7, 1.2),
            (102.0, 26.0, 7.7),
            (632.0, 304.0, 84.0),
            (8266.0, 3606.0, 1333.0),
        ],
    ),
    (
        "PUT all, into empty",
        [
            (21.0, 3.5, 1.3),
            (63.0, 22.0, 7.1),
            (551.0, 237.0, 87.0),
            (6442.0, 2916.0, 1132.0),
        ],
    ),
    (
        "GET 1, content=config",
        [
            (1.4, 0.15, 0.19),
            (0.61, 0.12, 0.13),
            (0.86, 0.16, 0.15),
            (0.71, 0.19, 0.15),
        ],
    ),
    (
        "GET 1",
        [
            (0.82, 0.16, 0.19),
            (0.59, 0.12, 0.13),
            (0.78, 0.14, 0.14),
            (0.47, 0.14, 0.14),
        ],
    ),
    (
        "PUT 1",
        [
            (7.7, 2.3, 0.2),
            (22.0, 12.0, 0.3),
            (176.0, 122.0, 0.3),
            (2262.0, 1309.0, 0.4),
        ],
    ),
    (
        "PATCH 1",
        [
            (7.6, 2.0, 0.2),
            (23.0, 11.0, 0.2),
            (173.0, 124.0, 0.4),
            (2960.0, 1374.0, 0.3),
        ],
    ),
    (
        "POST 1 new",
        [
            (7.5, 2.2, 0.2),
            (20.0, 12.0, 0.2),
            (168.0, 134.0, 0.3),
            (2770.0, 1430.0, 0.3),
        ],
    ),
    (
        "DELETE 1",
        [
            (8.2, 2.2, 0.1),
            (26.0, 13.0, 0.2),
            (180.0, 134.0, 0.3),
            (3317.0, 1489.0, 0.3),
        ],
    ),
];

/// The rows of the backend's socket, without a front end: wall-clock and processor.
const SOCKET: [(&str, [(f64, f64); 4]); 2] = [
    (
        "read 1, xpath on key",
        [(0.16, 0.06), (0.10, 0.07), (0.18, 0.09), (0.23, 0.12)],
    ),
    (
        "write 1, new value",
        [(1.2, 0.32), (3.4, 1.6), (30.0, 19.0), (448.0, 193.0)],
    ),
];

/// Other figures: a row, a number of entries, whose they are, milliseconds, where they are from.
const OTHERS: [(&str, u64, &str, f64, &str); 11] = [
    (PAGE, 10_000, "Clixon backend, cpu", 54.0, SOURCE_OF_PAGES),
    (
        PAGE,
        100_000,
        "Clixon backend, cpu",
        1680.0,
        SOURCE_OF_PAGES,
    ),
    (
        MIDDLE_PAGE,
        10_000,
        "Clixon backend, cpu",
        57.0,
        SOURCE_OF_PAGES,
    ),
    (
        MIDDLE_PAGE,
        100_000,
        "Clixon backend, cpu",
        1811.0,
        SOURCE_OF_PAGES,
    ),
    (BESIDE, 10_000, "Clixon, wall", 456.0, SOURCE_OF_LATENCY),
    (BESIDE, 100_000, "Clixon, wall", 659.0, SOURCE_OF_LATENCY),
    (STARTUP, 100, "Clixon backend, cpu", 40.0, SOURCE_OF_STARTUP),
    (
        STARTUP,
        1_000,
        "Clixon backend, cpu",
        80.0,
        SOURCE_OF_STARTUP,
    ),
    (
        STARTUP,
        10_000,
        "Clixon backend, cpu",
        460.0,
        SOURCE_OF_STARTUP,
    ),
    (
        STARTUP,
        100_000,
        "Clixon backend, cpu",
        4_400.0,
        SOURCE_OF_STARTUP,
    ),
    (
        STARTUP,
        100_000,
        "Clixon backend, wall",
        16_000.0,
        SOURCE_OF_STARTUP,
    ),
];

/// The row of a store that is opened.
pub const STARTUP: &str = "startup";

/// The row of a page at the beginning.
pub const PAGE: &str = "GET page, limit=10";

/// The row of a page in the middle.
pub const MIDDLE_PAGE: &str = "GET page, limit=10&offset=N/2";

/// The row of a reader beside a session that commits.
pub const BESIDE: &str = "read 1, beside commits";

const MILLISECOND: f64 = 1e-3;

/// Clixon's figures for a row, where they are known; processor time first. That of rows measured
/// through the library is of its backend alone, as there is no front end here either.
pub fn peers(row: &str, size: u64) -> Vec<Peer> {
    let mut peers = Vec::new();
    let mut peer = |name: &str, milliseconds: f64, source: &str| {
        peers.push(Peer {
            name: name.to_owned(),
            seconds: milliseconds * MILLISECOND,
            source: source.to_owned(),
        });
    };
    if let Some(at) = SIZES.iter().position(|&known| known == size) {
        if let Some(number) = KNOWN.iter().position(|known| known.0 == row) {
            let (wall, backend, front_end) = KNOWN[number].1[at];
            match number < NETCONF {
                true => peer("Clixon backend, cpu", backend, SOURCE),
                false => peer("Clixon, cpu", backend + front_end, SOURCE),
            }
            peer("Clixon, wall", wall, SOURCE);
        }
        if let Some(known) = SOCKET.iter().find(|known| known.0 == row) {
            let (wall, cpu) = known.1[at];
            peer("Clixon socket, cpu", cpu, SOURCE);
            peer("Clixon socket, wall", wall, SOURCE);
        }
    }
    let others = OTHERS
        .iter()
        .filter(|other| (other.0, other.1) == (row, size));
    others.for_each(|other| peer(other.2, other.3, other.4));
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(row: &str, size: u64) -> Vec<(String, f64)> {
        let peers = peers(row, size).into_iter();
        peers.map(|peer| (peer.name, peer.seconds)).collect()
    }

    #[test]
    fn figures_are_told_for_the_sizes_that_were_measured() {
        let of = |name: &str, seconds: f64| (name.to_owned(), seconds);
        assert_eq!(
            named("commit N", 100_000),
            [of("Clixon backend, cpu", 0.937), of("Clixon, wall", 1.103)]
        );
        assert_eq!(
            named("GET all", 100),
            [
                of("Clixon, cpu", (0.72 + 2.1) * MILLISECOND),
                of("Clixon, wall", 0.0039)
            ]
        );
        assert_eq!(named("write 1, new value", 1_000).len(), 4);
        assert_eq!(named(BESIDE, 10_000), [of("Clixon, wall", 0.456)]);
        assert!(named("commit N", 101).is_empty() && named("nothing", 100).is_empty());
    }
}
