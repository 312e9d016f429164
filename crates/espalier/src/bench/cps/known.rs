//! The budgets of CPS' performance tests, and what we measured of them.

use crate::bench::row::Peer;

/// Where the budgets are from.
const BUDGET: &str = "the expected average in CPS' own performance tests (3.8.2), which fail at twice that; its \
                      library in a JVM of 512 MB, on PostgreSQL";

/// Where the other figures are from.
const MEASURED: &str =
    "measured by us: CPS 3.8.2 and PostgreSQL 15, Debian 12, 2 busy cores, one run: an upper bound";

/// A row, its size, and seconds: expected, and measured by us.
type Known = (&'static str, u64, f64, f64);

/// The rows in CPS' order.
const KNOWN: [Known; 64] = [
    ("Creating anchors with large data tree", 1_000, 100.0, 82.55),
    ("Read datatree with no descendants", 1_000, 0.01, 0.016),
    ("Read datatree with direct descendants", 1_000, 0.03, 0.256),
    ("Read datatree with all descendants", 1_000, 1.0, 1.781),
    ("Read datatrees for multiple xpaths", 1_000, 2.0, 1.551),
    ("Read non-existing xpaths", 1_000, 0.06, 0.114),
    ("Read datatrees using root", 1_000, 1.0, 1.241),
    ("Read datatrees using top element", 1_000, 0.95, 0.952),
    ("Read datatrees using whole list", 1_000, 3.0, 1.449),
    ("Query 1 anchor top element", 1_000, 0.89, 0.832),
    ("Query 1 anchor leaf condition", 1_000, 1.1, 0.919),
    ("Query 1 anchor ancestors", 1_000, 1.3, 1.172),
    (
        "Query 1 anchor leaf condition + ancestors",
        1_000,
        0.93,
        0.815,
    ),
    ("Query 1 anchor non-existing data", 1_000, 0.01, 0.023),
    ("Query across anchors top element", 1_000, 3.0, 4.502),
    ("Query across anchors leaf condition", 1_000, 3.1, 6.356),
    ("Query across anchors ancestors", 1_000, 3.2, 5.102),
    (
        "Query across anchors leaf condition + ancestors",
        1_000,
        3.0,
        5.708,
    ),
    ("Query with no descendants", 1_000, 0.1, 0.16),
    ("Query with direct descendants", 1_000, 0.15, 0.207),
    ("Query with all descendants", 1_000, 1.1, 1.644),
    ("Query ancestors with no descendants", 1_000, 0.08, 0.126),
    (
        "Query ancestors with direct descendants",
        1_000,
        0.09,
        0.093,
    ),
    ("Query ancestors with all descendants", 1_000, 1.0, 1.259),
    ("Query data leaf unique leaf value", 1_000, 0.05, 0.084),
    ("Query data leaf common leaf value", 1_000, 0.013, 0.031),
    ("Query data leaf non-existing data leaf", 1_000, 0.01, 0.019),
    ("Writing devices", 50, 1.45, 1.157),
    ("Writing devices", 100, 2.9, 2.148),
    ("Writing devices", 200, 6.2, 2.469),
    ("Writing devices", 400, 13.0, 9.162),
    ("Writing books", 800, 0.31, 0.867),
    ("Writing books", 1_600, 0.8, 1.905),
    ("Writing books", 3_200, 2.2, 3.986),
    ("Writing books", 6_400, 6.9, 13.237),
    ("Saving list of devices", 50, 1.5, 1.582),
    ("Saving list of devices", 100, 3.0, 2.488),
    ("Saving list of devices", 200, 6.4, 5.338),
    ("Saving list of devices", 400, 10.0, 10.601),
    ("Replace 0 nodes with 100", 100, 3.0, 0.985),
    ("Replace 100 using same data", 100, 5.0, 1.181),
    ("Replace 100 with new leaf values", 100, 5.4, 1.578),
    ("Replace 100 with 100 new nodes", 100, 9.3, 3.433),
    ("Replace 50 existing and 50 new", 100, 7.3, 2.004),
    ("Replace 100 nodes with 0", 100, 6.0, 1.607),
    ("Replace list of 0 with 100", 100, 3.0, 1.291),
    ("Replace list of 100 using same data", 100, 5.0, 0.822),
    ("Replace list of 100 with new leaf values", 100, 5.4, 1.03),
    ("Replace list with 100 new nodes", 100, 9.0, 2.51),
    ("Replace list with 50 existing and 50 new", 100, 7.0, 1.69),
    ("Replace list of 100 nodes with 1", 100, 5.9, 1.162),
    ("Update leaves for 100 data nodes", 200, 0.22, 0.076),
    ("Delete 100 containers", 300, 2.1, 0.796),
    ("Batch delete 100 containers", 300, 0.65, 0.266),
    ("Delete 100 lists elements", 300, 2.3, 0.828),
    ("Batch delete 100 lists elements", 300, 0.7, 0.344),
    ("Delete 100 whole lists", 300, 3.2, 8.311),
    ("Batch delete 100 whole lists", 300, 2.2, 8.105),
    ("Delete one large node", 300, 1.9, 0.853),
    ("Delete root node", 300, 1.9, 0.601),
    ("Batch delete 100 non-existing data nodes", 300, 2.0, 9.282),
    ("Creating 33,000 books", 33_000, 16.0, 13.445),
    (
        "Delta of 2 anchors no grouping all descendants",
        1_000,
        3.5,
        2.7872,
    ),
    ("Apply delta report to an anchor", 1_000, 20.0, 7.019),
];

/// CPS' figures for a row, where they are known: the budget first.
pub fn peers(row: &str, size: u64) -> Vec<Peer> {
    let known = KNOWN.iter().find(|known| (known.0, known.1) == (row, size));
    let Some(&(_, _, expected, measured)) = known else {
        return Vec::new();
    };
    let peer = |name: &str, seconds, source: &str| Peer {
        name: name.to_owned(),
        seconds,
        source: source.to_owned(),
    };
    vec![
        peer("CPS, expected", expected, BUDGET),
        peer("CPS, measured", measured, MEASURED),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_for_the_sizes_that_they_are_of() {
        let seconds = |row, size| -> Vec<f64> {
            let peers = peers(row, size).into_iter();
            peers.map(|peer| peer.seconds).collect()
        };
        assert_eq!(seconds("Writing books", 1_600), [0.8, 1.905]);
        assert_eq!(seconds("Delete 100 containers", 300), [2.1, 0.796]);
        assert!(seconds("Delete 100 containers", 1_000).is_empty());
        assert!(seconds("Delete nothing", 300).is_empty());
    }
}
