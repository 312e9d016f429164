//! Granularities: `1m`, `12h`, `1mo`.

use std::fmt;
use std::str::FromStr;

use crate::limits::GRANULARITY_COUNT_MAX;
use crate::{Error, Result};

/// The unit of a granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Seconds, from the start of the minute.
    Second,
    /// Minutes, from the start of the hour.
    Minute,
    /// Hours, from the start of the day.
    Hour,
    /// Days, from 1 January.
    Day,
    /// Weeks, from the first in the year.
    Week,
    /// Months, from January.
    Month,
    /// Quarters, from January.
    Quarter,
    /// Years, from the year 0.
    Year,
}

impl Unit {
    const ALL: [Self; 8] = [
        Self::Second,
        Self::Minute,
        Self::Hour,
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Quarter,
        Self::Year,
    ];

    /// Whether buckets are intervals of the clock, not whole days.
    pub(crate) fn is_clock_unit(self) -> bool {
        matches!(self, Self::Second | Self::Minute | Self::Hour)
    }

    /// The text form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "m",
            Self::Hour => "h",
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "mo",
            Self::Quarter => "q",
            Self::Year => "y",
        }
    }

    /// The id of the unit in keys; never reused.
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Second => 1,
            Self::Minute => 2,
            Self::Hour => 3,
            Self::Day => 4,
            Self::Week => 5,
            Self::Month => 6,
            Self::Quarter => 7,
            Self::Year => 8,
        }
    }

    /// The unit with an id.
    pub(crate) fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.id() == id)
    }

    /// Its usual length in seconds: months have 30 days, quarters 90, years 360.
    fn usual_seconds(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
            Self::Week => 7 * 86_400,
            Self::Month => 30 * 86_400,
            Self::Quarter => 90 * 86_400,
            Self::Year => 360 * 86_400,
        }
    }
}

/// The length of the buckets of a series: a count of units. Ordered by length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Granularity {
    unit: Unit,
    count: u32,
}

impl Granularity {
    /// Buckets of `count` units.
    pub fn new(count: u32, unit: Unit) -> Result<Self> {
        if count == 0 {
            return Err(Error::syntax("a bucket cannot have the length 0"));
        }
        if count > GRANULARITY_COUNT_MAX {
            return Err(too_long(&count.to_string()));
        }
        Ok(Self { unit, count })
    }

    /// The unit.
    pub fn unit(self) -> Unit {
        self.unit
    }

    /// The count of units.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The usual length of a bucket in seconds; see [`Unit::usual_seconds`].
    pub(crate) fn usual_seconds(self) -> i64 {
        i64::from(self.count) * self.unit.usual_seconds()
    }

    /// The default granularities of a new store: a minute, an hour, a day, a week, a month, a quarter, a
    /// year.
    pub fn usual() -> Vec<Self> {
        let units = Unit::ALL[1..].iter();
        units.map(|&unit| Self { unit, count: 1 }).collect()
    }
}

impl FromStr for Granularity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.split_at(digits);
        let unit = Unit::ALL
            .into_iter()
            .find(|candidate| candidate.as_str() == unit);
        let unit = unit.filter(|_| digits > 0).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::syntax(format!(
                "{shown:?} is not a granularity; write a number and s, m, h, d, w, mo, q or y, such as 15m"
            ))
        })?;
        // A number that does not parse has too many digits.
        let count = count.parse().map_err(|_| too_long(count))?;
        Self::new(count, unit)
    }
}

fn too_long(count: &str) -> Error {
    let shown: String = count.chars().take(40).collect();
    Error::limit(format!(
        "{shown} exceeds the limit of {GRANULARITY_COUNT_MAX} units"
    ))
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit.as_str())
    }
}
