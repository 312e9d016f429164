//! Where rows go: JSON lines, or a table for people.

use std::fs::File;
use std::io::{self, Write};

use super::row::Row;
use crate::documents::STANDARD;
use crate::error::{Failure, Result};

/// A place for rows. Each is written when it is known.
pub struct Output {
    json: Option<Box<dyn Write>>,
    has_header: bool,
}

impl Output {
    /// JSON to a file (`-` is standard output), or a table to standard output.
    pub fn new(json: Option<&str>) -> Result<Self> {
        let json: Option<Box<dyn Write>> = match json {
            None => None,
            Some(STANDARD) => Some(Box::new(io::stdout())),
            Some(file) => Some(Box::new(File::create(file).map_err(|error| {
                Failure::usage(format!("the results cannot be written: {error}")).in_file(file)
            })?)),
        };
        Ok(Self {
            json,
            has_header: false,
        })
    }

    /// Writes a row.
    pub fn row(&mut self, row: &Row) -> Result<()> {
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

/// Seconds in a readable unit.
fn duration(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds < 1e-3 => format!("{:.2} us", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:.2} s"),
    }
}
