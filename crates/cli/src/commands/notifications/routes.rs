//! HTTP routes for sending notifications and for the settings of the event log. Events are received over RESTCONF.

use axum::response::{IntoResponse, Response};
use espalier_protocols::anchors::RequestAnchor;
use espalier_protocols::http_error::HttpError;
use espalier_protocols::json::json_response;
use espalier_protocols::restconf::Who;
use espalier_store::EVENT_BYTES_MAX;
use serde_json::Value as Json;

use super::source::notification;
use crate::commands::admin_api::{AdminApi, BodyKind, RequestDatastore, WriteRequest, WriteRoute};
use crate::endpoint::{EVENT_SETTINGS_PATH, NOTIFY_PATH, NotifyBody, SentBody};

/// The maximum size of settings.
const SETTINGS_BYTES_MAX: u64 = 64 << 10;

/// Adds the routes.
pub fn add(api: AdminApi) -> AdminApi {
    api.write_route(WriteRoute {
        path: NOTIFY_PATH,
        summary: "Sends a notification, which is validated and stored in the event log",
        body: BodyKind::Json,
        bytes_max: 2 * EVENT_BYTES_MAX as u64,
        handler: notify,
    })
    .read_route(
        EVENT_SETTINGS_PATH,
        "The settings of the event log",
        settings,
    )
    .write_route(WriteRoute {
        path: EVENT_SETTINGS_PATH,
        summary: "Changes the settings of the event log with a JSON Merge Patch (RFC 7396)",
        body: BodyKind::Json,
        bytes_max: SETTINGS_BYTES_MAX,
        handler: change_settings,
    })
}

fn notify(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let body: NotifyBody = request.object()?;
    let who = Who::of(&request.parts.headers)?;
    let running = found.datastore(&request.parts, &who.session)?;
    let sequence = running.notify(notification(running.schema(), &body)?)?;
    Ok(json_response(&SentBody { sequence }))
}

async fn settings(RequestDatastore(of): RequestDatastore) -> Response {
    match of.event_settings() {
        Ok(settings) => json_response(&settings),
        Err(error) => HttpError::from(error).into_response(),
    }
}

fn change_settings(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let patch: Json = request.object()?;
    let who = Who::of(&request.parts.headers)?;
    let running = found.datastore(&request.parts, &who.session)?;
    Ok(json_response(&running.change_event_settings(&patch)?))
}
