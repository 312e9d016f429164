//! Telemetry: many series of statistics, with one call a minute each.
//!
//! All calls of a minute are one atomic request, and each goes to buckets of seven granularities. Prometheus and
//! VictoriaMetrics publish the bytes of a sample on disk, which is one number without sums of longer buckets.

mod run;
mod series;

pub use run::{Telemetry, run};
