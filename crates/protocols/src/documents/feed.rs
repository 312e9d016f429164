//! The change feed of a collection, as server-sent events (HTML Living Standard §9.2).
//!
//! The id of each event is the version of its commit, so a client resumes where its connection was lost.
//! Each feed has its own thread, which waits for the engine; their number is limited, and they end when the
//! server shuts down.

use std::io::{self, Write};
use std::time::Instant;

use axum::body::Body;
use espalier_documents::{ErrorKind, Event, Feed, JsonDocument, Version};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value as Json, json};

use super::limits::{FEED_GAP_PAUSE, FEED_HEARTBEAT, FEED_SHUTDOWN_CHECK, PAUSE_MAX};
use super::parsed_request::Call;
use super::problem::{Problem, Result};
use crate::request_session::caller_of;
use crate::restconf::{BodyWriter, stream};
use crate::stream_slots::{LAST_EVENT_ID, StreamSlots};

/// The delay before a client reconnects, in milliseconds.
const RETRY_MS: u64 = 1000;

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let after = after(call)?;
    let user = caller_of(call.peer).user;
    let slot = call.service.feeds.acquire(&user).map_err(|reason| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", reason.to_string())
    })?;
    let feed = collection.watch(after)?;
    let (writer, body) = stream(PAUSE_MAX);
    std::thread::spawn(move || {
        // A client that disconnects is not an error.
        if let Err(error) = run(feed, writer, &slot.slots) {
            tracing::debug!(%error, "a feed of documents ended");
        }
    });
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let media = HeaderValue::from_static("text/event-stream");
    headers.insert(CONTENT_TYPE, media);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// The version after which the client wants the changes. A reconnecting browser sends the id of the last
/// event with the original URL, so the header takes precedence.
fn after(call: &Call<'_>) -> Result<Option<Version>> {
    let last = call.headers.get(&LAST_EVENT_ID);
    let Some(last) = last.filter(|last| !last.is_empty()) else {
        return Ok(call.parsed("after")?.map(Version));
    };
    let version = last.to_str().ok().and_then(|text| text.trim().parse().ok());
    let wrong = || Problem::request(format!("Last-Event-ID: {last:?} is not an event id"));
    version.map(Version).map(Some).ok_or_else(wrong)
}

/// Writes events until the client disconnects, the collection is deleted or the server shuts down.
fn run(
    mut feed: Feed<JsonDocument>,
    mut writer: BodyWriter,
    feeds: &StreamSlots,
) -> io::Result<()> {
    writeln!(writer, "retry: {RETRY_MS}")?;
    let begin = feed.begin().0;
    write_event(
        &mut writer,
        "begin",
        Some(begin),
        &json!({ "version": begin }),
    )?;
    let mut sent = Instant::now();
    while !feeds.is_ended() {
        match feed.next(FEED_SHUTDOWN_CHECK) {
            Ok(Some(Event::Commit { version, changes })) => {
                let changes = changes.iter();
                let changes: Vec<_> = changes
                    .map(|(key, document)| change_json(*key, document.as_deref()))
                    .collect();
                let value = json!({"version": version.0, "changes": changes});
                write_event(&mut writer, "commit", Some(version.0), &value)?;
            }
            Ok(Some(Event::Gap { version })) => {
                let value = json!({ "version": version.0 });
                write_event(&mut writer, "gap", Some(version.0), &value)?;
                // Further changes join the same gap: the client has to read the collection anyway.
                std::thread::sleep(FEED_GAP_PAUSE);
            }
            Ok(None) if sent.elapsed() < FEED_HEARTBEAT => continue,
            Ok(None) => {
                // A comment, which clients ignore.
                writer.write_all(b":\n\n")?;
                writer.send_now()?;
            }
            Err(error) => {
                let kind = match error.kind() {
                    ErrorKind::Missing => "removed",
                    _ => "failed",
                };
                let value = json!({ "detail": error.to_string() });
                write_event(&mut writer, kind, None, &value)?;
                return writer.end();
            }
        }
        sent = Instant::now();
    }
    writer.end()
}

/// The JSON of a changed document. A document may be null, so a deleted one has its own member.
fn change_json(key: u64, document: Option<&JsonDocument>) -> Json {
    match document {
        Some(document) => json!({"key": key, "document": document}),
        None => json!({"key": key, "deleted": true}),
    }
}

/// Writes an event and sends it.
fn write_event(
    writer: &mut BodyWriter,
    event: &str,
    id: Option<u64>,
    data: &Json,
) -> io::Result<()> {
    if let Some(id) = id {
        writeln!(writer, "id: {id}")?;
    }
    write!(writer, "event: {event}\ndata: {data}\n\n")?;
    writer.send_now()
}
