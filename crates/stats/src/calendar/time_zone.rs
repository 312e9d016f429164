//! The calendar: a time zone and the first day of weeks, which together determine the buckets.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::clock_units::ConstantOffset;
use super::{Bucket, Granularity, Timeline, clock_units, date_units};
use crate::limits::{TIME_MAX, TIME_MIN};
use crate::{Error, Result};

/// A day of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weekday {
    /// Monday.
    #[default]
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

impl Weekday {
    /// All seven, from Monday.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// The name, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Monday => "monday",
            Self::Tuesday => "tuesday",
            Self::Wednesday => "wednesday",
            Self::Thursday => "thursday",
            Self::Friday => "friday",
            Self::Saturday => "saturday",
            Self::Sunday => "sunday",
        }
    }
}

impl FromStr for Weekday {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|day| day.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| Error::syntax(format!("{text:?} is not a day of the week")))
    }
}

impl fmt::Display for Weekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A time zone and the first day of weeks.
#[derive(Clone, Debug)]
pub struct Calendar {
    pub(super) zone: TimeZone,
    pub(super) week_begins: Weekday,
    name: String,
}

impl Calendar {
    /// The calendar of an IANA time zone, such as `Europe/Prague` or `UTC`.
    pub fn new(zone: &str, week_begins: Weekday) -> Result<Self> {
        let found = TimeZone::get(zone).map_err(|_| {
            let message =
                format!("{zone:?} is not a time zone; write one such as Europe/Prague or UTC");
            Error::syntax(message)
        })?;
        Ok(Self {
            name: found.iana_name().unwrap_or(zone).to_owned(),
            zone: found,
            week_begins,
        })
    }

    /// The name of the time zone.
    pub fn zone_name(&self) -> &str {
        &self.name
    }

    /// The time zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The first day of weeks.
    pub fn week_begins(&self) -> Weekday {
        self.week_begins
    }

    /// The bucket that contains a time.
    pub fn bucket(&self, granularity: Granularity, at: Timestamp) -> Result<Bucket> {
        let at = seconds(at);
        if !(TIME_MIN..TIME_MAX).contains(&at) {
            let message = "the time is out of range: buckets exist for the years 1 to 9900";
            return Err(Error::limit(message));
        }
        let bounds = if granularity.unit().is_clock_unit() {
            clock_units::bounds(&self.zone, granularity, at)
        } else {
            date_units::bounds(self, granularity, at)
        };
        let (start, end) = bounds.map_err(|error| Error::argument(error.to_string()))?;
        Ok(Bucket { start, end })
    }

    /// The period without a clock change that contains `at`, if it can be determined.
    pub(super) fn constant_offset(&self, at: i64) -> Option<ConstantOffset> {
        ConstantOffset::around(&self.zone, at).ok()
    }

    /// The buckets from that of `from` to that of `to`.
    pub fn timeline(
        &self,
        granularity: Granularity,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Timeline<'_>> {
        if to < from {
            return Err(Error::argument(format!(
                "the range ends at {to}, before it begins at {from}"
            )));
        }
        let first = self.bucket(granularity, from)?;
        let last = self.bucket(granularity, to)?;
        Ok(Timeline::new(self, granularity, first, last))
    }
}

/// Whole seconds since 1970, rounded down.
pub(crate) fn seconds(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}
