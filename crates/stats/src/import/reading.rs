//! Reading lines and doing what they say, many in one commit.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::str::FromStr;

use super::done::{Done, Part, other};
use super::text::{LINE_BYTES_MAX, Skipped, too_long};
use super::{jsonl, prometheus, statsd};
use crate::limits::WRITES_MAX;
use crate::stats::Stats;
use crate::{Calendar, Error, ErrorKind, Outcome, Request, Result, Timestamp, Write};

/// Lines without a write that are told one by one; of more only the number.
pub const SKIPPED_TOLD: usize = 1000;

/// What lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `name:value|type|@rate|#tag:value`
    Statsd,
    /// `name{label="value"} number [milliseconds]`
    Prometheus,
    /// `{"metric":"name","at":"time","values":{...}}`
    Jsonl,
}

impl Format {
    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            Self::Statsd => "statsd",
            Self::Prometheus => "prometheus",
            Self::Jsonl => "jsonl",
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "statsd" => Ok(Self::Statsd),
            "prometheus" => Ok(Self::Prometheus),
            "jsonl" => Ok(Self::Jsonl),
            _ => Err(Error::syntax(format!(
                "{text:?} is no format of lines; there are statsd, prometheus and jsonl"
            ))),
        }
    }
}

/// What came of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many writes were made.
    pub writes: u64,
    /// The lines up to this one were done before under the name of the import, and passed over; 0
    /// where there are none.
    pub repeated: u64,
    /// Of how many lines none was made.
    pub skipped: u64,
    /// The first of those ([`SKIPPED_TOLD`]), and why, in the order in which that was found.
    pub lines: Vec<Skipped>,
}

impl Report {
    fn skip(&mut self, line: u64, reason: &Error) {
        self.skipped += 1;
        if self.lines.len() < SKIPPED_TOLD {
            self.lines.push(Skipped {
                line: usize::try_from(line).unwrap_or(usize::MAX),
                reason: reason.to_string(),
            });
        }
    }
}

/// A line that says something.
struct Line {
    number: u64,
    writes: Vec<Write>,
    /// What is done with it and all before it.
    done: Done,
}

impl Stats {
    /// Reads lines and does what they say, in commits of up to [`WRITES_MAX`] writes; at the given time
    /// where a line has none. A line that cannot be read, or is refused, is skipped and told, and the
    /// others are done.
    ///
    /// # Errors
    /// The input cannot be read on, or the key space fails: which lines are done says the error.
    pub fn import(&self, format: Format, at: Timestamp, input: &mut dyn BufRead) -> Result<Report> {
        Import::new(self, format, at).run(input)
    }

    /// The same under a name, so that it may be repeated, also where it was cut off: lines that were
    /// done under that name are not done again, while a day
    /// ([`crate::limits::REQUEST_ID_SECONDS`]) has not gone by since the last commit of them. Lines that
    /// follow those are done. Of lines that have no time, those that are done by a repetition have its
    /// time.
    ///
    /// # Errors
    /// As [`Self::import`]; and where what was done under the name was something else: then nothing is
    /// done.
    pub fn import_once(
        &self,
        id: &str,
        format: Format,
        at: Timestamp,
        input: &mut dyn BufRead,
    ) -> Result<Report> {
        Request::default().with_id(id).check()?;
        let mut import = Import::new(self, format, at);
        import.known = self.imported(id)?.unwrap_or(import.read);
        import.report.repeated = import.known.line;
        import.id = Some(id);
        import.run(input)
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

/// An import that is under way.
struct Import<'a> {
    stats: &'a Stats,
    format: Format,
    at: Timestamp,
    calendar: Calendar,
    /// Its name, where it has one.
    id: Option<&'a str>,
    /// What is known to be done under that name.
    known: Done,
    /// What is read.
    read: Done,
    /// What is read and not done.
    waiting: Vec<Line>,
    report: Report,
}

impl<'a> Import<'a> {
    fn new(stats: &'a Stats, format: Format, at: Timestamp) -> Self {
        let nothing = Done::nothing(format.name());
        Self {
            stats,
            format,
            at,
            calendar: stats.calendar(),
            id: None,
            known: nothing,
            read: nothing,
            waiting: Vec::new(),
            report: Report::default(),
        }
    }

    fn run(mut self, input: &mut dyn BufRead) -> Result<Report> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while self.take(input, &mut bytes)? {
            if self.is_repeated(self.read)? {
                continue;
            }
            match self.writes(&bytes) {
                Ok(writes) if writes.is_empty() => {}
                Ok(writes) => {
                    if count + writes.len() > WRITES_MAX {
                        self.submit_waiting()?;
                        count = 0;
                    }
                    count += writes.len();
                    self.waiting.push(Line {
                        number: self.read.line,
                        writes,
                        done: self.read,
                    });
                }
                Err(error) => self.report.skip(self.read.line, &error),
            }
        }
        self.submit_waiting()?;
        match self.read.line < self.known.line {
            true => Err(self.other_lines()),
            false => Ok(self.report),
        }
    }

    /// Takes the next line off the input; `false` where there is none.
    fn take(&mut self, input: &mut dyn BufRead, bytes: &mut Vec<u8>) -> Result<bool> {
        let is_there = take_line(input, bytes).map_err(|error| {
            let message = format!("the input cannot be read: {error}");
            let waiting = self.waiting.first().map(|line| line.number);
            let before = waiting.unwrap_or(self.read.line + 1);
            Error::new(ErrorKind::Argument, message).at(self.done_before(before))
        })?;
        if is_there {
            self.read = match self.id {
                Some(_) => self.read.and(bytes.trim_ascii()),
                None => self.read.unnamed(),
            };
        }
        Ok(is_there)
    }

    /// What a line says.
    fn writes(&self, bytes: &[u8]) -> Result<Vec<Write>> {
        let line = match text_of(bytes, self.read.line)? {
            "" => return Ok(Vec::new()),
            line => line,
        };
        let writes = match self.format {
            Format::Statsd => statsd::writes(line, self.at),
            Format::Prometheus => prometheus::writes(line, self.at),
            Format::Jsonl => jsonl::writes(line, self.at, &self.calendar),
        };
        self.stats.kept(writes?)
    }

    /// Whether a line was done under the name of the import; an error where that was another.
    fn is_repeated(&self, line: Done) -> Result<bool> {
        if line.line == self.known.line && line != self.known {
            return Err(self.other_lines());
        }
        Ok(line.line <= self.known.line)
    }

    fn submit_waiting(&mut self) -> Result<()> {
        self.submit_lines(0..self.waiting.len())?;
        self.waiting.clear();
        Ok(())
    }

    /// Does what waiting lines say in one commit; where that is refused, in halves, so that what is at
    /// fault is found and the others are done.
    fn submit_lines(&mut self, lines: Range<usize>) -> Result<()> {
        let waiting = &self.waiting[lines.clone()];
        let repeated = waiting.partition_point(|line| line.number <= self.known.line);
        let waiting = &waiting[repeated..];
        let lines = lines.start + repeated..lines.end;
        let (Some(first), Some(last)) = (waiting.first(), waiting.last()) else {
            return Ok(());
        };
        let (number, done) = (first.number, last.done);
        let request = self.request(waiting, done);
        let count = request.writes.len() as u64;
        match self.stats.submit(request) {
            Ok(Outcome::Repeated) => {
                self.follow_other()?;
                self.submit_lines(lines)
            }
            Ok(_) => {
                self.report.writes += count;
                if self.id.is_some() {
                    self.known = done;
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Keyspace => {
                Err(error.at(self.done_before(number)))
            }
            Err(error) if lines.len() == 1 => {
                self.report.skip(number, &error);
                Ok(())
            }
            Err(_) => {
                let middle = lines.start + lines.len() / 2;
                self.submit_lines(lines.start..middle)?;
                self.submit_lines(middle..lines.end)
            }
        }
    }

    fn request(&self, lines: &[Line], done: Done) -> Request {
        let writes = lines.iter().flat_map(|line| &line.writes);
        let mut request = Request::new(writes.cloned());
        if let Some(id) = self.id {
            request.id = Some(id.to_owned());
            request.part = Some(Part {
                after: self.known.line,
                done,
            });
        }
        request
    }

    /// Another import of this name did some of the lines meanwhile: goes on where it is.
    fn follow_other(&mut self) -> Result<()> {
        let id = self.id.unwrap_or_default();
        let known = self.stats.imported(id)?;
        let known = known.filter(|known| known.line > self.known.line);
        self.known = known.ok_or_else(|| {
            let message =
                format!("nothing was done under the name {id:?} for a day, and it was forgotten");
            Error::argument(message).at(done_before(self.known.line + 1))
        })?;
        self.report.repeated = self.known.line;
        let mut lines = self.waiting.iter().map(|line| line.done).chain([self.read]);
        // What was not read yet is compared when it is.
        match self.known.line > self.read.line || lines.any(|line| line == self.known) {
            true => Ok(()),
            false => Err(self.other_lines()),
        }
    }

    fn other_lines(&self) -> Error {
        let id = self.id.unwrap_or_default();
        other(id).at(format_args!(
            "the lines up to {} are not those that were done",
            self.known.line
        ))
    }

    fn done_before(&self, line: u64) -> String {
        let done = done_before(line);
        match self.id {
            Some(_) => format!("{done} (repeat the import under its name to go on)"),
            None => done,
        }
    }
}

fn done_before(line: u64) -> String {
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
fn text_of(bytes: &[u8], number: u64) -> Result<&str> {
    let line = std::str::from_utf8(bytes.trim_ascii());
    let line = line.map_err(|_| Error::syntax("the line is not UTF-8"));
    match line {
        _ if bytes.trim_ascii().len() > LINE_BYTES_MAX => Err(too_long()),
        Ok(line) if number == 1 => Ok(line.trim_start_matches('\u{feff}')),
        line => line,
    }
}
