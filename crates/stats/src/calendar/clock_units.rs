//! Buckets of seconds, minutes and hours: intervals of the local clock.
//!
//! The clock face is divided into segments: `6h` into 00:00 to 06:00, 06:00 to 12:00, and so on. A bucket
//! begins when the clock enters a segment. If the clock is put forward over the start of a segment, the
//! bucket begins at that moment. If it is put back within a segment, the bucket continues; if it is put back
//! to the start of a segment or to an earlier one, a new bucket begins, so that a repeated hour has two
//! buckets.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Granularity, Unit};

type Bounds = Result<(i64, i64), jiff::Error>;

/// The bucket that contains `at`, in seconds since 1970.
pub(super) fn bounds(zone: &TimeZone, granularity: Granularity, at: i64) -> Bounds {
    let clock = Clock { zone };
    let offset = clock.offset(at)?;
    let segment = Segment::around(granularity, at + offset);
    Ok((
        clock.start(segment, at, offset)?,
        clock.end(segment, at, offset)?,
    ))
}

/// A period without a clock change: its buckets follow from the offset alone.
#[derive(Clone, Copy)]
pub(super) struct ConstantOffset {
    /// The first second, and the first after it.
    from: i64,
    to: i64,
    offset: i64,
}

impl ConstantOffset {
    /// The period that contains `at`.
    pub(super) fn around(zone: &TimeZone, at: i64) -> Result<Self, jiff::Error> {
        let clock = Clock { zone };
        Ok(Self {
            from: clock.last_change(at)?.unwrap_or(i64::MIN),
            to: clock.next_change(at)?.unwrap_or(i64::MAX),
            offset: clock.offset(at)?,
        })
    }

    /// The bucket that contains `at`, in seconds since 1970; `None` if it is cut by a clock change or
    /// contains one.
    pub(super) fn bounds(self, granularity: Granularity, at: i64) -> Option<(i64, i64)> {
        let segment = Segment::around(granularity, at + self.offset);
        let bounds = (segment.from - self.offset, segment.to - self.offset);
        (self.from <= bounds.0 && bounds.1 < self.to).then_some(bounds)
    }
}

/// A segment of the clock face, in seconds since 1970 at a constant offset.
#[derive(Clone, Copy)]
struct Segment {
    from: i64,
    to: i64,
}

impl Segment {
    fn around(granularity: Granularity, local: i64) -> Self {
        let (unit, anchor) = match granularity.unit() {
            Unit::Second => (1, 60),
            Unit::Minute => (60, 3600),
            _ => (3600, 86_400),
        };
        let length = unit * i64::from(granularity.count());
        let origin = local.div_euclid(anchor) * anchor;
        let from = origin + (local - origin) / length * length;
        Self {
            from,
            to: (from + length).min(origin + anchor),
        }
    }
}

struct Clock<'a> {
    zone: &'a TimeZone,
}

impl Clock<'_> {
    fn offset(&self, at: i64) -> Result<i64, jiff::Error> {
        let at = Timestamp::from_second(at)?;
        Ok(i64::from(self.zone.to_offset(at).seconds()))
    }

    fn start(&self, segment: Segment, at: i64, mut offset: i64) -> Result<i64, jiff::Error> {
        let mut now = at;
        loop {
            let entered = segment.from - offset;
            let Some(changed) = self.last_change(now)?.filter(|&change| change > entered) else {
                return Ok(entered);
            };
            let before = self.offset(changed - 1)?;
            let read_before = changed + before;
            let jumped_in = before < offset && read_before <= segment.from;
            let put_back_from_beyond = before > offset && read_before > segment.to;
            if jumped_in || put_back_from_beyond {
                return Ok(changed);
            }
            offset = before;
            now = changed - 1;
        }
    }

    fn end(&self, segment: Segment, at: i64, mut offset: i64) -> Result<i64, jiff::Error> {
        let mut now = at;
        loop {
            let left = segment.to - offset;
            let Some(changed) = self.next_change(now)?.filter(|&change| change <= left) else {
                return Ok(left);
            };
            let after = self.offset(changed)?;
            let read_after = changed + after;
            let jumped_out = after > offset && read_after >= segment.to;
            let put_back_to_start = after < offset && read_after <= segment.from;
            if jumped_out || put_back_to_start {
                return Ok(changed);
            }
            offset = after;
            now = changed;
        }
    }

    /// The time of the last clock change at or before `at`.
    fn last_change(&self, at: i64) -> Result<Option<i64>, jiff::Error> {
        let from = Timestamp::from_second(at + 1)?;
        let change = self.zone.preceding(from).next();
        Ok(change.map(|change| change.timestamp().as_second()))
    }

    /// The time of the first clock change after `at`.
    fn next_change(&self, at: i64) -> Result<Option<i64>, jiff::Error> {
        let from = Timestamp::from_second(at)?;
        let change = self.zone.following(from).next();
        Ok(change.map(|change| change.timestamp().as_second()))
    }
}
