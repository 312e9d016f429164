//! StatsD lines: `name:value|type|@rate|#tag:value,tag`.
//!
//! | type | becomes |
//! |---|---|
//! | `c` | `count` is added to, by the value divided by the sampling rate |
//! | `g` | `value` is set; with a sign it is added to |
//! | `ms` `h` `d` | `count` and `sum` are added to, and `value` observed in a sketch |
//! | `s` | `members` gets the value as a name, with 1 |
//!
//! Of the further parts of dialects, `T` is when it was so, in seconds since 1970; `c:` `e:` and `card:`
//! say where a line comes from, and are read past.

use super::text::{Imported, put_label};
use crate::{Error, Metric, Number, Packed, Path, Result, Timestamp, Write};

/// Parts of a line that say where it comes from.
const ORIGINS: [&str; 3] = ["c:", "e:", "card:"];

/// The writes that StatsD lines mean; at the given time where a line has none.
pub fn statsd(text: &str, at: Timestamp) -> Imported {
    Imported::read(text, |line| writes(line, at))
}

pub(super) fn writes(line: &str, at: Timestamp) -> Result<Vec<Write>> {
    let line = Line::parse(line)?;
    line.writes(line.at.unwrap_or(at))
}

struct Line<'a> {
    metric: Metric,
    values: Vec<&'a str>,
    kind: &'a str,
    rate: Number,
    at: Option<Timestamp>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Result<Self> {
        let mut parts = line.split('|');
        let head = parts.next().unwrap_or_default();
        let (name, values) = head
            .split_once(':')
            .ok_or_else(|| Error::syntax("a line has a name, a colon and a value"))?;
        let kind = parts
            .next()
            .ok_or_else(|| Error::syntax("a line has a type after the value"))?;
        let mut line = Self {
            metric: Metric::new(name),
            values: values.split(':').collect(),
            kind,
            rate: Number::ONE,
            at: None,
        };
        for part in parts {
            line.option(part)?;
        }
        line.metric.check()?;
        Ok(line)
    }

    fn option(&mut self, part: &str) -> Result<()> {
        if let Some(rate) = part.strip_prefix('@') {
            self.rate = rate.parse()?;
            if self.rate <= Number::ZERO || self.rate > Number::ONE {
                return Err(Error::syntax(format!(
                    "{rate} is no sampling rate; it is over 0 and at most 1"
                )));
            }
        } else if let Some(tags) = part.strip_prefix('#') {
            for tag in tags.split(',').filter(|tag| !tag.is_empty()) {
                let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
                put_label(&mut self.metric, name, value.to_owned())?;
            }
        } else if let Some(seconds) = part.strip_prefix('T') {
            let at = seconds.parse().ok();
            let at = at.and_then(|seconds| Timestamp::from_second(seconds).ok());
            let wrong = || Error::syntax(format!("{part:?} is no time in seconds since 1970"));
            self.at = Some(at.ok_or_else(wrong)?);
        } else if !ORIGINS.iter().any(|origin| part.starts_with(origin)) {
            let shown: String = part.chars().take(40).collect();
            return Err(Error::syntax(format!(
                "{shown:?} is none of @rate, #tags and Ttime"
            )));
        }
        Ok(())
    }

    fn writes(&self, at: Timestamp) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        for value in &self.values {
            match self.kind {
                "c" => writes.push(self.track(at, [("count", self.sampled(value.parse()?)?)])?),
                "g" => writes.push(self.gauge(at, value)?),
                "ms" | "h" | "d" => writes.extend(self.timing(at, value.parse()?)?),
                "s" => {
                    let member = Packed::one(Path::of(["members", value])?, Number::ONE);
                    writes.push(Write::assert(self.metric.clone(), at, member));
                }
                kind => {
                    let shown: String = kind.chars().take(20).collect();
                    return Err(Error::syntax(format!(
                        "{shown:?} is no type; there are c, g, ms, h, d and s"
                    )));
                }
            }
        }
        Ok(writes)
    }

    fn sampled(&self, value: Number) -> Result<Number> {
        value
            .divide(self.rate)
            .ok_or_else(|| Error::syntax("the value divided by the rate is no number"))
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
        let number = value.parse()?;
        if value.starts_with(['+', '-']) {
            return self.track(at, [("value", number)]);
        }
        let values = Packed::one(Path::of(["value"])?, number);
        Ok(Write::assert(self.metric.clone(), at, values))
    }

    fn timing(&self, at: Timestamp, value: Number) -> Result<[Write; 2]> {
        let (count, sum) = (self.sampled(Number::ONE)?, self.sampled(value)?);
        let observed = Packed::one(Path::of(["value"])?, value);
        Ok([
            self.track(at, [("count", count), ("sum", sum)])?,
            Write::observe(self.metric.clone(), at, observed),
        ])
    }
}
