//! Buckets of days, weeks, months, quarters and years: intervals of the calendar.
//!
//! A bucket begins at the first moment of its first day. If midnight does not exist, that is the moment when
//! the clock was put forward; if it occurs twice, the first one. A time belongs to the last bucket that has
//! begun.

use jiff::civil::{Date, Weekday as CivilWeekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp};

use super::{Calendar, Granularity, Unit, Weekday};

type Result<T> = std::result::Result<T, jiff::Error>;

/// The bucket that contains `at`, in seconds since 1970.
pub(super) fn bounds(calendar: &Calendar, granularity: Granularity, at: i64) -> Result<(i64, i64)> {
    let zone = &calendar.zone;
    let local = zone.to_datetime(Timestamp::from_second(at)?).date();
    let mut segment = Segment::around(calendar, granularity, local)?;
    let mut start = first_moment(zone, segment.first)?;
    while start > at {
        segment = Segment::around(calendar, granularity, segment.first.yesterday()?)?;
        start = first_moment(zone, segment.first)?;
    }
    let mut end = first_moment(zone, segment.after)?;
    while end <= at {
        segment = Segment::around(calendar, granularity, segment.after)?;
        (start, end) = (end, first_moment(zone, segment.after)?);
    }
    Ok((start, end))
}

/// The days of one bucket.
struct Segment {
    first: Date,
    after: Date,
}

impl Segment {
    fn around(calendar: &Calendar, granularity: Granularity, date: Date) -> Result<Self> {
        let count = i64::from(granularity.count());
        match granularity.unit() {
            Unit::Week => Self::weeks(date, count, calendar.week_begins),
            Unit::Month => Self::months(date, count),
            Unit::Quarter => Self::months(date, 3 * count),
            Unit::Year => Self::years(date, count),
            _ => Self::steps(date, date.first_of_year(), count),
        }
    }

    /// Steps of a number of days from `origin`, cut off at New Year.
    fn steps(date: Date, origin: Date, days: i64) -> Result<Self> {
        let since = i64::from(origin.until(date)?.get_days());
        let first = origin.checked_add(Span::new().days(since / days * days))?;
        let after = first.saturating_add(Span::new().days(days));
        Ok(Self {
            first,
            after: after.min(next_year(date)),
        })
    }

    fn weeks(date: Date, count: i64, begins: Weekday) -> Result<Self> {
        let new_year = date.first_of_year();
        let wait = civil(begins).since(new_year.weekday());
        let origin = new_year.checked_add(Span::new().days(i64::from(wait)))?;
        if date < origin {
            return Ok(Self {
                first: new_year,
                after: origin,
            });
        }
        Self::steps(date, origin, 7 * count)
    }

    fn months(date: Date, count: i64) -> Result<Self> {
        let month = i64::from(date.month() - 1) / count * count;
        let first = date
            .first_of_year()
            .checked_add(Span::new().months(month))?;
        let after = first.saturating_add(Span::new().months(count));
        Ok(Self {
            first,
            after: after.min(next_year(date)),
        })
    }

    fn years(date: Date, count: i64) -> Result<Self> {
        let year = i64::from(date.year()).div_euclid(count) * count;
        let year = i16::try_from(year).unwrap_or(0);
        let first = Date::new(year, 1, 1)?;
        Ok(Self {
            first,
            after: first.saturating_add(Span::new().years(count)),
        })
    }
}

fn next_year(date: Date) -> Date {
    date.first_of_year().saturating_add(Span::new().years(1))
}

/// The first moment of a day, or of the next day that exists.
fn first_moment(zone: &TimeZone, date: Date) -> Result<i64> {
    let midnight = date.at(0, 0, 0, 0);
    let moment = match zone.to_ambiguous_timestamp(midnight).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(midnight)?,
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(midnight)?,
        AmbiguousOffset::Gap { before, after } => {
            let earlier = after.to_timestamp(midnight)?;
            let change = zone.following(earlier).next();
            change.map_or(before.to_timestamp(midnight)?, |change| change.timestamp())
        }
    };
    Ok(moment.as_second())
}

fn civil(day: Weekday) -> CivilWeekday {
    match day {
        Weekday::Monday => CivilWeekday::Monday,
        Weekday::Tuesday => CivilWeekday::Tuesday,
        Weekday::Wednesday => CivilWeekday::Wednesday,
        Weekday::Thursday => CivilWeekday::Thursday,
        Weekday::Friday => CivilWeekday::Friday,
        Weekday::Saturday => CivilWeekday::Saturday,
        Weekday::Sunday => CivilWeekday::Sunday,
    }
}
