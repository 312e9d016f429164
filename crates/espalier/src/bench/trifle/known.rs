//! What Trifle::Stats takes.

use espalier_keyspace::Driver;

use super::payload::{PAYLOADS, Payload};
use crate::bench::row;

/// Where the published figures are from.
const PUBLISHED: &str = "Trifle::Stats 1.6.0, its own table, t3.medium; BEAM and SCAN do nothing there \
                         but on MongoDB";

/// Where ours are from.
const MEASURED: &str = "measured by us: Trifle::Stats 1.6.0, Debian 12, 2 cores, 100 calls";

/// An engine of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Redis,
    Postgres,
    Mongo,
    Process,
    Sqlite,
}

impl Peer {
    /// Their engine that is the same as one of ours, or the nearest.
    pub fn of(driver: &dyn Driver) -> Option<Self> {
        match driver.name() {
            "memory" => Some(Self::Process),
            "sqlite" | "embedded" | "file" => Some(Self::Sqlite),
            "postgres" | "postgresql" => Some(Self::Postgres),
            "redis" | "rediss" => Some(Self::Redis),
            "mongodb" => Some(Self::Mongo),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Redis => "Redis",
            Self::Postgres => "Postgres",
            Self::Mongo => "Mongo",
            Self::Process => "Process",
            Self::Sqlite => "SQLite",
        }
    }
}

/// The columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Assort,
    Assert,
    Track,
    Values,
    Beam,
    Scan,
}

impl Column {
    /// In the table's order.
    pub const ALL: [Self; 6] = [
        Self::Assort,
        Self::Assert,
        Self::Track,
        Self::Values,
        Self::Beam,
        Self::Scan,
    ];

    /// As in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assort => "ASSORT",
            Self::Assert => "ASSERT",
            Self::Track => "TRACK",
            Self::Values => "VALUES",
            Self::Beam => "BEAM",
            Self::Scan => "SCAN",
        }
    }
}

/// Calls, payload, engine, and the seconds of all calls in each column.
type Published = (u64, &'static str, Peer, [f64; 6]);

#[rustfmt::skip]
const TABLE: [Published; 40] = [
    (100, "1 value", Peer::Redis, [0.0898, 0.0687, 0.0879, 0.056, 0.0003, 0.0004]),
    (100, "1 value", Peer::Postgres, [0.2536, 0.2473, 0.2508, 0.0648, 0.0004, 0.0002]),
    (100, "1 value", Peer::Mongo, [0.2157, 0.1918, 0.2171, 0.2914, 0.089, 0.0891]),
    (100, "1 value", Peer::Process, [0.0134, 0.0109, 0.0104, 0.0126, 0.0002, 0.0003]),
    (100, "1 value", Peer::Sqlite, [0.6624, 0.0451, 0.5881, 0.0327, 0.0002, 0.0002]),
    (1000, "1 value", Peer::Redis, [0.8289, 0.7688, 0.7752, 0.5612, 0.0029, 0.002]),
    (1000, "1 value", Peer::Postgres, [2.9269, 2.7549, 2.6881, 0.7926, 0.0022, 0.0022]),
    (1000, "1 value", Peer::Mongo, [2.1924, 1.9317, 2.1801, 2.9633, 0.8935, 0.9059]),
    (1000, "1 value", Peer::Process, [0.1255, 0.1076, 0.1096, 0.1198, 0.0026, 0.0019]),
    (1000, "1 value", Peer::Sqlite, [6.0297, 0.3333, 6.013, 0.2985, 0.0022, 0.0021]),
    (100, "5 values", Peer::Redis, [0.3795, 0.0903, 0.331, 0.0748, 0.0004, 0.0002]),
    (100, "5 values", Peer::Postgres, [0.3525, 0.3235, 0.3471, 0.084, 0.0002, 0.0009]),
    (100, "5 values", Peer::Mongo, [0.2499, 0.1951, 0.2268, 0.3104, 0.0973, 0.0942]),
    (100, "5 values", Peer::Process, [0.033, 0.0254, 0.0248, 0.0149, 0.0002, 0.0001]),
    (100, "5 values", Peer::Sqlite, [0.6216, 0.0527, 0.6345, 0.0387, 0.0002, 0.0006]),
    (1000, "5 values", Peer::Redis, [3.125, 0.8677, 3.0453, 0.7355, 0.0025, 0.0024]),
    (1000, "5 values", Peer::Postgres, [3.4178, 3.079, 3.2887, 0.7703, 0.0024, 0.0027]),
    (1000, "5 values", Peer::Mongo, [2.5272, 2.0293, 2.4189, 2.942, 0.8996, 0.8706]),
    (1000, "5 values", Peer::Process, [0.3355, 0.2761, 0.2826, 0.1714, 0.0023, 0.0024]),
    (1000, "5 values", Peer::Sqlite, [6.3657, 0.4858, 6.3099, 0.3172, 0.0027, 0.0021]),
    (100, "5 nested values", Peer::Redis, [0.3566, 0.095, 0.3309, 0.0745, 0.0002, 0.0003]),
    (100, "5 nested values", Peer::Postgres, [0.3403, 0.3039, 0.3225, 0.0816, 0.0003, 0.0001]),
    (100, "5 nested values", Peer::Mongo, [0.2483, 0.2104, 0.2314, 0.2914, 0.0906, 0.0895]),
    (100, "5 nested values", Peer::Process, [0.0351, 0.0284, 0.0277, 0.0172, 0.0003, 0.0001]),
    (100, "5 nested values", Peer::Sqlite, [0.6245, 0.0581, 0.6176, 0.0359, 0.0002, 0.0003]),
    (1000, "5 nested values", Peer::Redis, [3.3048, 0.919, 3.015, 0.7291, 0.0025, 0.002]),
    (1000, "5 nested values", Peer::Postgres, [3.5198, 3.1653, 3.3407, 0.8125, 0.0029, 0.002]),
    (1000, "5 nested values", Peer::Mongo, [2.5012, 1.9965, 2.3716, 2.948, 0.9349, 0.905]),
    (1000, "5 nested values", Peer::Process, [0.3465, 0.2789, 0.2881, 0.1617, 0.0021, 0.0024]),
    (1000, "5 nested values", Peer::Sqlite, [6.3521, 0.4859, 6.3591, 0.3205, 0.0024, 0.0024]),
    (100, "23 values", Peer::Redis, [1.3922, 0.1398, 1.3135, 0.149, 0.0004, 0.0003]),
    (100, "23 values", Peer::Postgres, [0.7082, 0.5231, 0.7147, 0.1047, 0.0004, 0.0007]),
    (100, "23 values", Peer::Mongo, [0.3173, 0.228, 0.2654, 0.2973, 0.098, 0.0905]),
    (100, "23 values", Peer::Process, [0.1193, 0.0887, 0.0893, 0.0297, 0.0005, 0.0002]),
    (100, "23 values", Peer::Sqlite, [0.8216, 0.1326, 0.7571, 0.0369, 0.0006, 0.0001]),
    (1000, "23 values", Peer::Redis, [13.1988, 2.1129, 12.8526, 1.505, 0.0048, 0.0031]),
    (1000, "23 values", Peer::Postgres, [7.0472, 5.0418, 7.038, 1.0097, 0.0043, 0.0027]),
    (1000, "23 values", Peer::Mongo, [3.201, 2.3651, 2.8283, 2.9752, 0.9912, 0.8972]),
    (1000, "23 values", Peer::Process, [1.2234, 0.8951, 0.902, 0.2959, 0.0042, 0.0027]),
    (1000, "23 values", Peer::Sqlite, [8.3348, 1.2615, 7.6094, 0.373, 0.0044, 0.0021]),
];

/// Payload, engine, and the seconds of 100 calls of ASSORT, ASSERT, TRACK and VALUES.
type Measured = (&'static str, Peer, [f64; 4]);

const OURS: [Measured; 12] = [
    ("1 value", Peer::Redis, [0.060, 0.042, 0.041, 0.027]),
    ("1 value", Peer::Postgres, [0.081, 0.074, 0.071, 0.029]),
    ("1 value", Peer::Process, [0.010, 0.008, 0.007, 0.008]),
    ("1 value", Peer::Sqlite, [0.072, 0.023, 0.068, 0.020]),
    ("5 values", Peer::Redis, [0.161, 0.038, 0.134, 0.040]),
    ("5 values", Peer::Postgres, [0.158, 0.104, 0.175, 0.043]),
    ("5 values", Peer::Process, [0.034, 0.024, 0.017, 0.010]),
    ("5 values", Peer::Sqlite, [0.140, 0.072, 0.230, 0.050]),
    ("23 values", Peer::Redis, [0.924, 0.087, 0.581, 0.081]),
    ("23 values", Peer::Postgres, [0.648, 0.480, 0.532, 0.082]),
    ("23 values", Peer::Process, [0.200, 0.123, 0.117, 0.037]),
    ("23 values", Peer::Sqlite, [0.314, 0.126, 0.230, 0.047]),
];

/// The calls that ours are of.
const MEASURED_CALLS: f64 = 100.0;

/// The seconds of one call on their engine, as we measured it.
pub fn measured(peer: Peer, payload: Payload, column: Column) -> Option<f64> {
    let known = OURS
        .iter()
        .find(|known| (known.0, known.1) == (payload.name, peer))?;
    let seconds = known.2.get(column as usize)?;
    Some(seconds / MEASURED_CALLS)
}

/// Buckets that one call of VALUES reads in their table.
const BUCKETS_OF_VALUES: f64 = 3.0;

/// Reading so many buckets of one value, each by itself, as they read any range.
pub fn one_by_one(peer: Peer, buckets: u64) -> Option<row::Peer> {
    let one = measured(peer, PAYLOADS[0], Column::Values)? / BUCKETS_OF_VALUES;
    Some(row::Peer {
        name: format!("Trifle::Stats on {}, bucket by bucket", peer.name()),
        seconds: one * buckets as f64,
        source: MEASURED.to_owned(),
    })
}

/// The figures of one call on their engine.
pub fn peers(peer: Peer, payload: Payload, column: Column, calls: u64) -> Vec<row::Peer> {
    let name = |by: &str| format!("Trifle::Stats on {}, {by}", peer.name());
    let mut peers = Vec::new();
    if let Some(seconds) = measured(peer, payload, column) {
        peers.push(row::Peer {
            name: name("measured"),
            seconds,
            source: MEASURED.to_owned(),
        });
    }
    let published = TABLE
        .iter()
        .find(|known| (known.0, known.1, known.2) == (calls, payload.name, peer));
    if let Some(known) = published {
        peers.push(row::Peer {
            name: name("published"),
            seconds: known.3[column as usize] / calls as f64,
            source: PUBLISHED.to_owned(),
        });
    }
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_figure_is_found_by_its_payload() {
        for calls in [100, 1000] {
            for payload in PAYLOADS {
                for peer in [
                    Peer::Redis,
                    Peer::Postgres,
                    Peer::Mongo,
                    Peer::Process,
                    Peer::Sqlite,
                ] {
                    let found = peers(peer, payload, Column::Track, calls);
                    let published = found.iter().filter(|one| one.source == PUBLISHED).count();
                    assert_eq!(published, 1, "{calls} {payload:?} {peer:?}");
                }
            }
        }
        let track = measured(Peer::Sqlite, PAYLOADS[3], Column::Track);
        assert_eq!(track, Some(0.0023));
        assert_eq!(measured(Peer::Sqlite, PAYLOADS[3], Column::Beam), None);
    }
}
