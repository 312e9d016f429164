//! `espalier history`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use espalier_service::notifications::time_text;
use espalier_store::{Clock, CommitInfo, HISTORY_PAGE_MAX, Retention, SystemClock, Timestamp};
use serde_json::{Value, json};

use crate::endpoint::{self, Endpoint};
use crate::settings::{Access, OutputOptions, Settings};
use crate::times;
use espalier_terminal::Result;
use espalier_terminal::output::{self, escaped};

/// List the commits, newest first; or set how many versions are kept
#[derive(Args, Debug)]
#[command(after_help = "\
Every commit creates a version. An earlier version can be read (`espalier get PATH --at VERSION`), compared \
(`espalier diff A B`) and restored (`espalier rollback VERSION`) while it is kept: 10,000 versions by default \
(--keep). Later commits delete older versions, a few each.

Examples:
  espalier history --store embedded:data
  espalier history --limit 5 --json --server http://127.0.0.1:8080
  espalier history --from 100 --limit 10 --store embedded:data     # versions 100, 99, ...
  espalier history --keep 500 --keep-age 30d --store embedded:data")]
pub struct History {
    /// At most this many
    #[arg(long, default_value_t = 20)]
    limit: usize,

    /// Begin with this version; by default, the newest
    #[arg(long, value_name = "VERSION")]
    from: Option<u64>,

    /// From now on, keep at most this many versions
    #[arg(long, value_name = "VERSIONS", value_parser = clap::value_parser!(u64).range(1..))]
    keep: Option<u64>,

    /// From now on, keep versions for this time, as in 12h or 30d; 0d for no limit
    #[arg(long, value_name = "SPAN")]
    keep_age: Option<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl History {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let age = self
            .keep_age
            .as_deref()
            .map(times::parse_duration)
            .transpose()?;
        let endpoint = endpoint::open_existing(&settings)?;
        if self.keep.is_some() || age.is_some() {
            return self.retain(&*endpoint, age);
        }
        let mut out = output::stdout(self.output_options.form());
        let (mut from, mut left) = (self.from, self.limit);
        // The time of a commit is compared with that of the next commit, or the current time.
        let now = SystemClock.now();
        let mut later = now;
        while left > 0 {
            let page = endpoint.history(from, left.min(HISTORY_PAGE_MAX))?;
            for commit in &page {
                let clock = ClockCheck::of(commit.time, later);
                later = now.min(commit.time);
                match self.output_options.json {
                    true => writeln!(out, "{}", to_json(commit, clock))?,
                    false => writeln!(out, "{}", line(commit, clock))?,
                }
            }
            left -= page.len();
            match page.last() {
                Some(last) if last.version > 1 => from = Some(last.version - 1),
                _ => break,
            }
        }
        Ok(())
    }

    fn retain(&self, endpoint: &dyn Endpoint, age: Option<Duration>) -> Result<()> {
        let before = endpoint.retention()?;
        let retention = Retention {
            versions: self.keep.unwrap_or(before.versions),
            age: match age {
                Some(age) => Some(age).filter(|age| !age.is_zero()),
                None => before.age,
            },
        };
        endpoint.set_retention(retention)?;
        let age = retention.age.map(|age| age.as_secs());
        let value = json!({"keep": {"versions": retention.versions, "age-seconds": age}});
        output::print_result(self.output_options.json, &value, "")
    }
}

/// Whether the time of a commit is plausible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClockCheck {
    Plausible,
    /// The time is later than that of the next commit, or in the future.
    Ahead,
}

impl ClockCheck {
    fn of(time: Timestamp, later: Timestamp) -> Self {
        match time.is_ahead_of(later) {
            true => Self::Ahead,
            false => Self::Plausible,
        }
    }
}

/// A commit as JSON.
fn to_json(commit: &CommitInfo, clock: ClockCheck) -> Value {
    let mut value = json!({
        "version": commit.version,
        "time": time_text(commit.time),
        "author": commit.author,
        "comment": commit.comment,
    });
    if clock == ClockCheck::Ahead {
        value["clock-ahead"] = true.into();
    }
    value
}

fn line(commit: &CommitInfo, clock: ClockCheck) -> String {
    let time = time_text(commit.time);
    let CommitInfo {
        version,
        author,
        comment,
        ..
    } = commit;
    // Newlines in either are escaped.
    let (author, comment) = (escaped(author), escaped(comment));
    let note = match clock {
        ClockCheck::Plausible => "",
        ClockCheck::Ahead => "  (its clock was ahead, or the next one's behind)",
    };
    let line = format!("{version:>8}  {time}  {author:<12}  {comment}{note}");
    line.trim_end().to_owned()
}
