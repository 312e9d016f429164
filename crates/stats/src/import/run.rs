//! The import of lines: many lines in one commit.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::str::FromStr;

use serde_json::json;

use super::parsed_text::{LINE_BYTES_MAX, Skipped, too_long};
use super::progress::{ImportPart, ImportProgress, name_in_use};
use super::{jsonl, prometheus, statsd};
use crate::limits::WRITES_MAX;
use crate::stats::Stats;
use crate::{Calendar, Error, ErrorKind, Outcome, Request, Result, Timestamp, Write};

/// The maximum number of skipped lines that are reported individually; further ones are only counted.
pub const SKIPPED_REPORTED_MAX: usize = 1000;

/// The format of imported lines.
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
    /// The text form.
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
                "{text:?} is not an import format; use statsd, prometheus or jsonl"
            ))),
        }
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of writes.
    pub writes: u64,
    /// Lines up to this number were already imported under the name of the import, and were skipped; 0 if
    /// there are none.
    pub repeated: u64,
    /// The number of lines that were not imported.
    pub skipped: u64,
    /// The first of those lines ([`SKIPPED_REPORTED_MAX`]) with the reasons, in the order of detection.
    pub lines: Vec<Skipped>,
}

impl Report {
    /// The report as a JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        let lines = self.lines.iter();
        let lines: Vec<_> = lines
            .map(|line| json!({"line": line.line, "reason": line.reason}))
            .collect();
        json!({
            "writes": self.writes,
            "repeated": self.repeated,
            "skipped": self.skipped,
            "lines": lines,
        })
    }

    fn skip(&mut self, line: u64, reason: &Error) {
        self.skipped += 1;
        if self.lines.len() < SKIPPED_REPORTED_MAX {
            self.lines.push(Skipped {
                line: usize::try_from(line).unwrap_or(usize::MAX),
                reason: reason.to_string(),
            });
        }
    }
}

/// A parsed line with writes.
struct Line {
    number: u64,
    writes: Vec<Write>,
    /// The progress including this line.
    progress: ImportProgress,
}

impl Stats {
    /// Imports lines, in commits of up to [`WRITES_MAX`] writes; lines without a time get the given one. A
    /// line that cannot be parsed, or is rejected, is skipped and reported; the others are imported.
    ///
    /// # Errors
    /// If the input cannot be read, or the key space fails; the error states which lines are imported.
    pub fn import(&self, format: Format, at: Timestamp, input: &mut dyn BufRead) -> Result<Report> {
        self.importer(format, at).run(input)
    }

    /// Like [`Self::import`], with a name, so that it may be repeated, also after an interruption: lines that
    /// were imported under the name are not imported again, as long as less than a day
    /// ([`crate::limits::REQUEST_ID_SECONDS`]) has passed since the last commit of them. Lines that follow
    /// them are imported. Lines without a time that a repetition imports get the time of the repetition.
    ///
    /// # Errors
    /// Those of [`Self::import`]; also if the lines that were imported under the name are different: then
    /// nothing is imported.
    pub fn import_once(
        &self,
        id: &str,
        format: Format,
        at: Timestamp,
        input: &mut dyn BufRead,
    ) -> Result<Report> {
        self.importer(format, at).with_id(id)?.run(input)
    }

    /// An import with further options; [`Import::run`] runs it.
    pub fn importer(&self, format: Format, at: Timestamp) -> Import<'_> {
        Import::new(self, format, at)
    }

    /// Rejects writes that no granularity retains.
    fn check_retained(&self, writes: Vec<Write>) -> Result<Vec<Write>> {
        match writes.iter().find(|write| !self.keeps(write.at)) {
            Some(write) => Err(Error::argument(format!(
                "{} is older than the longest retention",
                self.calendar().show_time(write.at)
            ))),
            None => Ok(writes),
        }
    }
}

/// An import.
pub struct Import<'a> {
    stats: &'a Stats,
    format: Format,
    at: Timestamp,
    calendar: Calendar,
    /// Its name, if any.
    id: Option<&'a str>,
    /// Which metrics may be written, by their names; `None` for all.
    filter: Option<&'a dyn Fn(&str) -> bool>,
    /// The progress under that name, as far as this import has read it.
    imported: ImportProgress,
    /// The progress of reading.
    read: ImportProgress,
    /// Lines that were read and are not imported yet.
    waiting: Vec<Line>,
    report: Report,
}

impl<'a> Import<'a> {
    fn new(stats: &'a Stats, format: Format, at: Timestamp) -> Self {
        let start = ImportProgress::start(format.name());
        Self {
            stats,
            format,
            at,
            calendar: stats.calendar(),
            id: None,
            filter: None,
            imported: start,
            read: start,
            waiting: Vec::new(),
            report: Report::default(),
        }
    }

    /// Gives the import a name, so that it may be repeated, see [`Stats::import_once`].
    ///
    /// # Errors
    /// The name is too long, or the key space fails.
    pub fn with_id(mut self, id: &'a str) -> Result<Self> {
        Request::default().with_id(id).check()?;
        self.imported = self.stats.imported(id)?.unwrap_or(self.read);
        self.report.repeated = self.imported.line;
        self.id = Some(id);
        Ok(self)
    }

    /// Skips and reports the lines of metrics whose names the filter does not permit.
    pub fn permitting(mut self, filter: &'a dyn Fn(&str) -> bool) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Imports lines.
    ///
    /// # Errors
    /// Those of [`Stats::import`] and [`Stats::import_once`].
    pub fn run(mut self, input: &mut dyn BufRead) -> Result<Report> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while self.read_line(input, &mut bytes)? {
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
                        progress: self.read,
                    });
                }
                Err(error) => self.report.skip(self.read.line, &error),
            }
        }
        self.submit_waiting()?;
        match self.read.line < self.imported.line {
            true => Err(self.different_lines()),
            false => Ok(self.report),
        }
    }

    /// Reads the next line; returns `false` at the end.
    fn read_line(&mut self, input: &mut dyn BufRead, bytes: &mut Vec<u8>) -> Result<bool> {
        let has_line = read_line_bytes(input, bytes).map_err(|error| {
            let message = format!("reading the input failed: {error}");
            let waiting = self.waiting.first().map(|line| line.number);
            let before = waiting.unwrap_or(self.read.line + 1);
            Error::new(ErrorKind::Argument, message).at(self.imported_before(before))
        })?;
        if has_line {
            self.read = match self.id {
                Some(_) => self.read.with_line(bytes.trim_ascii()),
                None => self.read.with_unhashed_line(),
            };
        }
        Ok(has_line)
    }

    /// The writes of a line.
    fn writes(&self, bytes: &[u8]) -> Result<Vec<Write>> {
        let line = match line_text(bytes, self.read.line)? {
            "" => return Ok(Vec::new()),
            line => line,
        };
        let writes = match self.format {
            Format::Statsd => statsd::writes(line, self.at),
            Format::Prometheus => prometheus::writes(line, self.at),
            Format::Jsonl => jsonl::writes(line, self.at, &self.calendar),
        };
        self.stats.check_retained(self.check_permitted(writes?)?)
    }

    fn check_permitted(&self, writes: Vec<Write>) -> Result<Vec<Write>> {
        let Some(is_permitted) = self.filter else {
            return Ok(writes);
        };
        match writes
            .iter()
            .find(|write| !is_permitted(&write.metric.name))
        {
            Some(write) => {
                let message = format!("access denied: the metric {:?}", write.metric.name);
                Err(Error::argument(message))
            }
            None => Ok(writes),
        }
    }

    /// Whether a line was already imported under the name of the import; an error if that line was different.
    fn is_repeated(&self, line: ImportProgress) -> Result<bool> {
        if line.line == self.imported.line && line != self.imported {
            return Err(self.different_lines());
        }
        Ok(line.line <= self.imported.line)
    }

    fn submit_waiting(&mut self) -> Result<()> {
        self.submit_lines(0..self.waiting.len())?;
        self.waiting.clear();
        Ok(())
    }

    /// Imports waiting lines in one commit; if that is rejected, in halves, so that the faulty line is found
    /// and the others are imported.
    fn submit_lines(&mut self, lines: Range<usize>) -> Result<()> {
        let waiting = &self.waiting[lines.clone()];
        let repeated = waiting.partition_point(|line| line.number <= self.imported.line);
        let waiting = &waiting[repeated..];
        let lines = lines.start + repeated..lines.end;
        let (Some(first), Some(last)) = (waiting.first(), waiting.last()) else {
            return Ok(());
        };
        let (number, progress) = (first.number, last.progress);
        let request = self.request(waiting, progress);
        let count = request.writes.len() as u64;
        match self.stats.submit(request) {
            Ok(Outcome::Repeated) => {
                self.continue_after_other()?;
                self.submit_lines(lines)
            }
            Ok(_) => {
                self.report.writes += count;
                if self.id.is_some() {
                    self.imported = progress;
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Keyspace => {
                Err(error.at(self.imported_before(number)))
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

    fn request(&self, lines: &[Line], progress: ImportProgress) -> Request {
        let writes = lines.iter().flat_map(|line| &line.writes);
        let mut request = Request::new(writes.cloned());
        if let Some(id) = self.id {
            request.id = Some(id.to_owned());
            request.part = Some(ImportPart {
                after: self.imported.line,
                progress,
            });
        }
        request
    }

    /// Another import with this name has imported some of the lines: continues after it.
    fn continue_after_other(&mut self) -> Result<()> {
        let id = self.id.unwrap_or_default();
        let imported = self.stats.imported(id)?;
        let imported = imported.filter(|imported| imported.line > self.imported.line);
        self.imported = imported.ok_or_else(|| {
            let message =
                format!("the name {id:?} was not used for a day, and its progress was removed");
            Error::argument(message).at(imported_before(self.imported.line + 1))
        })?;
        self.report.repeated = self.imported.line;
        let mut lines = self
            .waiting
            .iter()
            .map(|line| line.progress)
            .chain([self.read]);
        // Lines that were not read yet are compared when they are read.
        match self.imported.line > self.read.line || lines.any(|line| line == self.imported) {
            true => Ok(()),
            false => Err(self.different_lines()),
        }
    }

    fn different_lines(&self) -> Error {
        let id = self.id.unwrap_or_default();
        name_in_use(id).at(format_args!(
            "the lines up to {} differ from those that were imported",
            self.imported.line
        ))
    }

    fn imported_before(&self, line: u64) -> String {
        let progress = imported_before(line);
        match self.id {
            Some(_) => format!("{progress} (repeat the import under its name to continue)"),
            None => progress,
        }
    }
}

fn imported_before(line: u64) -> String {
    format!("the lines before {line} are imported, the others are not")
}

/// Reads a line; of a line that is too long possibly only the beginning.
fn read_line_bytes(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = LINE_BYTES_MAX as u64 + 2;
    let read = Read::take(&mut *input, most).read_until(b'\n', line)?;
    if read as u64 == most && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

/// The text of a line, trimmed.
fn line_text(bytes: &[u8], number: u64) -> Result<&str> {
    let line = std::str::from_utf8(bytes.trim_ascii());
    let line = line.map_err(|_| Error::syntax("the line is not UTF-8"));
    match line {
        _ if bytes.trim_ascii().len() > LINE_BYTES_MAX => Err(too_long()),
        Ok(line) if number == 1 => Ok(line.trim_start_matches('\u{feff}')),
        line => line,
    }
}
