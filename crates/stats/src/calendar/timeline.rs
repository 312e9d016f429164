//! Iteration over consecutive buckets.

use jiff::Timestamp;

use super::clock_units::ConstantOffset;
use super::{Calendar, Granularity};
use crate::Result;

/// An interval of time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// Its first second.
    pub start: i64,
    /// The first second after it.
    pub end: i64,
}

impl Bucket {
    /// The start time.
    pub fn begins(self) -> Timestamp {
        Timestamp::from_second(self.start).unwrap_or(Timestamp::MIN)
    }
}

// Adding a length to a start finds buckets that no writer fills: docs/decisions/0040.
/// The buckets of a range, in order.
pub struct Timeline<'a> {
    calendar: &'a Calendar,
    granularity: Granularity,
    next: Option<Bucket>,
    /// The first and last bucket of the range.
    first: Bucket,
    last: Bucket,
    /// For seconds, minutes and hours: the last period without a clock change.
    constant_offset: Option<ConstantOffset>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(
        calendar: &'a Calendar,
        granularity: Granularity,
        first: Bucket,
        last: Bucket,
    ) -> Self {
        Self {
            calendar,
            granularity,
            next: Some(first),
            first,
            last,
            constant_offset: None,
        }
    }

    /// The first bucket.
    pub fn first_bucket(&self) -> Bucket {
        self.first
    }

    /// The last bucket.
    pub fn last_bucket(&self) -> Bucket {
        self.last
    }

    fn after(&mut self, bucket: Bucket) -> Result<Option<Bucket>> {
        if bucket.start >= self.last.start {
            return Ok(None);
        }
        let at = bucket.end;
        let constant_offset = self.constant_offset.as_ref();
        if let Some((start, end)) =
            constant_offset.and_then(|constant_offset| constant_offset.bounds(self.granularity, at))
        {
            return Ok(Some(Bucket { start, end }));
        }
        let next = Bucket { start: at, end: at };
        let next = self.calendar.bucket(self.granularity, next.begins())?;
        if self.granularity.unit().is_clock_unit() {
            self.constant_offset = self.calendar.constant_offset(next.start);
        }
        Ok(Some(next))
    }
}

impl Iterator for Timeline<'_> {
    type Item = Result<Bucket>;

    fn next(&mut self) -> Option<Self::Item> {
        let bucket = self.next.take()?;
        match self.after(bucket) {
            Ok(next) => {
                self.next = next;
                Some(Ok(bucket))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
