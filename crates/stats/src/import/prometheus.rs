//! The text format of Prometheus: `name{label="value"} number [milliseconds]`.
//!
//! Prometheus exposes gauge readings (counters as well: the total since the start), so `value` is set, and a
//! bucket holds the last reading in it. Histograms and summaries are stored as the several metrics in which
//! they are exposed. Comments are skipped. `NaN` and infinities are rejected.

use super::parsed_text::{Imported, put_label};
use crate::{Error, Metric, Number, Path, PathValues, Result, Timestamp, Write};

/// Parses a text into writes; lines without a time get the given one.
pub fn prometheus(text: &str, at: Timestamp) -> Imported {
    Imported::read(text, |line| writes(line, at))
}

pub(super) fn writes(line: &str, at: Timestamp) -> Result<Vec<Write>> {
    if line.starts_with('#') {
        return Ok(Vec::new());
    }
    sample(line, at).map(|write| vec![write])
}

fn sample(line: &str, at: Timestamp) -> Result<Write> {
    let end = line
        .find(|letter: char| letter == '{' || letter.is_whitespace())
        .ok_or_else(|| Error::syntax("a line needs a name and a number"))?;
    let (name, mut rest) = line.split_at(end);
    let mut metric = Metric::new(name);
    if let Some(labels) = rest.trim_start().strip_prefix('{') {
        rest = take_labels(labels, &mut metric)?;
    }
    metric.check()?;
    let mut words = rest.split_whitespace();
    let number: Number = words
        .next()
        .ok_or_else(|| Error::syntax("a number is missing"))?
        .parse()?;
    let at = match words.next().map(str::parse) {
        None => at,
        Some(Ok(milliseconds)) => Timestamp::from_millisecond(milliseconds)
            .map_err(|_| Error::syntax("the time is out of range"))?,
        Some(Err(_)) => return Err(Error::syntax("the time is not a number of milliseconds")),
    };
    if words.next().is_some() {
        return Err(Error::syntax("there is text after the time"));
    }
    Ok(Write::assert(
        metric,
        at,
        PathValues::one(Path::of(["value"])?, number),
    ))
}

/// Parses labels up to the closing bracket; returns the rest of the text.
fn take_labels<'a>(text: &'a str, metric: &mut Metric) -> Result<&'a str> {
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let (name, value) = rest
            .split_once('=')
            .ok_or_else(|| Error::syntax("the closing } of the labels is missing"))?;
        let quoted = value
            .trim_start()
            .strip_prefix('"')
            .ok_or_else(|| Error::syntax("the value of a label must be in quotes"))?;
        let (value, after) = take_quoted(quoted)?;
        put_label(metric, name.trim(), value)?;
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
}

/// Parses text up to the closing quote; returns the rest.
fn take_quoted(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, letter @ ('"' | '\\'))) => value.push(letter),
                _ => {
                    return Err(Error::syntax(
                        "a backslash must be followed by n, a quote or a backslash",
                    ));
                }
            },
            letter => value.push(letter),
        }
    }
    Err(Error::syntax("a quote is missing"))
}
