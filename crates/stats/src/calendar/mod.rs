//! Buckets of time: the sequence of buckets of a granularity, and the bucket of a given time.
//!
//! Buckets are consecutive intervals of time without gaps: each time is in exactly one, and a series follows
//! from the end of one to the next. So a write at a time is always found by a read of a range that contains
//! the time. (The alternative, adding a fixed length to the start of a bucket, yields buckets that no writer
//! fills: at the end of an hour that 33 minutes do not divide, at New Year, and at clock changes.)
//!
//! | unit | where counting begins again | |
//! |---|---|---|
//! | `s` `m` `h` | minute, hour, day of the local clock | `clock_units.rs` |
//! | `d` | 1 January | `date_units.rs` |
//! | `w` | the first day of the week in the year; the days before it are a bucket of their own | |
//! | `mo` `q` | January | |
//! | `y` | the year 0 | |
//!
//! Buckets across clock changes: `1h` has two buckets for a repeated hour; `6h` of that day is an hour
//! longer. A bucket of days begins at the first moment of its first day, which is not always midnight.

mod clock_units;
mod date_units;
mod granularity;
mod time_text;
mod time_zone;
mod timeline;

pub use granularity::{Granularity, Unit};
pub(crate) use time_zone::seconds;
pub use time_zone::{Calendar, Weekday};
pub use timeline::{Bucket, Timeline};
