//! HTTP routes for providers: programs that serve state, answer operations and take part in commits.
//!
//! - `POST /espalier/providers`: connects a program. The response is a stream of messages, one JSON object in each line,
//!   which ends when the program disconnects.
//! - `POST /espalier/providers/messages`: answers and other messages of a program.
//! - `GET /espalier/providers`: the connected programs.
//!
//! `docs/guide/providers.md` describes the messages.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use espalier_protocols::anchors::RequestAnchor;
use espalier_protocols::http_error::HttpError;
use espalier_protocols::json::json_response;
use espalier_protocols::restconf::{BodyWriter, Who, stream};
use espalier_service::SessionDatastore;
use espalier_service::providers::{ProviderConnection, ProviderDescription};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::admin_api::{AdminApi, BodyKind, RequestDatastore, WriteRequest, WriteRoute};
use crate::endpoint::{MESSAGES_PATH, PROVIDERS_PATH};

/// A program that reads nothing for this long counts as disconnected.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// After this time without a message, one without meaning is sent.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The same while calls wait for answers: a program that is gone is only noticed by a message to it.
const HEARTBEAT_IN_CALL: Duration = Duration::from_millis(200);

/// How often the stream looks whether the program is still there.
const CLOSED_CHECK: Duration = Duration::from_millis(200);

/// The maximum size of a description, and of the messages in a request.
const REQUEST_BYTES_MAX: u64 = 64 << 20;

/// Adds the routes.
pub fn add(api: AdminApi) -> AdminApi {
    api.read_route(PROVIDERS_PATH, "The connected programs", list)
        .write_route(WriteRoute {
            path: PROVIDERS_PATH,
            summary: "Connect a program; the response is the stream of its calls",
            body: BodyKind::Json,
            bytes_max: REQUEST_BYTES_MAX,
            handler: connect,
        })
        .write_route(WriteRoute {
            path: MESSAGES_PATH,
            summary: "Answers and other messages of a connected program",
            body: BodyKind::Json,
            bytes_max: REQUEST_BYTES_MAX,
            handler: receive,
        })
}

async fn list(RequestDatastore(of): RequestDatastore) -> Response {
    let programs = match of.providers() {
        Ok(programs) => programs,
        Err(error) => return HttpError::from(error).into_response(),
    };
    let programs = programs.iter();
    let programs = programs.map(|one| json!({"name": one.name(), "user": one.user()}));
    json_response(&json!({"providers": programs.collect::<Vec<_>>()}))
}

fn datastore(found: &RequestAnchor, request: &WriteRequest) -> Result<SessionDatastore, HttpError> {
    let identity = Who::of(&request.parts.headers)?;
    Ok(found.datastore(&request.parts, &identity.session)?)
}

fn connect(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let description: ProviderDescription = request.object()?;
    let of = datastore(found, request)?;
    let connection = of.connect_provider(&description)?;
    let (writer, body) = stream(PAUSE_MAX);
    let thread = std::thread::Builder::new().name("provider".to_owned());
    let (running, open) = (of.clone(), Arc::clone(&connection));
    let spawned = thread.spawn(move || {
        let open = Open {
            of: running,
            connection: open,
        };
        // A program that disconnects is not an error.
        if let Err(error) = run(&open, writer) {
            let program = open.connection.name();
            tracing::debug!(%error, program, "the stream of a program ended");
        }
    });
    if let Err(error) = spawned {
        of.disconnect_provider(&connection);
        let error = DataError::new(ErrorTag::ResourceDenied, error.to_string());
        return Err(error.of_type(ErrorType::Protocol).into());
    }
    Ok(stream_response(body))
}

fn stream_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let media = HeaderValue::from_static("application/x-ndjson");
    headers.insert(CONTENT_TYPE, media);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A connection that ends when this is dropped, also by a panic.
struct Open {
    of: SessionDatastore,
    connection: Arc<ProviderConnection>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.of.disconnect_provider(&self.connection);
    }
}

/// Writes messages until the program disconnects, the connection is closed, or its user may not have it any more.
fn run(open: &Open, mut writer: BodyWriter) -> io::Result<()> {
    let connection = &*open.connection;
    let mut checked = Instant::now();
    writeln!(writer, "{}", json!({"connected": connection.id()}))?;
    writer.send_now()?;
    let mut sent = Instant::now();
    while !connection.is_closed() {
        if checked.elapsed() >= HEARTBEAT {
            if !open.of.may_provide() {
                tracing::warn!(
                    program = connection.name(),
                    "the user of a program may not have it any more"
                );
                break;
            }
            checked = Instant::now();
        }
        match connection.next_message(CLOSED_CHECK) {
            Some(message) => {
                writer.write_all(message.as_bytes())?;
                writer.write_all(b"\n")?;
            }
            None if writer.is_closed() => return Err(io::ErrorKind::BrokenPipe.into()),
            None if sent.elapsed() < heartbeat(connection) => continue,
            None => writeln!(writer, "{}", json!({"ping": true}))?,
        }
        writer.send_now()?;
        sent = Instant::now();
    }
    writer.end()
}

fn heartbeat(connection: &ProviderConnection) -> Duration {
    match connection.is_called() {
        true => HEARTBEAT_IN_CALL,
        false => HEARTBEAT,
    }
}

/// Messages of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Messages {
    /// The id of its connection.
    connection: String,
    messages: Vec<Json>,
}

fn receive(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let messages: Messages = request.object()?;
    let of = datastore(found, request)?;
    let connection = of.provider(&messages.connection).ok_or_else(|| {
        let message = "there is no such connection; connect again";
        let error = DataError::new(ErrorTag::InvalidValue, message);
        HttpError::with_status(StatusCode::NOT_FOUND, error.of_type(ErrorType::Protocol))
    })?;
    for message in &messages.messages {
        of.receive_from_provider(&connection, message)?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
