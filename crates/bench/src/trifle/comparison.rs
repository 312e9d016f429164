//! The table that Trifle::Stats publishes: its columns, its engines and its figures.

use std::sync::LazyLock;

use espalier_keyspace::Driver;

use super::payload::{PAYLOADS, Payload};
use crate::figures::Figures;
use crate::row::Peer;

/// The figures of Trifle::Stats.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/trifle.toml")));

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
    /// All columns, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Assort,
        Self::Assert,
        Self::Track,
        Self::Values,
        Self::Beam,
        Self::Scan,
    ];

    /// The name in the table.
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

    /// The row of the figures for a payload.
    fn row(self, payload: Payload) -> String {
        format!("{}, {}", self.name(), payload.name)
    }
}

/// The engine of Trifle::Stats that is the same as the engine of a driver, or the closest one.
pub fn engine_of(driver: &dyn Driver) -> Option<&'static str> {
    match driver.name() {
        "memory" => Some("Process"),
        "sqlite" | "embedded" | "file" => Some("SQLite"),
        "postgres" | "postgresql" => Some("Postgres"),
        "redis" | "rediss" => Some("Redis"),
        "mongodb" => Some("Mongo"),
        _ => None,
    }
}

/// The seconds of one call on an engine of Trifle::Stats, as we measured it.
pub fn measured(engine: &str, payload: Payload, column: Column) -> Option<f64> {
    let peer = format!("Trifle::Stats on {engine}, measured");
    // It was measured with 100 calls, and is valid for any number of them.
    FIGURES.seconds(&peer, engine, &column.row(payload), 0)
}

/// The figures of one call on an engine of Trifle::Stats.
pub fn peers(engine: &str, payload: Payload, column: Column, calls: u64) -> Vec<Peer> {
    FIGURES.peers(engine, &column.row(payload), calls)
}

/// The number of buckets that one call of VALUES reads in the table.
const BUCKETS_OF_VALUES: f64 = 3.0;

/// The time of Trifle::Stats for a range of buckets of one value: it reads each bucket separately.
pub fn one_by_one(engine: &str, buckets: u64) -> Option<Peer> {
    let row = Column::Values.row(PAYLOADS[0]);
    let measured = FIGURES.peers(engine, &row, 0).into_iter().next()?;
    Some(Peer {
        name: format!("Trifle::Stats on {engine}, bucket by bucket"),
        seconds: measured.seconds / BUCKETS_OF_VALUES * buckets as f64,
        source: measured.source,
    })
}
