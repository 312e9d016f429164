//! Reading lines and doing what they say, many in one commit.

use std::io::{self, BufRead, Read};
use std::str::FromStr;

use super::text::{LINE_BYTES_MAX, Skipped, too_long};
use super::{prometheus, statsd};
use crate::limits::WRITES_MAX;
use crate::stats::Stats;
use crate::{Error, ErrorKind, Request, Result, Timestamp, Write};

/// Lines without a write that are told one by one; of more only the number.
pub const SKIPPED_TOLD: usize = 1000;

/// What lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `name:value|type|@rate|#tag:value`
    Statsd,
    /// `name{label="value"} number [milliseconds]`
    Prometheus,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "statsd" => Ok(Self::Statsd),
            "prometheus" => Ok(Self::Prometheus),
            _ => Err(Error::syntax(format!(
                "{text:?} is no format of lines; there are statsd and prometheus"
            ))),
        }
    }
}

/// What came of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many writes were made.
    pub writes: u64,
    /// Of how many lines none was made.
    pub skipped: u64,
    /// The first of those ([`SKIPPED_TOLD`]), and why, in the order in which that was found.
    pub lines: Vec<Skipped>,
}

impl Report {
    fn skip(&mut self, line: usize, reason: &Error) {
        self.skipped += 1;
        if self.lines.len() < SKIPPED_TOLD {
            self.lines.push(Skipped {
                line,
                reason: reason.to_string(),
            });
        }
    }
}

/// A line's number, and what it says.
type Line = (usize, Vec<Write>);

impl Stats {
    /// Reads lines and does what they say, in commits of up to [`WRITES_MAX`] writes; at the given time
    /// where a line has none. A line that cannot be read, or is refused, is skipped and told, and the
    /// others are done.
    ///
    /// # Errors
    /// The input cannot be read on, or the key space fails: which lines are done says the error.
    pub fn import(&self, format: Format, at: Timestamp, input: &mut dyn BufRead) -> Result<Report> {
        let read = match format {
            Format::Statsd => statsd::writes,
            Format::Prometheus => prometheus::writes,
        };
        let mut report = Report::default();
        let (mut waiting, mut count): (Vec<Line>, _) = (Vec::new(), 0);
        let (mut number, mut bytes) = (0, Vec::new());
        loop {
            number += 1;
            let is_there = take_line(input, &mut bytes).map_err(|error| {
                let message = format!("the input cannot be read: {error}");
                let before = waiting.first().map_or(number, |(line, _)| *line);
                Error::new(ErrorKind::Argument, message).at(done_before(before))
            })?;
            if !is_there {
                break;
            }
            match text_of(&bytes, number).and_then(|line| match line {
                "" => Ok(Vec::new()),
                line => self.kept(read(line, at)?),
            }) {
                Ok(writes) if writes.is_empty() => {}
                Ok(writes) => {
                    if count + writes.len() > WRITES_MAX {
                        self.submit_lines(&waiting, &mut report)?;
                        waiting.clear();
                        count = 0;
                    }
                    count += writes.len();
                    waiting.push((number, writes));
                }
                Err(error) => report.skip(number, &error),
            }
        }
        self.submit_lines(&waiting, &mut report)?;
        Ok(report)
    }

    /// Does what lines say in one commit; where that is refused, in halves, so that what is at fault
    /// is found and the others are done.
    fn submit_lines(&self, lines: &[Line], report: &mut Report) -> Result<()> {
        let Some((first, _)) = lines.first() else {
            return Ok(());
        };
        let writes: Vec<Write> = lines
            .iter()
            .flat_map(|(_, writes)| writes)
            .cloned()
            .collect();
        let count = writes.len() as u64;
        match self.submit(Request::new(writes)) {
            Ok(_) => report.writes += count,
            Err(error) if error.kind() == ErrorKind::Keyspace => {
                return Err(error.at(done_before(*first)));
            }
            Err(error) => match lines.split_at(lines.len() / 2) {
                ([], _) => report.skip(*first, &error),
                (before, after) => {
                    self.submit_lines(before, report)?;
                    self.submit_lines(after, report)?;
                }
            },
        }
        Ok(())
    }

    /// Refuses writes of which no bucket is kept.
    fn kept(&self, writes: Vec<Write>) -> Result<Vec<Write>> {
        match writes.iter().find(|write| !self.keeps(write.at)) {
            Some(write) => Err(Error::argument(format!(
                "{} is longer ago than anything is kept",
                self.calendar().show_time(write.at)
            ))),
            None => Ok(writes),
        }
    }
}

fn done_before(line: usize) -> String {
    format!("the lines before {line} are done, those from there on are not")
}

/// Takes a line off the input; of a longer one than any may be only the beginning.
fn take_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = LINE_BYTES_MAX as u64 + 2;
    let read = Read::take(&mut *input, most).read_until(b'\n', line)?;
    if read as u64 == most && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

/// The text of a line, without white space around it.
fn text_of(bytes: &[u8], number: usize) -> Result<&str> {
    let line = std::str::from_utf8(bytes.trim_ascii());
    let line = line.map_err(|_| Error::syntax("the line is not UTF-8"));
    match line {
        _ if bytes.trim_ascii().len() > LINE_BYTES_MAX => Err(too_long()),
        Ok(line) if number == 1 => Ok(line.trim_start_matches('\u{feff}')),
        line => line,
    }
}
