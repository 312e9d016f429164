//! `espalier stats import`.

use std::io::BufReader;

use clap::{Args, ValueEnum};
use espalier_stats::import::{self, Report, SKIPPED_REPORTED_MAX};

use super::arguments::{StoreOption, time};
use crate::settings::Settings;
use espalier_terminal::document;
use espalier_terminal::output;
use espalier_terminal::progress::ProgressReader;
use espalier_terminal::{Failure, Result};

/// The maximum number of skipped lines that are listed.
const SKIPPED_LISTED_MAX: usize = 10;

/// Read StatsD lines, the text format of Prometheus, or JSON lines
#[derive(Args, Debug)]
#[command(after_help = "\
Unreadable and rejected lines are listed; the others are imported, up to 100,000 writes in one atomic commit.
An import with a name (--request-id) may be repeated, also after an interruption: within a day, lines that were \
imported under that name are skipped. Use --at then, so that all lines have the same time.
A JSON line is a write as in `POST /stats/writes`; without an `action` it is a `track`.

Examples:
  espalier stats import --format statsd lines.txt --store embedded:counts
  espalier stats import --format statsd lines.txt --at 2025-03-07 --request-id friday \\
      --store embedded:counts
  curl -s http://host/metrics | espalier stats import --format prometheus - --store embedded:counts
  espalier stats import --format jsonl writes.jsonl --store embedded:counts")]
pub struct Import {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,

    /// The format of the lines
    #[arg(long)]
    format: Format,

    /// The time of lines without one [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    /// A name for this import. If the import is repeated under this name within a day, lines that were imported before
    /// are skipped
    #[arg(long, value_name = "NAME")]
    request_id: Option<String>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// `name:value|type|@rate|#tag:value`
    Statsd,
    /// `name{label="value"} number [milliseconds]`
    Prometheus,
    /// `{"metric":"orders","at":"2025-03-05T12:00:00Z","values":{"count":1}}`
    Jsonl,
}

impl Import {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        let at = time(&stats, self.at.as_deref())?;
        let format = match self.format {
            Format::Statsd => import::Format::Statsd,
            Format::Prometheus => import::Format::Prometheus,
            Format::Jsonl => import::Format::Jsonl,
        };
        let (input, length) = document::open(&self.file)?;
        let mut input = BufReader::new(ProgressReader::new(input, "importing", length));
        let report = match &self.request_id {
            Some(id) => stats.import_once(id, format, at, &mut input),
            None => stats.import(format, at, &mut input),
        };
        let report = report
            .map_err(|error| Failure::from(error).in_file(document::display_name(&self.file)))?;
        input.into_inner().finish();
        self.print_report(&report)
    }

    fn print_report(&self, report: &Report) -> Result<()> {
        let mut text = format!("{} writes, {} lines skipped", report.writes, report.skipped);
        if report.repeated > 0 {
            text.push_str(&format!(
                "; the lines up to {} were done before under this name",
                report.repeated
            ));
        }
        for line in report.lines.iter().take(SKIPPED_LISTED_MAX) {
            text.push_str(&format!("\n  line {}: {}", line.line, line.reason));
        }
        if report.lines.len() > SKIPPED_LISTED_MAX {
            text.push_str(&format!(
                "\n  ...; with --json the first {SKIPPED_REPORTED_MAX}"
            ));
        }
        output::print_result(
            self.store_option.output_options.json,
            &report.to_json(),
            &text,
        )
    }
}
