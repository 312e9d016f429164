//! The series, and the sums that the bench expects.

use espalier_stats::{Metric, Number, Path, PathValues, Write};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::trifle::timestamp;
use espalier_terminal::Result;

/// The name of all metrics.
pub const NAME: &str = "interface";

/// Values of a call.
pub const VALUES: u64 = 2;

/// The timestamp of the first call in seconds, the start of a day.
const FIRST_SECOND: i64 = 1_741_132_800;

/// Ports of a device.
const PORTS: u64 = 48;

/// The interfaces of a network.
pub struct Interfaces {
    metrics: Vec<Metric>,
    /// The octets that each one counts in a minute, approximately.
    usual: Vec<i64>,
    paths: [Path; VALUES as usize],
    random: StdRng,
    /// The sum of all values of the first path.
    pub sum: i64,
}

impl Interfaces {
    /// Interfaces with labels for device and port.
    pub fn new(count: u64) -> Result<Self> {
        let mut random = StdRng::seed_from_u64(count);
        let metric = |number: u64| {
            Metric::new(NAME)
                .label("device", format!("router{}", number / PORTS))
                .label("port", format!("ge-0/0/{}", number % PORTS))
        };
        Ok(Self {
            metrics: (0..count).map(metric).collect(),
            usual: (0..count)
                .map(|_| 1 << random.random_range(10..28))
                .collect(),
            paths: [Path::parse("in-octets")?, Path::parse("out-octets")?],
            random,
            sum: 0,
        })
    }

    /// The metrics.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The path of [`Self::sum`].
    pub fn path(&self) -> &Path {
        &self.paths[0]
    }

    /// The calls of a minute.
    pub fn writes(&mut self, minute: u64) -> Result<Vec<Write>> {
        let at = timestamp(second(minute))?;
        let mut writes = Vec::with_capacity(self.metrics.len());
        for (metric, usual) in self.metrics.iter().zip(&self.usual) {
            let mut octets = || usual + self.random.random_range(-usual / 10..=usual / 10);
            let octets = [octets(), octets()];
            self.sum += octets[0];
            let values = self.paths.iter().cloned().zip(octets.map(Number::from));
            let values: PathValues = values.collect();
            writes.push(Write::track(metric.clone(), at, values));
        }
        Ok(writes)
    }
}

/// The second of a minute.
pub fn second(minute: u64) -> i64 {
    FIRST_SECOND + 60 * minute as i64
}
