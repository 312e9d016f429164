//! Statistics: numbers in time buckets, which are added up or set, and read as series.
//!
//! A [`Write`] has a metric, a time and values; it goes to one bucket of each granularity of the store (the
//! minute, the hour, the day, ... of the time), in one atomic commit. A range of buckets of one granularity
//! is read by one scan. No bucket is computed from other buckets, so reading a year costs what reading a
//! minute costs.
//!
//! The newest buckets of a metric, of all granularities, are one row; older ones are in rows of 128 buckets (`packed/`,
//! docs/decisions/0077). A bucket with many values is one row of its own (`row/`, docs/decisions/0039). A write reads what
//! it changes: the engine does not add.
//!
//! This crate depends on a key space only: it has no data trees and no models. Its inputs are a driver and a
//! key prefix.

mod bucket_reader;
mod buffer;
mod calendar;
mod check;
mod clock;
mod commit;
mod designator;
mod error;
mod expiry;
mod flat_values;
pub mod import;
mod json_write;
mod layout;
pub mod limits;
mod metric;
mod metric_list;
mod nested_values;
mod number;
pub mod output;
mod packed;
mod path;
mod query;
mod read_values;
mod retention_clock;
mod row;
mod series;
mod settings;
mod sketch;
mod sketch_points;
mod stats;
mod status;
mod write;

pub use buffer::{Buffer, Limits, Refused};
pub use calendar::{Bucket, Calendar, Granularity, Timeline, Unit, Weekday};
pub use clock::{Clock, SystemClock};
pub use designator::Designator;
pub use error::{Error, ErrorKind, Result};
pub use expiry::Expired;
pub use flat_values::PathValues;
pub use jiff::Timestamp;
pub use json_write::{JsonWrite, Verb};
pub use metric::{Metric, SYSTEM_METRIC, UNTRACKED};
pub use nested_values::NestedValues;
pub use number::{Decimal, Number};
pub use path::{Path, Pattern, PatternMatch};
pub use query::{Group, Query};
pub use read_values::{EmptyBuckets, Point, Range};
pub use series::{Aggregate, Categories, Expression, Series, Timelines};
pub use settings::{Settings, SystemMetric};
pub use sketch::Sketch;
pub use sketch_points::SketchPoint;
pub use stats::Stats;
pub use status::{Beamed, Status};
pub use write::{Action, Listing, Outcome, Request, Write};
