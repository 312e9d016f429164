//! `espalier audit list`, `export` and `follow`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use espalier_service::audit::{
    AUDIT_PAGE_MAX, AuditOrder, AuditQuery, AuditRecord, AuditSequence, write_json_line,
};
use espalier_store::{Clock, SystemClock, Timestamp};
use serde_json::json;

use super::log::{Log, LogOption, failure};
use super::print::line;
use crate::settings::Settings;
use crate::times::past_time;
use espalier_terminal::output::{self, Form};
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::{Failure, Result};

/// The interval of looking for new records.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

/// A follower reads this far back again, as a record can be stored after one with a later time.
const FOLLOW_OVERLAP: Duration = Duration::from_secs(5);

/// Which records.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which records")]
struct Selection {
    /// Of this user
    #[arg(long = "of-user", visible_alias = "by", value_name = "NAME")]
    of_user: Option<String>,

    /// Of the session with this id
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Of this operation, such as login, edit, commit or lock
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,

    /// With this result: ok, error for any error, an error-tag such as access-denied, or a kind of errors of collections
    /// and statistics such as missing
    #[arg(long, value_name = "RESULT")]
    result: Option<String>,

    /// With this path or one below it: an instance identifier, or the path of a request such as /documents/cars
    #[arg(long, value_name = "PATH")]
    path: Option<String>,

    /// Since this time: RFC 3339, or a span before now, as in 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Selection {
    fn query(&self) -> Result<AuditQuery> {
        let mut query = AuditQuery::default();
        let given = [
            ("user", &self.of_user),
            ("session", &self.session),
            ("operation", &self.operation),
            ("result", &self.result),
            ("path", &self.path),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                query.set(name, value).map_err(Failure::usage)?;
            }
        }
        query.from = self.since.as_deref().map(past_time).transpose()?;
        query.until = self.until.as_deref().map(past_time).transpose()?;
        Ok(query)
    }
}

/// Print records, the newest first
#[derive(Args, Debug)]
pub struct List {
    #[command(flatten)]
    selection: Selection,

    /// The maximum number of records
    #[arg(long, value_name = "COUNT", default_value = "100",
          value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Print the oldest first
    #[arg(long)]
    oldest_first: bool,

    #[command(flatten)]
    pub log_option: LogOption,
}

impl List {
    pub fn run(&self, settings: Settings) -> Result<()> {
        let mut query = self.selection.query()?;
        if self.oldest_first {
            query.order = AuditOrder::OldestFirst;
        }
        let log = self.log_option.open(settings)?;
        each_page(&log, query, self.limit as usize, &mut |record| {
            print(record, self.log_option.output_options.json)
        })
    }
}

/// Write records as JSON lines, the oldest first
#[derive(Args, Debug)]
pub struct Export {
    #[command(flatten)]
    selection: Selection,

    /// The file, which only its owner can read; without it, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,

    #[command(flatten)]
    pub log_option: LogOption,
}

impl Export {
    pub fn run(&self, settings: Settings) -> Result<()> {
        let query = AuditQuery {
            order: AuditOrder::OldestFirst,
            ..self.selection.query()?
        };
        if let Some(file) = &self.output {
            // Checked before the store is opened, which may take long.
            output_file::check(file, Existing::of(self.force), settings.store.as_deref())?;
        }
        let log = self.log_option.open(settings)?;
        let Some(file) = &self.output else {
            return write(&log, query, &mut output::stdout(Form::Json)).map(drop);
        };
        let mut output_file = OutputFile::create(file)?;
        let mut out = BufWriter::new(output_file.writer());
        let written = write(&log, query, &mut out)?;
        out.flush()?;
        drop(out);
        output_file.finish()?;
        let text = format!("{written} records");
        let is_json = self.log_option.output_options.json;
        output::print_result(is_json, &json!({"records": written}), &text)
    }
}

/// Writes the records of a query as JSON lines; returns their number.
fn write(log: &Log, query: AuditQuery, out: &mut dyn Write) -> Result<u64> {
    let mut written = 0;
    each_page(log, query, usize::MAX, &mut |record| {
        written += 1;
        write_json_line(record, out).map_err(failure)
    })?;
    out.flush()?;
    Ok(written)
}

/// Print new records as they are made, until the command is interrupted
#[derive(Args, Debug)]
pub struct Follow {
    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    pub log_option: LogOption,
}

impl Follow {
    pub fn run(&self, settings: Settings) -> Result<()> {
        let mut query = self.selection.query()?;
        query.order = AuditOrder::OldestFirst;
        let start = query.from.unwrap_or_else(|| SystemClock.now());
        query.from = Some(start);
        let log = self.log_option.open(settings)?;
        let mut printed: std::collections::BTreeSet<AuditSequence> = Default::default();
        loop {
            each_page(&log, query.clone(), usize::MAX, &mut |record| match printed
                .insert(record.sequence)
            {
                true => print(record, self.log_option.output_options.json),
                false => Ok(()),
            })?;
            if let Some(last) = printed.last() {
                let overlap = u64::try_from(FOLLOW_OVERLAP.as_millis()).unwrap_or(u64::MAX);
                let from = Timestamp(last.time().0.saturating_sub(overlap)).max(start);
                query.from = Some(from);
                printed = printed.split_off(&AuditSequence::first_at(from));
            }
            thread::sleep(FOLLOW_INTERVAL);
        }
    }
}

/// Calls `visit` with at most `left` records of all pages of a query.
fn each_page(
    log: &Log,
    mut query: AuditQuery,
    limit: usize,
    visit: &mut dyn FnMut(&AuditRecord) -> Result<()>,
) -> Result<()> {
    let mut left = limit;
    while left > 0 {
        query.limit = left.min(AUDIT_PAGE_MAX);
        let page = log.page(&query)?;
        for record in &page.records {
            visit(record)?;
            left -= 1;
        }
        if page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    Ok(())
}

fn print(record: &AuditRecord, is_json: bool) -> Result<()> {
    let value = serde_json::to_value(record).map_err(|error| Failure::data(error.to_string()))?;
    output::print_result(is_json, &value, &line(record))
}
