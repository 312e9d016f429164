//! The one format of bench results.

use serde::Serialize;

use super::harness::Timing;

/// One measured figure. Seconds are of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The suite it belongs to.
    pub suite: &'static str,
    /// What was done.
    pub row: String,
    /// The driver it was done on.
    pub driver: String,
    /// The memory policy.
    pub policy: &'static str,
    /// `durable`, `relaxed`, or `none` for memory.
    pub durability: &'static str,
    /// How many list entries there were.
    pub size: u64,
    /// How many times it was done.
    pub n: u64,
    /// The median of the wall-clock times.
    pub median_s: Option<f64>,
    /// The least of them.
    pub min_s: Option<f64>,
    /// The 99th percentile.
    pub p99_s: Option<f64>,
    /// Processor seconds of the whole process, user and system, on average.
    pub cpu_s: Option<f64>,
    /// The median of the raw engine doing the same reads and writes.
    pub raw_s: Option<f64>,
    /// Published figures of other systems for the same.
    pub peer: Vec<Peer>,
    /// What else there is to know.
    pub note: String,
}

/// A figure of another system.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    /// The system.
    pub name: String,
    /// Its seconds for one operation.
    pub seconds: f64,
    /// Where the figure is from.
    pub source: String,
}

/// Where something was done.
#[derive(Clone, Debug)]
pub struct On {
    /// The driver.
    pub driver: String,
    /// The memory policy.
    pub policy: &'static str,
    /// `durable`, `relaxed`, or `none` for memory.
    pub durability: &'static str,
}

impl Row {
    /// A row with nothing measured yet.
    pub fn new(suite: &'static str, row: impl Into<String>, on: On, size: u64) -> Self {
        Self {
            suite,
            row: row.into(),
            driver: on.driver,
            policy: on.policy,
            durability: on.durability,
            size,
            n: 0,
            median_s: None,
            min_s: None,
            p99_s: None,
            cpu_s: None,
            raw_s: None,
            peer: Vec::new(),
            note: String::new(),
        }
    }

    /// The same row, with what was measured.
    #[must_use]
    pub fn timed(mut self, timing: &Timing) -> Self {
        self.n = timing.n;
        self.median_s = Some(timing.median_s);
        self.min_s = Some(timing.min_s);
        self.p99_s = Some(timing.p99_s);
        self.cpu_s = Some(timing.cpu_s);
        self
    }

    /// The same row, with the raw engine's figure.
    #[must_use]
    pub fn raw(mut self, raw: Option<&Timing>) -> Self {
        self.raw_s = raw.map(|timing| timing.median_s);
        self
    }

    /// The same row, with figures of other systems.
    #[must_use]
    pub fn peers(mut self, peers: impl IntoIterator<Item = Peer>) -> Self {
        self.peer.extend(peers);
        self
    }

    /// The same row, with a note added.
    #[must_use]
    pub fn note(mut self, note: impl AsRef<str>) -> Self {
        if !self.note.is_empty() && !note.as_ref().is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note.as_ref());
        self
    }
}
