//! Earlier versions of the data of a server.

use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use espalier_store::{CommitInfo, Retention, Timestamp};
use serde::{Deserialize, Serialize};
use ureq::Body;
use ureq::http::Response;

use super::remote_error::failure_of;
use crate::endpoint::{Changed, Differences, LineStyle, Read, Rollback};
use espalier_terminal::path::percent_encoded;
use espalier_terminal::{Failure, Result};

use super::remote::{Remote, query};

/// The path in `serve` that lists commits.
pub const HISTORY_PATH: &str = "/espalier/history";

/// The path in `serve` that compares versions.
pub const DIFF_PATH: &str = "/espalier/diff";

/// The path in `serve` that reads earlier versions.
pub const AT_PATH: &str = "/espalier/at";

/// The path in `serve` that restores a version.
pub const ROLLBACK_PATH: &str = "/espalier/rollback";

/// The path in `serve` that reads and sets the retention.
pub const RETENTION_PATH: &str = "/espalier/retention";

/// The maximum size of a page of the history.
const PAGE_BYTES_MAX: u64 = 256 << 20;

/// A commit, in responses.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommitBody {
    pub version: u64,
    /// Milliseconds since 1970.
    pub time_ms: u64,
    pub author: String,
    pub comment: String,
}

/// The retention, in requests and responses.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetentionBody {
    versions: u64,
    /// As in `espalier history --json`; `None` for no limit.
    age_seconds: Option<u64>,
}

impl From<CommitInfo> for CommitBody {
    fn from(commit: CommitInfo) -> Self {
        Self {
            version: commit.version,
            time_ms: commit.time.0,
            author: commit.author,
            comment: commit.comment,
        }
    }
}

impl From<CommitBody> for CommitInfo {
    fn from(body: CommitBody) -> Self {
        Self {
            version: body.version,
            time: Timestamp(body.time_ms),
            author: body.author,
            comment: body.comment,
        }
    }
}

impl From<Retention> for RetentionBody {
    fn from(retention: Retention) -> Self {
        Self {
            versions: retention.versions,
            age_seconds: retention.age.map(|age| age.as_secs()),
        }
    }
}

impl From<RetentionBody> for Retention {
    fn from(body: RetentionBody) -> Self {
        Self {
            versions: body.versions,
            age: body.age_seconds.map(Duration::from_secs),
        }
    }
}

/// Returns a successful response, or the failure.
fn success(answer: Response<Body>) -> Result<Response<Body>> {
    match answer.status().is_success() {
        true => Ok(answer),
        false => Err(failure_of(answer)),
    }
}

/// The JSON of a successful response.
pub(super) fn read_json<T: for<'d> Deserialize<'d>>(answer: Response<Body>) -> Result<T> {
    let mut answer = success(answer)?;
    let body = answer.body_mut().with_config().limit(PAGE_BYTES_MAX);
    let text = body
        .read_to_vec()
        .map_err(|error| unreadable_answer(&error))?;
    serde_json::from_slice(&text).map_err(|error| unreadable_answer(&error))
}

fn unreadable_answer(error: &dyn std::fmt::Display) -> Failure {
    Failure::data(format!("the server's answer cannot be read: {error}"))
}

impl Remote {
    /// The newest commits up to a version.
    pub(super) fn commits(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        let from = from.map_or_else(String::new, |from| format!("&from={from}"));
        let path = format!("{HISTORY_PATH}?limit={limit}{from}");
        let page: Vec<CommitBody> = read_json(self.get(&path, "application/json")?)?;
        Ok(page.into_iter().map(CommitInfo::from).collect())
    }

    /// Passes each line of a comparison to `line`.
    pub(super) fn differences(
        &self,
        differences: &Differences<'_>,
        line: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Differences { from, to, .. } = differences;
        let path = self.encoded_path(differences.path)?;
        let style = match differences.style {
            LineStyle::Text => "text",
            LineStyle::Json => "json",
        };
        let path = format!("{DIFF_PATH}?from={from}&to={to}&style={style}&path={path}");
        let mut answer = success(self.get(&path, "*/*")?)?;
        let body = answer.body_mut().with_config().limit(u64::MAX).reader();
        let mut body = BufReader::new(body);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let read = body.read_until(b'\n', &mut buffer);
            if read.map_err(|error| unreadable_answer(&error))? == 0 {
                return Ok(());
            }
            line(buffer.strip_suffix(b"\n").unwrap_or(&buffer))?;
        }
    }

    /// Reads an earlier version; returns false if there is no data at the path.
    pub(super) fn read_at(
        &self,
        version: u64,
        read: &Read<'_>,
        out: &mut dyn io::Write,
    ) -> Result<bool> {
        let path = self.encoded_path(read.path)?;
        let query = query(read);
        let query = query.trim_start_matches('?');
        let path = format!("{AT_PATH}?version={version}&path={path}&{query}");
        let answer = self.get(&path, read.format.media_type())?;
        if answer.status().as_u16() == 404 {
            return Ok(false);
        }
        let mut answer = success(answer)?;
        let mut body = answer.body_mut().with_config().limit(u64::MAX).reader();
        io::copy(&mut body, out).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => error.into(),
            _ => unreadable_answer(&error),
        })?;
        Ok(true)
    }

    /// Restores a version.
    pub(super) fn roll_back(&self, rollback: &Rollback) -> Result<Changed> {
        read_json(self.post_json(ROLLBACK_PATH, rollback)?)
    }

    /// Reads the retention.
    pub(super) fn fetch_retention(&self) -> Result<Retention> {
        let body: RetentionBody = read_json(self.get(RETENTION_PATH, "application/json")?)?;
        Ok(body.into())
    }

    /// Sets the retention.
    pub(super) fn post_retention(&self, retention: Retention) -> Result<()> {
        let answer = self.post_json(RETENTION_PATH, &RetentionBody::from(retention))?;
        success(answer).map(drop)
    }

    /// A path, encoded for a query.
    fn encoded_path(&self, path: &espalier_yang::InstancePath) -> Result<String> {
        use super::Endpoint;
        Ok(percent_encoded(
            &path.to_instance_identifier(&*self.schema()?),
        ))
    }
}
