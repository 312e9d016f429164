//! Where rows go: JSON lines, or a table for people.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::report::{self, Baseline};
use super::row::Row;
use crate::documents::STANDARD;
use crate::error::{Failure, Result};

/// A place for rows. Each is written when it is known; the report at the end.
pub struct Output {
    json: Option<Box<dyn Write>>,
    has_header: bool,
    html: Option<PathBuf>,
    baseline: Option<Baseline>,
    rows: Vec<Row>,
}

/// Where rows go, and what they are compared with.
#[derive(Clone, Debug, Default)]
pub struct Destination {
    /// A file for JSON lines (`-` is standard output); else a table goes to standard output.
    pub json: Option<String>,
    /// A file for a report.
    pub html: Option<PathBuf>,
    /// JSON lines of an earlier run.
    pub baseline: Option<PathBuf>,
}

impl Output {
    /// Opens what is asked for.
    pub fn new(destination: &Destination) -> Result<Self> {
        let json: Option<Box<dyn Write>> = match destination.json.as_deref() {
            None => None,
            Some(STANDARD) => Some(Box::new(io::stdout())),
            Some(file) => Some(Box::new(File::create(file).map_err(|error| {
                Failure::usage(format!("the results cannot be written: {error}")).in_file(file)
            })?)),
        };
        if let Some(file) = &destination.html {
            // Known before hours of measuring, not after.
            File::create(file).map_err(|error| unwritten(&error, file))?;
        }
        let baseline = destination.baseline.as_deref();
        Ok(Self {
            json,
            has_header: false,
            html: destination.html.clone(),
            baseline: baseline.map(Baseline::read).transpose()?,
            rows: Vec::new(),
        })
    }

    /// Writes what is made of all rows.
    pub fn finish(self) -> Result<()> {
        if let Some(file) = &self.html {
            let command: Vec<_> = std::env::args().collect();
            let page = report::page(&self.rows, self.baseline.as_ref(), &command.join(" "))?;
            std::fs::write(file, page).map_err(|error| unwritten(&error, file))?;
        }
        if let Some(baseline) = &self.baseline {
            let summary = baseline.summary(&self.rows);
            io::stderr().lock().write_all(summary.as_bytes())?;
        }
        Ok(())
    }

    /// Writes a row.
    pub fn row(&mut self, row: &Row) -> Result<()> {
        if self.html.is_some() || self.baseline.is_some() {
            self.rows.push(row.clone());
        }
        if let Some(out) = &mut self.json {
            let line = serde_json::to_string(row).map_err(io::Error::from)?;
            writeln!(out, "{line}")?;
            return Ok(out.flush()?);
        }
        let mut out = io::stdout().lock();
        if !self.has_header {
            self.has_header = true;
            writeln!(
                out,
                "{:<30}{:>9}{:>9}{:>8}{:>11}{:>11}{:>11}{:>11}{:>11}{:>8}  note",
                "row", "size", "durable", "n", "median", "min", "p99", "cpu", "raw", "x raw"
            )?;
        }
        let factor = match (row.median_s, row.raw_s) {
            (Some(ours), Some(raw)) => format!("{:.2}", ours / raw),
            _ => "-".to_owned(),
        };
        writeln!(
            out,
            "{:<30}{:>9}{:>9}{:>8}{:>11}{:>11}{:>11}{:>11}{:>11}{:>8}  {}",
            row.row,
            row.size,
            row.durability,
            row.n,
            duration(row.median_s),
            duration(row.min_s),
            duration(row.p99_s),
            duration(row.cpu_s),
            duration(row.raw_s),
            factor,
            row.note
        )?;
        Ok(())
    }
}

impl Output {
    /// Writes text for people, where rows are a table for people.
    pub fn text(&self, text: &str) -> Result<()> {
        if self.json.is_none() {
            io::stdout().lock().write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

fn unwritten(error: &io::Error, file: &Path) -> Failure {
    Failure::usage(format!("the report cannot be written: {error}")).in_file(file.display())
}

/// Seconds in a readable unit.
pub fn duration(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds < 1e-3 => format!("{:.2} us", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:.2} s"),
    }
}
