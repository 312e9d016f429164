//! Buckets of time: which there are at a granularity, and which one a time lies in.
//!
//! Buckets are intervals of time that follow one another without a gap: each time lies in exactly
//! one, and a series is found by going from the end of one to the next. So what is written at a
//! time is always found by a reading of a range that holds the time. (The alternative, adding a
//! length to the start of a bucket, meets buckets that no writer fills: at the end of an hour
//! that 33 minutes do not divide, at New Year, and where clocks are changed.)
//!
//! | unit | where counting begins again | |
//! |---|---|---|
//! | `s` `m` `h` | minute, hour, day of the local clock | `clock_units.rs` |
//! | `d` | 1 January | `date_units.rs` |
//! | `w` | the first day of the week in the year; the days before it are a bucket of their own | |
//! | `mo` `q` | January | |
//! | `y` | the year 0 | |
//!
//! Buckets that the clock crosses: `1h` has two buckets for an hour that comes twice; `6h` of
//! that day is an hour longer. A bucket of days begins with the first moment of its first day,
//! which is not always midnight.

mod clock_units;
mod date_units;
mod granularity;
mod text;
mod timeline;
mod zone;

pub use granularity::{Granularity, Unit};
pub use timeline::{Bucket, Timeline};
pub(crate) use zone::seconds;
pub use zone::{Calendar, Weekday};
