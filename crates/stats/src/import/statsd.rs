//! StatsD lines: `name:value|type|@rate|#tag:value,tag`. A line may have several values, in the syntax of
//! StatsD (`name:1|c:2|ms|@0.1:3|c`) and in that of DogStatsD (`name:1:2|c`); tags and time apply to all of
//! them.
//!
//! | type | becomes |
//! |---|---|
//! | `c` | `count` increases by the value divided by the sampling rate |
//! | `g` | `value` is set; with a sign it is added to the latest value, which may be in an earlier bucket |
//! | `ms` `h` `d` | `count` and `sum` increase, and `value` is added to a sketch |
//! | `s` | `members` gets an entry named by the value, with 1 |
//!
//! Of the extensions in dialects, `T` is the time in seconds since 1970; `c:`, `e:` and `card:` give the
//! origin of a line, and are ignored.

use std::mem;

use super::parsed_text::{Imported, put_label};
use crate::{Error, Metric, Number, Path, PathValues, Result, Timestamp, Write};

/// Prefixes of the parts of a line that give its origin.
const ORIGINS: [&str; 3] = ["c:", "e:", "card:"];

/// Parses StatsD lines into writes; lines without a time get the given one.
pub fn statsd(text: &str, at: Timestamp) -> Imported {
    Imported::read(text, |line| writes(line, at))
}

pub(super) fn writes(line: &str, at: Timestamp) -> Result<Vec<Write>> {
    let line = Line::parse(line)?;
    line.writes(line.at.unwrap_or(at))
}

struct Line<'a> {
    metric: Metric,
    groups: Vec<Group<'a>>,
    at: Option<Timestamp>,
}

/// Values of one type.
struct Group<'a> {
    /// Separated by colons.
    values: &'a str,
    kind: Option<&'a str>,
    rate: Number,
}

impl<'a> Group<'a> {
    fn new(values: &'a str) -> Self {
        Self {
            values,
            kind: None,
            rate: Number::ONE,
        }
    }
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Result<Self> {
        let mut parts = line.split('|');
        let head = parts.next().unwrap_or_default();
        let (name, values) = head
            .split_once(':')
            .ok_or_else(|| Error::syntax("a line needs a name, a colon and a value"))?;
        let mut line = Self {
            metric: Metric::new(name),
            groups: Vec::new(),
            at: None,
        };
        let mut group = Group::new(values);
        for part in parts {
            // After a colon in a type or a rate there are more values.
            let (own, further) = match part.split_once(':') {
                Some((own, further)) => (own, Some(further)),
                None => (part, None),
            };
            match (group.kind, own.strip_prefix('@')) {
                (None, _) => group.kind = Some(own),
                (Some(_), Some(rate)) => group.rate = sampling_rate(rate)?,
                (Some(_), None) => {
                    line.option(part)?;
                    continue;
                }
            }
            if let Some(further) = further {
                let ended = mem::replace(&mut group, Group::new(further));
                line.groups.push(ended);
            }
        }
        line.groups.push(group);
        line.metric.check()?;
        Ok(line)
    }

    fn option(&mut self, part: &str) -> Result<()> {
        if let Some(tags) = part.strip_prefix('#') {
            for tag in tags.split(',').filter(|tag| !tag.is_empty()) {
                let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
                put_label(&mut self.metric, name, value.to_owned())?;
            }
        } else if let Some(seconds) = part.strip_prefix('T') {
            let at = seconds.parse().ok();
            let at = at.and_then(|seconds| Timestamp::from_second(seconds).ok());
            let wrong = || Error::syntax(format!("{part:?} is not a time in seconds since 1970"));
            self.at = Some(at.ok_or_else(wrong)?);
        } else if !ORIGINS.iter().any(|origin| part.starts_with(origin)) {
            let shown: String = part.chars().take(40).collect();
            return Err(Error::syntax(format!(
                "{shown:?} is not one of @rate, #tags and Ttime"
            )));
        }
        Ok(())
    }

    fn writes(&self, at: Timestamp) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        for group in &self.groups {
            for value in group.values.split(':') {
                self.value(at, group, value, &mut writes)?;
            }
        }
        Ok(writes)
    }

    fn value(
        &self,
        at: Timestamp,
        group: &Group<'_>,
        value: &str,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        match group.kind {
            Some("c") => {
                let count = sampled(value.parse()?, group.rate)?;
                writes.push(self.track(at, [("count", count)])?);
            }
            Some("g") => writes.push(self.gauge(at, value)?),
            Some("ms" | "h" | "d") => {
                writes.extend(self.timing(at, value.parse()?, group.rate)?);
            }
            Some("s") => {
                let member = PathValues::one(Path::of(["members", value])?, Number::ONE);
                writes.push(Write::assert(self.metric.clone(), at, member));
            }
            Some(kind) => {
                let shown: String = kind.chars().take(20).collect();
                return Err(Error::syntax(format!(
                    "{shown:?} is not a type; use c, g, ms, h, d or s"
                )));
            }
            None => return Err(Error::syntax("a line needs a type after the value")),
        }
        Ok(())
    }

    fn track<const N: usize>(&self, at: Timestamp, values: [(&str, Number); N]) -> Result<Write> {
        let values = values
            .into_iter()
            .map(|(name, number)| Ok((Path::of([name])?, number)));
        Ok(Write::track(
            self.metric.clone(),
            at,
            values.collect::<Result<_>>()?,
        ))
    }

    fn gauge(&self, at: Timestamp, value: &str) -> Result<Write> {
        let values = PathValues::one(Path::of(["value"])?, value.parse()?);
        let metric = self.metric.clone();
        Ok(match value.starts_with(['+', '-']) {
            true => Write::adjust(metric, at, values),
            false => Write::assert(metric, at, values),
        })
    }

    fn timing(&self, at: Timestamp, value: Number, rate: Number) -> Result<[Write; 2]> {
        let (count, sum) = (sampled(Number::ONE, rate)?, sampled(value, rate)?);
        let observed = PathValues::one(Path::of(["value"])?, value);
        Ok([
            self.track(at, [("count", count), ("sum", sum)])?,
            Write::observe(self.metric.clone(), at, observed),
        ])
    }
}

fn sampling_rate(text: &str) -> Result<Number> {
    let rate = text.parse()?;
    if rate <= Number::ZERO || rate > Number::ONE {
        return Err(Error::syntax(format!(
            "{text} is not a sampling rate; it must be greater than 0 and at most 1"
        )));
    }
    Ok(rate)
}

/// Scales a sampled value up to the estimated total.
fn sampled(value: Number, rate: Number) -> Result<Number> {
    value
        .divide(rate)
        .ok_or_else(|| Error::syntax("the value divided by the rate is out of range"))
}
