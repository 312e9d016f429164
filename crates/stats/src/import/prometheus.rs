//! The text format of Prometheus: `name{label="value"} number [milliseconds]`.
//!
//! What Prometheus exposes are readings (also counters: how much since the start), so `value` is
//! set, and a bucket holds the last reading in it. Histograms and summaries are the several
//! metrics that they are written as. Comments are read past. `NaN` and infinities are no readings.

use super::text::{Imported, put_label};
use crate::{Error, Metric, Number, Packed, Path, Result, Timestamp, Write};

/// The writes that a text means; at the given time where a line has none.
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
        .ok_or_else(|| Error::syntax("a line has a name and a number"))?;
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
            .map_err(|_| Error::syntax("the time is beyond all time"))?,
        Some(Err(_)) => return Err(Error::syntax("the time is no number of milliseconds")),
    };
    if words.next().is_some() {
        return Err(Error::syntax("there is something after the time"));
    }
    Ok(Write::assert(
        metric,
        at,
        Packed::one(Path::of(["value"])?, number),
    ))
}

/// Takes labels and the bracket that ends them off the front; gives what is after.
fn take_labels<'a>(text: &'a str, metric: &mut Metric) -> Result<&'a str> {
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let (name, value) = rest
            .split_once('=')
            .ok_or_else(|| Error::syntax("labels do not end with }"))?;
        let quoted = value
            .trim_start()
            .strip_prefix('"')
            .ok_or_else(|| Error::syntax("the value of a label is in quotes"))?;
        let (value, after) = take_quoted(quoted)?;
        put_label(metric, name.trim(), value)?;
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
}

/// Takes text up to the quote that ends it; gives what is after.
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
                        "a backslash is before neither n, a quote nor a backslash",
                    ));
                }
            },
            letter => value.push(letter),
        }
    }
    Err(Error::syntax("a quote is missing"))
}
