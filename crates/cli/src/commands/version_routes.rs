//! HTTP routes for earlier versions, in addition to RESTCONF.
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

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use espalier_protocols::anchors::RequestAnchor;
use espalier_protocols::http_error::HttpError;
use espalier_protocols::json::{Parameters, json_response};
use espalier_protocols::restconf::{BodyWriter, ReadParameters, Who, stream};
use espalier_service::{ChangeNote, SessionDatastore};
use espalier_store::{Error, HISTORY_PAGE_MAX};
use espalier_yang::InstancePath;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use tokio::sync::oneshot;

use super::admin_api::{AdminApi, BodyKind, RequestDatastore, WriteRequest, WriteRoute};
use crate::endpoint::{
    AT_PATH, Changed, CommitBody, DIFF_PATH, Differences, HISTORY_PATH, LineStyle, RETENTION_PATH,
    ROLLBACK_PATH, Read, RetentionBody, Rollback, diff_lines, print_view,
};
use espalier_terminal::document::{Format, Found};

/// A client that reads nothing for this long counts as disconnected.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The maximum size of a request that writes.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// Adds the routes.
pub fn add(api: AdminApi) -> AdminApi {
    api.read_route(HISTORY_PATH, "The newest commits, newest first", history)
        .read_route(DIFF_PATH, "What differs between two versions", diff)
        .read_route(AT_PATH, "Data as it was at a version", at)
        .read_route(RETENTION_PATH, "How many versions are kept", retention)
        .write_route(WriteRoute {
            path: ROLLBACK_PATH,
            summary: "Bring back a version, in a new commit",
            body: BodyKind::Json,
            bytes_max: REQUEST_BYTES_MAX,
            handler: rollback,
        })
        .write_route(WriteRoute {
            path: RETENTION_PATH,
            summary: "Set how many versions are kept; older ones are removed",
            body: BodyKind::Json,
            bytes_max: REQUEST_BYTES_MAX,
            handler: set_retention,
        })
}

/// Runs work that may block on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, Response> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(IntoResponse::into_response),
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            Err(StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
    }
}

#[derive(Deserialize)]
struct HistoryQuery {
    #[serde(default = "history_limit")]
    limit: usize,
    from: Option<u64>,
}

fn history_limit() -> usize {
    HISTORY_PAGE_MAX
}

async fn history(
    RequestDatastore(of): RequestDatastore,
    Parameters(query): Parameters<HistoryQuery>,
) -> Response {
    let page = blocking(move || Ok(of.history(query.from, query.limit)?)).await;
    match page {
        Ok(page) => {
            let page: Vec<_> = page.into_iter().map(CommitBody::from).collect();
            json_response(&page)
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

async fn diff(
    RequestDatastore(of): RequestDatastore,
    Parameters(query): Parameters<DiffQuery>,
) -> Response {
    let media = match query.style {
        LineStyle::Text => "text/plain; charset=utf-8",
        LineStyle::Json => "application/x-ndjson",
    };
    stream_response(media, move |out| {
        let path = parse_path(&of, &query.path)?;
        let differences = Differences {
            from: query.from,
            to: query.to,
            path: &path,
            style: query.style,
        };
        diff_lines(&of, &differences, &mut |line| {
            let written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
            written.map_err(|_| Error::Stopped)
        })?;
        Ok(Found::Something)
    })
    .await
}

/// The parameters that are not those of [`ReadParameters`].
#[derive(Deserialize)]
struct AtQuery {
    version: u64,
    path: String,
}

async fn at(
    RequestDatastore(of): RequestDatastore,
    headers: HeaderMap,
    RawQuery(text): RawQuery,
    Parameters(query): Parameters<AtQuery>,
) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = match accept {
        Some(media) if media.starts_with(Format::Xml.media_type()) => Format::Xml,
        _ => Format::Json,
    };
    let text = text.unwrap_or_default();
    let parameters = match ReadParameters::parse(&text, &["version", "path"]) {
        Ok(parameters) => parameters,
        Err(error) => return error.into_response(),
    };
    stream_response(format.media_type(), move |out| {
        let view = of.at(query.version)?;
        // Parsed by the schema of that version.
        let path = InstancePath::parse_cli_path(view.schema(), &query.path)?;
        let read = Read {
            schema: view.schema(),
            path: &path,
            depth: parameters.depth,
            content: parameters.content,
            fields: parameters.fields.as_deref(),
            with_defaults: parameters.with_defaults,
            with_origin: parameters.with_origin,
            pages: &parameters.pages,
            format,
            at: None,
        };
        let found = print_view(&view, &read, out);
        found.map_err(|failure| failure.into_reported().into())
    })
    .await
}

fn rollback(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let rollback: Rollback = request.object()?;
    let note = ChangeNote {
        author: &rollback.author,
        comment: &rollback.comment,
    };
    let who = Who::of(&request.parts.headers)?;
    let of = found.datastore(&request.parts, &who.session)?;
    let commit = of.rollback(rollback.version, note)?;
    Ok(json_response(&Changed::from(commit)))
}

async fn retention(RequestDatastore(of): RequestDatastore) -> Response {
    match blocking(move || Ok(of.retention()?)).await {
        Ok(retention) => json_response(&RetentionBody::from(retention)),
        Err(response) => response,
    }
}

fn set_retention(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let retention: RetentionBody = request.object()?;
    let who = Who::of(&request.parts.headers)?;
    let of = found.datastore(&request.parts, &who.session)?;
    of.set_retention(retention.into())?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn parse_path(of: &SessionDatastore, path: &str) -> Result<InstancePath, HttpError> {
    Ok(InstancePath::parse_cli_path(of.schema(), path)?)
}

/// A streamed response. An error before its first byte becomes an error response; a later one breaks the connection.
async fn stream_response(
    media: &'static str,
    work: impl FnOnce(&mut ResponseWriter) -> Result<Found, HttpError> + Send + 'static,
) -> Response {
    let (writer, body) = stream(PAUSE_MAX);
    let (start, started) = oneshot::channel();
    let mut response = ResponseWriter {
        start: Some(start),
        writer,
    };
    tokio::task::spawn_blocking(move || {
        let done = work(&mut response);
        let ResponseWriter { start, writer } = response;
        let sent = match start {
            Some(start) => start.send(done),
            None => match done {
                Ok(_) => Ok(()),
                Err(error) => {
                    tracing::warn!(errors = %error.errors(), "an answer broke off");
                    return;
                }
            },
        };
        if sent.is_ok() {
            // A disconnected client needs no end of the body.
            let _ = writer.end();
        }
    });
    match started.await {
        Ok(Ok(Found::Something)) => ([(CONTENT_TYPE, media)], body).into_response(),
        Ok(Ok(Found::Nothing)) => StatusCode::NOT_FOUND.into_response(),
        Ok(Err(error)) => error.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Writes a response body; the first byte also sends the status.
struct ResponseWriter {
    start: Option<oneshot::Sender<Result<Found, HttpError>>>,
    writer: BodyWriter,
}

impl io::Write for ResponseWriter {
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
