//! The output of rows: JSON lines or tables, and reports of all rows at the end.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::report::{self, Baseline, Page};
use super::row::Row;
use espalier_terminal::document::STANDARD;
use espalier_terminal::output::{self, Escaping, Form};
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::progress::Progress;
use espalier_terminal::{Failure, Result};

/// Collects rows. Writes each row as soon as it is measured, and the reports at the end.
pub struct Output {
    json: Option<Box<dyn Write>>,
    has_header: bool,
    destination: Destination,
    baseline: Option<Baseline>,
    /// The rows of each pass.
    passes: Vec<Vec<Row>>,
    progress: Progress,
}

/// The files to write, and the rows to compare with.
#[derive(Clone, Debug, Default)]
pub struct Destination {
    /// A file for JSON lines (`-` is standard output); if none, a table is printed to standard output.
    pub json: Option<String>,
    /// A file for an HTML page with tables and plots.
    pub html: Option<PathBuf>,
    /// A file for the tables as Markdown.
    pub markdown: Option<PathBuf>,
    /// JSON lines of an earlier run.
    pub baseline: Option<PathBuf>,
    /// The number of passes over everything.
    pub repeat: usize,
    /// What to do with files that exist.
    pub existing: Existing,
}

impl Output {
    /// Opens the files of a destination.
    pub fn new(destination: Destination) -> Result<Self> {
        let json: Option<Box<dyn Write>> = match destination.json.as_deref() {
            None => None,
            Some(STANDARD) => Some(Box::new(output::stdout(Form::Json))),
            Some(file) => {
                output_file::check(Path::new(file), destination.existing, None)?;
                Some(Box::new(File::create(file).map_err(|error| {
                    Failure::usage(format!("the results cannot be written: {error}")).in_file(file)
                })?))
            }
        };
        for file in [&destination.html, &destination.markdown]
            .into_iter()
            .flatten()
        {
            // Fail before hours of measuring, not after.
            output_file::check(file, destination.existing, None)?;
            OutputFile::create(file)?;
        }
        let baseline = destination.baseline.as_deref();
        Ok(Self {
            json,
            has_header: false,
            baseline: baseline.map(Baseline::read).transpose()?,
            destination,
            passes: vec![Vec::new()],
            progress: Progress::count("rows measured"),
        })
    }

    /// Begins a pass over everything.
    pub fn begin_pass(&mut self, pass: usize) {
        if pass > 0 {
            self.passes.push(Vec::new());
        }
    }

    /// The number of the current pass, from 0.
    pub fn pass(&self) -> u64 {
        self.passes.len() as u64 - 1
    }

    /// Adds a row. It is written at once if there is only one pass, otherwise when all its measurements are there.
    pub fn add_row(&mut self, row: &Row) -> Result<()> {
        if self.destination.repeat <= 1 {
            self.write(row)?;
        }
        if let Some(rows) = self.passes.last_mut() {
            rows.push(row.clone());
        }
        let measured: usize = self.passes.iter().map(Vec::len).sum();
        self.progress.set(measured as u64);
        Ok(())
    }

    /// Adds rows of earlier runs.
    pub fn add_rows(&mut self, rows: Vec<Row>) {
        if let Some(pass) = self.passes.last_mut() {
            pass.extend(rows);
        }
    }

    /// Writes the tables and reports of all rows.
    pub fn finish(mut self) -> Result<()> {
        let rows = self.merged();
        if self.destination.repeat > 1 {
            for row in &rows {
                self.write(row)?;
            }
        }
        self.text(&report::summary(&rows.iter().collect::<Vec<_>>()))?;
        // URLs of engines are among the arguments.
        let arguments = std::env::args().map(|argument| shown_argument(&argument));
        let command: Vec<_> = arguments.collect();
        let page = Page {
            rows: &rows,
            baseline: self.baseline.as_ref(),
            command: &command.join(" "),
        };
        if let Some(file) = &self.destination.html {
            write(file, page.html()?.as_bytes())?;
        }
        if let Some(file) = &self.destination.markdown {
            write(file, page.markdown().as_bytes())?;
        }
        if let Some(baseline) = &self.baseline {
            let summary = baseline.summary(&rows);
            Escaping::new(io::stderr().lock(), Form::Text).write_all(summary.as_bytes())?;
        }
        self.progress.finish();
        Ok(())
    }

    /// The rows of all passes merged, in the order of the first pass.
    fn merged(&self) -> Vec<Row> {
        let Some((first, others)) = self.passes.split_first() else {
            return Vec::new();
        };
        let is_same = |one: &Row, other: &Row| one.key() == other.key() && one.size == other.size;
        let merged = first.iter().map(|row| {
            let again = others.iter().flatten().filter(|again| is_same(row, again));
            let all: Vec<Row> = std::iter::once(row).chain(again).cloned().collect();
            match all.len() {
                1 => row.clone(),
                _ => Row::merged(&all).unwrap_or_else(|| row.clone()),
            }
        });
        merged.collect()
    }

    fn write(&mut self, row: &Row) -> Result<()> {
        if let Some(out) = &mut self.json {
            let line = serde_json::to_string(row).map_err(io::Error::from)?;
            writeln!(out, "{line}")?;
            return Ok(out.flush()?);
        }
        let is_first = !std::mem::replace(&mut self.has_header, true);
        self.progress.aside(|| table_row(row, is_first))
    }

    /// Prints text, unless standard output is reserved for JSON.
    pub fn text(&self, text: &str) -> Result<()> {
        if self.destination.json.as_deref() != Some(STANDARD) {
            self.progress
                .aside(|| output::stdout(Form::Text).write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}

/// Prints a row of the table.
fn table_row(row: &Row, is_first: bool) -> Result<()> {
    let mut out = output::stdout(Form::Text);
    if is_first {
        writeln!(
            out,
            "{:<30}{:>9}  {:<22}{:>8}{:>11}{:>11}{:>11}{:>11}{:>9}{:>11}{:>8}  note",
            "row", "size", "engine", "n", "median", "min", "p99", "cpu", "peak", "raw", "x raw"
        )?;
    }
    writeln!(
        out,
        "{:<30}{:>9}  {:<22}{:>8}{:>11}{:>11}{:>11}{:>11}{:>9}{:>11}{:>8}  {}",
        row.row,
        row.size,
        row.engine(),
        row.n,
        duration(row.median_s),
        duration(row.min_s),
        duration(row.p99_s),
        duration(row.cpu_s),
        megabytes(row.peak_bytes),
        duration(row.raw_s),
        row.factor(row.median_s, row.raw_s),
        row.note
    )?;
    Ok(())
}

/// Writes a report file, complete or not at all.
fn write(file: &Path, text: &[u8]) -> Result<()> {
    let mut output = OutputFile::create(file)?;
    output.writer().write_all(text)?;
    output.finish()
}

/// An argument without passwords. It may be a list of engines.
fn shown_argument(argument: &str) -> String {
    let parts = argument.split(',');
    let is_url = |part: &str| part.contains(":/") && part.contains('@');
    // If a password contains a comma, the whole argument is one URL.
    match parts.clone().filter(|part| part.contains('@')).all(is_url) {
        true => parts.map(redacted_url_within).collect::<Vec<_>>().join(","),
        false => redacted_url_within(argument),
    }
}

/// A URL without passwords; an option may precede it.
fn redacted_url_within(argument: &str) -> String {
    match argument.split_once('=') {
        Some((option, url)) if option.starts_with("--") => {
            format!("{option}={}", espalier_drivers::redacted_url(url))
        }
        _ if argument.contains(":/") => espalier_drivers::redacted_url(argument),
        _ => argument.to_owned(),
    }
}

/// Seconds in a readable unit.
pub fn duration(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds < 1e-6 => format!("{:.0} ns", seconds * 1e9),
        Some(seconds) if seconds < 1e-3 => format!("{:.2} us", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:.2} s"),
    }
}

/// Bytes in a readable unit.
pub fn megabytes(bytes: Option<u64>) -> String {
    match bytes {
        None => "-".to_owned(),
        Some(bytes) => format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}
