//! Writes from what other programs say: lines of StatsD, and the text format of Prometheus.

mod prometheus;
mod statsd;
mod text;

pub use prometheus::prometheus;
pub use statsd::statsd;
pub use text::{Imported, Skipped};
