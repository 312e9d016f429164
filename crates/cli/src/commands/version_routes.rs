//! What `serve` offers beside RESTCONF for earlier versions.
//!
//! - `GET /espalier/history?limit=&from=`: the newest commits, newest first.
//! - `GET /espalier/diff?from=&to=&style=&path=`: a line for each change, `style` `text` or `json`.
//! - `GET /espalier/at?version=&path=...`: data as it was, with the queries of RFC 8040 §4.8.
//! - `POST /espalier/rollback`: brings back a version.
//! - `GET` and `POST /espalier/retention`: how many versions are kept.
//!
//! Errors have the body of RFC 8040 §7.1.

use std::io::{self, Write as _};
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use espalier_protocols::restconf::{BodyWriter, stream};
use espalier_store::{CommitOptions, Content, Error, Tree, WithDefaults, WithOrigin};
use espalier_yang::{DataError, ErrorTag, InstancePath};
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use tokio::sync::oneshot;

use super::admin_api::{AdminApi, Asked, Parameters, Refused, Takes, Write, json_answer, refusal};
use crate::endpoint::{
    AT_PATH, Changed, CommitBody, DIFF_PATH, Differences, HISTORY_PATH, LineStyle, RETENTION_PATH,
    ROLLBACK_PATH, Read, RetentionBody, Rollback, diff_lines, print_view,
};
use espalier_terminal::Failure;
use espalier_terminal::document::{Format, Found};

/// A client that takes nothing for so long has left.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Bytes in a request that writes, at the most.
const ASKED_BYTES_MAX: u64 = 1 << 20;

/// Adds the routes for a tree.
pub fn add(api: AdminApi) -> AdminApi {
    api.reads(HISTORY_PATH, "The newest commits, newest first", history)
        .reads(DIFF_PATH, "What differs between two versions", diff)
        .reads(AT_PATH, "Data as it was at a version", at)
        .reads(RETENTION_PATH, "How many versions are kept", retention)
        .writes(Write {
            path: ROLLBACK_PATH,
            summary: "Bring back a version, in a new commit",
            takes: Takes::Json,
            bytes_max: ASKED_BYTES_MAX,
            handler: rollback,
        })
        .writes(Write {
            path: RETENTION_PATH,
            summary: "Set how many versions are kept; older ones are removed",
            takes: Takes::Json,
            bytes_max: ASKED_BYTES_MAX,
            handler: set_retention,
        })
}

fn refused(error: Error) -> Refused {
    match error {
        Error::Data(errors) => errors,
        // The client has left.
        Error::Stopped => DataError::new(ErrorTag::OperationFailed, error.to_string()).into(),
        Error::NoVersion { .. } | Error::Pruned { .. } => {
            DataError::new(ErrorTag::InvalidValue, error.to_string()).into()
        }
        error => {
            tracing::error!(%error, "a request for an earlier version failed");
            DataError::new(ErrorTag::OperationFailed, error.to_string()).into()
        }
    }
}

/// Does work that may block, away from the connection.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Response> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|errors| refusal(&errors)),
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            Err(StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
    }
}

#[derive(Deserialize)]
struct HistoryQuery {
    limit: usize,
    from: Option<u64>,
}

async fn history(
    State(tree): State<Tree>,
    Parameters(asked): Parameters<HistoryQuery>,
) -> Response {
    let page = blocking(move || tree.history(asked.from, asked.limit).map_err(refused)).await;
    match page {
        Ok(page) => {
            let page: Vec<_> = page.into_iter().map(CommitBody::from).collect();
            json_answer(&page)
        }
        Err(response) => response,
    }
}

#[derive(Deserialize)]
struct DiffQuery {
    from: u64,
    to: u64,
    style: LineStyle,
    path: String,
}

async fn diff(State(tree): State<Tree>, Parameters(asked): Parameters<DiffQuery>) -> Response {
    let media = match asked.style {
        LineStyle::Text => "text/plain; charset=utf-8",
        LineStyle::Json => "application/x-ndjson",
    };
    streamed(media, move |out| {
        let path = parsed(&tree, &asked.path)?;
        let differences = Differences {
            from: asked.from,
            to: asked.to,
            path: &path,
            style: asked.style,
        };
        diff_lines(&tree, &differences, &mut |line| {
            let written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
            written.map_err(|_| Error::Stopped)
        })
        .map_err(refused)?;
        Ok(Found::Something)
    })
    .await
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AtQuery {
    version: u64,
    path: String,
    depth: Option<u32>,
    #[serde(default)]
    content: String,
    fields: Option<String>,
    #[serde(default)]
    with_defaults: String,
}

async fn at(
    State(tree): State<Tree>,
    headers: HeaderMap,
    Parameters(asked): Parameters<AtQuery>,
) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = match accept {
        Some(media) if media.starts_with(Format::Xml.media_type()) => Format::Xml,
        _ => Format::Json,
    };
    streamed(format.media_type(), move |out| {
        let view = tree.at(asked.version).map_err(refused)?;
        // By the models of that version.
        let path = InstancePath::parse_cli_path(view.schema(), &asked.path)?;
        let read = Read {
            path: &path,
            depth: asked.depth,
            content: match asked.content.as_str() {
                "config" => Content::Config,
                "nonconfig" => Content::NonConfig,
                _ => Content::All,
            },
            fields: asked.fields.as_deref(),
            with_defaults: match asked.with_defaults.as_str() {
                "report-all" => WithDefaults::ReportAll,
                "trim" => WithDefaults::Trim,
                "report-all-tagged" => WithDefaults::ReportAllTagged,
                _ => WithDefaults::Explicit,
            },
            format,
            at: None,
            with_origin: WithOrigin::default(),
        };
        print_view(&view, view.schema(), &read, out).map_err(Failure::into_errors)
    })
    .await
}

fn rollback(tree: &Tree, asked: &Asked) -> Result<Response, Refused> {
    let asked: Rollback = asked.object()?;
    let options = CommitOptions {
        author: &asked.author,
        comment: &asked.comment,
        ..CommitOptions::default()
    };
    let commit = tree.rollback(asked.version, options).map_err(refused)?;
    Ok(json_answer(&Changed::from(commit)))
}

async fn retention(State(tree): State<Tree>) -> Response {
    match blocking(move || tree.retention().map_err(refused)).await {
        Ok(retention) => json_answer(&RetentionBody::from(retention)),
        Err(response) => response,
    }
}

fn set_retention(tree: &Tree, asked: &Asked) -> Result<Response, Refused> {
    let asked: RetentionBody = asked.object()?;
    tree.set_retention(asked.into()).map_err(refused)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn parsed(tree: &Tree, path: &str) -> Result<InstancePath, Refused> {
    Ok(InstancePath::parse_cli_path(tree.schema(), path)?)
}

/// An answer that is streamed. What goes wrong before its first byte is told as a refusal; later,
/// the connection breaks.
async fn streamed(
    media: &'static str,
    work: impl FnOnce(&mut Starting) -> Result<Found, Refused> + Send + 'static,
) -> Response {
    let (writer, body) = stream(PAUSE_MAX);
    let (start, started) = oneshot::channel();
    let mut starting = Starting {
        start: Some(start),
        writer,
    };
    tokio::task::spawn_blocking(move || {
        let done = work(&mut starting);
        let Starting { start, writer } = starting;
        let told = match start {
            Some(start) => start.send(done),
            None => match done {
                Ok(_) => Ok(()),
                Err(errors) => {
                    tracing::warn!(%errors, "an answer broke off");
                    return;
                }
            },
        };
        if told.is_ok() {
            // A client that has left needs no end.
            let _ = writer.end();
        }
    });
    match started.await {
        Ok(Ok(Found::Something)) => ([(CONTENT_TYPE, media)], body).into_response(),
        Ok(Ok(Found::Nothing)) => StatusCode::NOT_FOUND.into_response(),
        Ok(Err(errors)) => refusal(&errors),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A body whose answer starts with its first byte.
struct Starting {
    start: Option<oneshot::Sender<Result<Found, Refused>>>,
    writer: BodyWriter,
}

impl io::Write for Starting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(start) = self.start.take()
            && start.send(Ok(Found::Something)).is_err()
        {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
