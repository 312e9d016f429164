//! Import of formats of other programs: StatsD lines, the Prometheus text format, and JSON lines.

mod jsonl;
mod parsed_text;
mod progress;
mod prometheus;
mod run;
mod statsd;

pub use parsed_text::{Imported, Skipped};
pub(crate) use progress::{ImportPart, ImportProgress, name_in_use};
pub use prometheus::prometheus;
pub use run::{Format, Import, Report, SKIPPED_REPORTED_MAX};
pub use statsd::statsd;
