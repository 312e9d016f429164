//! `espalier stats import`.

use std::io::BufReader;

use clap::{Args, ValueEnum};
use espalier_stats::import::{self, SKIPPED_TOLD};
use serde_json::json;

use super::place::{Place, time};
use crate::error::{Failure, Result};
use crate::progress::ProgressReader;
use crate::settings::Settings;
use crate::{cli, documents};

/// Skipped lines that are told.
const SKIPPED_SHOWN: usize = 10;

/// Read StatsD lines or the text format of Prometheus
#[derive(Args, Debug)]
#[command(after_help = "\
Lines that cannot be read, or are refused, are told, and the others done; in one atomic commit up to \
100,000 writes.

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
        let at = time(&stats, self.at.as_deref())?;
        let format = match self.format {
            Format::Statsd => import::Format::Statsd,
            Format::Prometheus => import::Format::Prometheus,
        };
        let (input, length) = documents::open(&self.file)?;
        let mut input = BufReader::new(ProgressReader::new(input, "importing", length));
        let report = stats
            .import(format, at, &mut input)
            .map_err(|error| Failure::from(error).in_file(documents::display_name(&self.file)))?;
        input.into_inner().finish();
        let lines = report.lines.iter();
        let lines: Vec<_> = lines
            .map(|line| json!({"line": line.line, "reason": line.reason}))
            .collect();
        let value = json!({"writes": report.writes, "skipped": report.skipped, "lines": lines});
        let mut text = format!("{} writes, {} lines skipped", report.writes, report.skipped);
        for line in report.lines.iter().take(SKIPPED_SHOWN) {
            text.push_str(&format!("\n  line {}: {}", line.line, line.reason));
        }
        if report.lines.len() > SKIPPED_SHOWN {
            text.push_str(&format!("\n  ...; with --json the first {SKIPPED_TOLD}"));
        }
        cli::answer(self.place.talk.json, &value, &text)
    }
}
