//! What the clients measured.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::harness::Timing;
use espalier_terminal::{Failure, Result};

/// The longest latency that is recorded exactly, in nanoseconds: a minute.
const LATENCY_MAX_NS: u64 = 60_000_000_000;

/// The number of significant digits of latencies.
const DIGITS: u8 = 3;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
}

/// The requests of all clients, from the end of the warm-up to the end.
pub struct Measured {
    reads: Histogram<u64>,
    writes: Histogram<u64>,
    /// The requests of each second.
    pub seconds: Vec<u64>,
    /// Requests with the response 503.
    pub rejected: u64,
}

impl Measured {
    pub fn new() -> Result<Self> {
        let latencies = Histogram::new_with_bounds(1_000, LATENCY_MAX_NS, DIGITS);
        let latencies =
            latencies.map_err(|error| Failure::data(format!("the histogram: {error}")))?;
        Ok(Self {
            reads: latencies.clone(),
            writes: latencies,
            seconds: Vec::new(),
            rejected: 0,
        })
    }

    /// Records a request that ended `at` after the end of the warm-up.
    pub fn record(&mut self, kind: Kind, latency: Duration, at: Duration) {
        let latency = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        match kind {
            Kind::Read => self.reads.saturating_record(latency),
            Kind::Write => self.writes.saturating_record(latency),
        }
        let second = at.as_secs() as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += 1;
    }

    /// The number of requests a second.
    pub fn rate(&self, measured: Duration) -> f64 {
        self.requests() as f64 / measured.as_secs_f64()
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.reads.len() + self.writes.len()
    }

    fn of(&self, kind: Kind) -> &Histogram<u64> {
        match kind {
            Kind::Read => &self.reads,
            Kind::Write => &self.writes,
        }
    }

    /// The latency that a part of the requests of a kind do not exceed, in seconds.
    pub fn quantile(&self, kind: Kind, part: f64) -> f64 {
        self.of(kind).value_at_quantile(part) as f64 / 1e9
    }

    /// The latencies of the requests of a kind, with the processor time of the server for a request of any kind.
    pub fn timing(&self, kind: Kind, cpu: Duration) -> Result<Timing> {
        let latencies = self.of(kind);
        if latencies.is_empty() {
            return Err(Failure::data("no request succeeded"));
        }
        Ok(Timing {
            n: latencies.len(),
            median_s: self.quantile(kind, 0.5),
            min_s: latencies.min() as f64 / 1e9,
            p99_s: self.quantile(kind, 0.99),
            cpu_s: cpu.as_secs_f64() / self.requests() as f64,
            peak_bytes: 0,
        })
    }
}
