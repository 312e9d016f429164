//! `espalier stats import`.

use std::fs::File;
use std::io::{self, Read};

use clap::{Args, ValueEnum};
use espalier_stats::import::{Imported, prometheus, statsd};
use espalier_stats::{Request, Timestamp, limits};
use serde_json::json;

use super::place::{Place, time};
use crate::cli;
use crate::documents::STANDARD;
use crate::error::{Failure, Result};
use crate::settings::Settings;

/// The most bytes that are read at once: 256 MiB.
const INPUT_BYTES_MAX: u64 = 256 << 20;

/// Skipped lines that are told.
const SKIPPED_SHOWN: usize = 10;

/// Read StatsD lines or the text format of Prometheus
#[derive(Args, Debug)]
#[command(after_help = "\
Lines that cannot be read are told, and the others done; in one atomic commit up to 100,000 writes.

Examples:
  espalier stats import --format statsd lines.txt --store embedded:counts
  curl -s http://host/metrics | espalier stats import --format prometheus - --store embedded:counts")]
pub struct Import {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,

    /// What the lines are
    #[arg(long)]
    format: Format,

    /// When they were so, where they do not say [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    #[command(flatten)]
    pub place: Place,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// `name:value|type|@rate|#tag:value`
    Statsd,
    /// `name{label="value"} number [milliseconds]`
    Prometheus,
}

impl Import {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.place.stats(settings)?;
        let imported = self.read(time(&stats, self.at.as_deref())?)?;
        let (count, skipped) = (imported.writes.len(), imported.skipped);
        let mut writes = imported.writes.into_iter();
        loop {
            let request = Request::new(writes.by_ref().take(limits::WRITES_MAX));
            if request.writes.is_empty() {
                break;
            }
            stats.submit(request)?;
        }
        let shown = skipped.iter().take(SKIPPED_SHOWN);
        let lines: Vec<_> = shown
            .map(|line| json!({"line": line.line, "reason": line.reason}))
            .collect();
        let value = json!({"writes": count, "skipped": skipped.len(), "lines": lines});
        let mut text = format!("{count} writes, {} lines skipped", skipped.len());
        for line in skipped.iter().take(SKIPPED_SHOWN) {
            text.push_str(&format!("\n  line {}: {}", line.line, line.reason));
        }
        cli::answer(self.place.talk.json, &value, &text)
    }

    fn read(&self, at: Timestamp) -> Result<Imported> {
        let mut text = String::new();
        let failed = |error: io::Error| Failure::data(error.to_string()).in_file(&self.file);
        let input: Box<dyn Read> = match self.file.as_str() {
            STANDARD => Box::new(io::stdin()),
            file => Box::new(File::open(file).map_err(failed)?),
        };
        let bytes = input
            .take(INPUT_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if bytes as u64 > INPUT_BYTES_MAX {
            let message = format!("more than {INPUT_BYTES_MAX} bytes; split it");
            return Err(Failure::data(message).in_file(&self.file));
        }
        Ok(match self.format {
            Format::Statsd => statsd(&text, at),
            Format::Prometheus => prometheus(&text, at),
        })
    }
}
