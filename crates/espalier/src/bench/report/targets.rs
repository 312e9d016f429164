//! What rows are to reach, and whether they do.

use super::page::Finding;
use super::reasons::{self, About};
use crate::bench::output::duration;
use crate::bench::row::Row;

/// What some rows are to reach.
struct Target {
    suite: &'static str,
    /// What names are, or begin with where they end with an asterisk.
    rows: &'static [&'static str],
    /// What the engine begins with, and what it ends with.
    engine: (&'static str, &'static str),
    /// The size at which it is judged.
    size: u64,
    reach: Reach,
}

/// What is to be reached.
#[derive(Clone, Copy)]
enum Reach {
    /// At most so many seconds.
    Within(f64),
    /// So many times less than the first of the other systems.
    Peer(f64),
    /// At most so many times what the engine's own client takes for the same reads and writes.
    Raw(f64),
    /// At most so many times another row of the same engine and size.
    Row(f64, &'static str),
    /// At most so many times the same row in memory.
    Memory(f64),
}

const US: f64 = 1e-6;
const MS: f64 = 1e-3;

const TARGETS: &[Target] = &[
    Target {
        suite: "sysrepo",
        rows: &[
            "create an item*",
            "modify an item*",
            "remove an item*",
            "get item",
            "get tree hash*",
        ],
        engine: ("embedded", "relaxed"),
        size: 100_000,
        reach: Reach::Within(100.0 * US),
    },
    Target {
        suite: "sysrepo",
        rows: &[
            "create batch",
            "create all items*",
            "create user ordered items",
            "remove all items*",
            "remove whole subtree*",
        ],
        engine: ("embedded", "relaxed"),
        size: 100_000,
        reach: Reach::Peer(5.0),
    },
    Target {
        suite: "sysrepo",
        rows: &["many oper change_subs"],
        engine: ("embedded", "relaxed"),
        size: 100_000,
        reach: Reach::Within(5.0),
    },
    Target {
        suite: "drivers",
        rows: &["get item", "get tree", "get tree hash"],
        engine: ("", "cached"),
        size: 10_000,
        reach: Reach::Memory(2.0),
    },
    Target {
        suite: "drivers",
        rows: &["create an item", "modify an item", "remove an item"],
        engine: ("", "durable"),
        size: 10_000,
        reach: Reach::Raw(2.0),
    },
    // Sysrepo's plugins have the servers acknowledge what is not on the disk yet.
    Target {
        suite: "drivers",
        rows: &["create all items"],
        engine: ("redis", "relaxed"),
        size: 1_000,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "drivers",
        rows: &["create all items"],
        engine: ("redis", "relaxed"),
        size: 10_000,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "drivers",
        rows: &["create all items"],
        engine: ("mongodb", "relaxed"),
        size: 1_000,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "drivers",
        rows: &["create all items"],
        engine: ("mongodb", "relaxed"),
        size: 10_000,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "drivers",
        rows: &["create user ordered items"],
        engine: ("", ""),
        size: 10_000,
        reach: Reach::Row(2.0, "create all items"),
    },
    Target {
        suite: "trifle",
        rows: &["TRACK of 23 values", "ASSORT of 23 values"],
        engine: ("sqlite", ""),
        size: 100,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "trifle",
        rows: &["TRACK of 23 values", "ASSORT of 23 values"],
        engine: ("redis", ""),
        size: 100,
        reach: Reach::Peer(10.0),
    },
    Target {
        suite: "trifle",
        rows: &["TRACK of 23 values", "ASSORT of 23 values"],
        engine: ("postgres", ""),
        size: 100,
        reach: Reach::Peer(5.0),
    },
    Target {
        suite: "trifle",
        rows: &["TRACK buffered by 4 threads"],
        engine: ("memory", ""),
        size: 1_000_000,
        reach: Reach::Within(1.0 * US),
    },
    Target {
        suite: "trifle",
        rows: &["VALUES of 10,000 buckets"],
        engine: ("", ""),
        size: 10_000,
        reach: Reach::Peer(100.0),
    },
    Target {
        suite: "dodb",
        rows: &["get by index, again"],
        engine: ("none", ""),
        size: 250_000,
        reach: Reach::Within(0.12 * US),
    },
    Target {
        suite: "dodb",
        rows: &["get by index, again"],
        engine: ("embedded", "cached"),
        size: 250_000,
        reach: Reach::Within(0.12 * US),
    },
    Target {
        suite: "dodb",
        rows: &["get by index"],
        engine: ("embedded", "relaxed"),
        size: 250_000,
        reach: Reach::Within(3.0 * US),
    },
    Target {
        suite: "dodb",
        rows: &["partition"],
        engine: ("embedded", "relaxed"),
        size: 5_000,
        reach: Reach::Within(5.0 * MS),
    },
    Target {
        suite: "dodb",
        rows: &["partition"],
        engine: ("embedded", "cached"),
        size: 5_000,
        reach: Reach::Within(0.1 * MS),
    },
    Target {
        suite: "dodb",
        rows: &["add"],
        engine: ("none", ""),
        size: 250_000,
        reach: Reach::Within(10.0 * US),
    },
    Target {
        suite: "dodb",
        rows: &["add"],
        engine: ("embedded", ""),
        size: 250_000,
        reach: Reach::Within(10.0 * US),
    },
];

/// What the report says of the targets of the rows that were measured.
pub fn finding(rows: &[Row]) -> Finding {
    let judged = TARGETS.iter().flat_map(|target| {
        let of_target = rows.iter().filter(|row| target.is_of(row));
        of_target.filter_map(|row| Some((row, target.judge(row, rows)?)))
    });
    let (mut met, mut all, mut exceptions) = (0, 0, Vec::new());
    for (row, judged) in judged {
        all += 1;
        match judged {
            None => met += 1,
            Some(what) => exceptions.push((reasons::of(About::Target, row), what)),
        }
    }
    let summary = format!("{met} of {all} rows with a target are within it");
    Finding::new("Targets", summary, exceptions)
}

impl Target {
    fn is_of(&self, row: &Row) -> bool {
        let engine = row.engine();
        let is_named = self.rows.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => row.row.starts_with(start),
            None => row.row == *name,
        });
        row.suite == self.suite
            && row.size == self.size
            && is_named
            && engine.starts_with(self.engine.0)
            && engine.ends_with(self.engine.1)
    }

    /// What there is to say of a row that does not reach it; nothing of one that cannot be judged.
    fn judge(&self, row: &Row, rows: &[Row]) -> Option<Option<String>> {
        let median = row.median_s?;
        let beside = |is_meant: &dyn Fn(&Row) -> bool| {
            let mut found = rows.iter().filter(|other| {
                other.suite == row.suite && other.size == row.size && is_meant(other)
            });
            found.find_map(|other| other.median_s)
        };
        let (figure, wanted, what) = match self.reach {
            Reach::Within(most) => (median, most, String::new()),
            Reach::Peer(times) => {
                let peer = row.peer.first()?;
                let ours = row.beside_peer(peer)?;
                (
                    ours,
                    peer.seconds / times,
                    format!(", x{times} less than {}", peer.name),
                )
            }
            Reach::Raw(times) => {
                let raw = row.raw_s?;
                (median, raw * times, format!(", x{times} of the raw engine"))
            }
            Reach::Row(times, name) => {
                let other = beside(&|other| other.row == name && other.engine() == row.engine())?;
                (median, other * times, format!(", x{times} of {name:?}"))
            }
            Reach::Memory(times) => {
                let other = beside(&|other| other.row == row.row && other.driver == "memory")?;
                (median, other * times, format!(", x{times} of memory"))
            }
        };
        let said = || {
            format!(
                "{}: {}, {}, {}: {}, and at most {}{what} is wanted",
                row.suite,
                row.row,
                row.engine(),
                row.size,
                duration(Some(figure)),
                duration(Some(wanted))
            )
        };
        Some((figure > wanted).then(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_its_target_is_told_with_its_reason() {
        let row = |name: &str, driver: &str, size, seconds| {
            Row::example("dodb", name, driver, size, seconds)
        };
        let rows = [
            row("get by index", "embedded", 250_000, 2e-6),
            row("partition", "embedded", 5_000, 8e-3),
            row("partition", "embedded", 4_000, 8e-3),
        ];
        let finding = finding(&rows);
        assert_eq!(finding.summary, "1 of 2 rows with a target are within it");
        let [(reason, whats)] = finding.exceptions.as_slice() else {
            panic!("{:?}", finding.exceptions);
        };
        assert!(reason.contains("JSON"), "{reason}");
        assert!(
            whats[0].contains("8.00 ms, and at most 5.00 ms is wanted"),
            "{whats:?}"
        );
    }
}
