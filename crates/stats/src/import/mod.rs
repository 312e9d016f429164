//! Import of formats of other programs: StatsD lines, the Prometheus text format, and JSON lines.

mod done;
mod jsonl;
mod prometheus;
mod reading;
mod statsd;
mod text;

pub(crate) use done::{Done, Part, other};
pub use prometheus::prometheus;
pub use reading::{Format, Report, SKIPPED_TOLD};
pub use statsd::statsd;
pub use text::{Imported, Skipped};
