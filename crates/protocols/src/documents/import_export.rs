//! Export and import of collections as JSON lines.

use std::io;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use super::limits::PAUSE_MAX;
use super::parsed_request::{Call, json_response};
use super::problem::Result;
use crate::restconf::stream;

pub(super) fn export(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let (mut writer, body) = stream(PAUSE_MAX);
    std::thread::spawn(move || {
        let exported = collection.export(&mut writer).map_err(io::Error::other);
        // A body without its end marker fails at the client too.
        if let Err(error) = exported.and_then(|_| writer.end()) {
            tracing::warn!(collection = collection.name(), %error, "an export was aborted");
        }
    });
    let mut response = Response::new(body);
    let media = HeaderValue::from_static("application/jsonl");
    response.headers_mut().insert(CONTENT_TYPE, media);
    Ok(response)
}

pub(super) fn import(call: &Call<'_>) -> Result<Response<Body>> {
    let imported = call.collection()?.import(&mut call.lines()?)?;
    Ok(json_response(
        StatusCode::OK,
        &json!({ "documents": imported.documents }),
    ))
}
