//! A parsed request, as a handler receives it.

use std::cell::{Cell, RefCell};
use std::str::FromStr;

use axum::body::Body;
use espalier_documents::{ErrorKind, check_strict_json, parse_strict_json};
use espalier_service::access::{Resource, ResourceAccess};
use espalier_service::audit::{AuditTarget, PATHS_MAX};
use http::header::{CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::problem::{Problem, Result};
use crate::intake::{Held, Staged, StagedReader, media};
use crate::request_session::Peer;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The media type of JSON Merge Patch (RFC 7396).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Maximum number of changed resources of a request that its audit record names.
const CHANGED_MAX: usize = PATHS_MAX;

/// The patch formats that are supported (RFC 5789 §3.1).
pub(crate) const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// The input of a handler.
pub(crate) struct Call<'a, S> {
    pub(crate) service: &'a S,
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: &'a HeaderMap,
    /// Who sent the request; `None` if nobody is authenticated.
    pub(crate) peer: Option<&'a Peer>,
    pub(crate) body: CallBody,
    /// What the user may do.
    pub(crate) access: ResourceAccess,
    /// The resources that the request changes, or wants to.
    pub(crate) changed: RefCell<Vec<AuditTarget>>,
}

/// The resource in the audit log.
fn audit_target(resource: Resource<'_>) -> Option<AuditTarget> {
    match resource {
        Resource::Collection(name) => Some(AuditTarget::Collection(name.to_owned())),
        Resource::Statistics(name) => Some(AuditTarget::Metric(name.to_owned())),
        Resource::StatisticsSettings | Resource::AuditLog => None,
    }
}

/// The body of a request.
pub(crate) enum CallBody {
    /// In memory.
    InMemory(Held),
    /// Lines; can be read once, one after another.
    Lines(Cell<Option<Staged>>),
}

impl<S> Call<'_, S> {
    /// Rejects a read that the user is not permitted. The error does not depend on whether the resource exists.
    pub(crate) fn require_read(&self, resource: Resource<'_>) -> Result<()> {
        match self.access.may_read(resource) {
            true => Ok(()),
            false => Err(Problem::denied(resource)),
        }
    }

    /// Rejects a change that the user is not permitted.
    pub(crate) fn require_change(&self, resource: Resource<'_>) -> Result<()> {
        if let Some(target) = audit_target(resource) {
            let mut changed = self.changed.borrow_mut();
            if !changed.contains(&target) && changed.len() < CHANGED_MAX {
                changed.push(target);
            }
        }
        match self.access.may_change(resource) {
            true => Ok(()),
            false => Err(Problem::denied(resource)),
        }
    }

    /// A variable part of the path, by its position.
    pub(crate) fn path_parameter(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// The value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(defined, _)| defined == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The values of a query parameter that may be repeated.
    pub(crate) fn parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self
            .query
            .iter()
            .filter(move |(defined, _)| defined == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A query parameter, parsed as `V`.
    pub(crate) fn parsed<V: FromStr>(&self, name: &str) -> Result<Option<V>> {
        let parsed = self.parameter(name).map(|text| {
            text.parse()
                .map_err(|_| Problem::request(format!("{name}={text:?} cannot be read")))
        });
        parsed.transpose()
    }

    /// Returns an error if `name` is combined with one of `others`.
    pub(crate) fn check_excludes(&self, name: &str, others: &[&str]) -> Result<()> {
        let other = others.iter().find(|other| self.parameter(other).is_some());
        match (self.parameter(name), other) {
            (Some(_), Some(other)) => Err(Problem::request(format!(
                "{name} and {other} cannot be combined"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns an error if one of `others` is used without `name`.
    pub(crate) fn check_requires(&self, name: &str, others: &[&str]) -> Result<()> {
        let other = others.iter().find(|other| self.parameter(other).is_some());
        match (self.parameter(name), other) {
            (None, Some(other)) => Err(Problem::request(format!("{other} requires {name}"))),
            _ => Ok(()),
        }
    }

    /// The body. Use [`Self::lines`] for a body of lines.
    pub(crate) fn body(&self) -> &[u8] {
        match &self.body {
            CallBody::InMemory(held) => held.bytes(),
            CallBody::Lines(_) => &[],
        }
    }

    /// The lines of the body. Can be read once.
    pub(crate) fn lines(&self) -> Result<StagedReader> {
        let staged = match &self.body {
            CallBody::InMemory(_) => None,
            CallBody::Lines(staged) => staged.take(),
        };
        let staged = staged.ok_or_else(|| Problem::internal("the body was read already"))?;
        let reader = staged.into_reader();
        reader.map_err(|error| Problem::internal(format!("the body cannot be read: {error}")))
    }

    /// The body as JSON. Numbers that cannot be represented exactly are rejected.
    pub(crate) fn json(&self) -> Result<Json> {
        parse_strict_json(self.body()).map_err(|error| {
            Problem::request(match error.kind() {
                ErrorKind::Syntax => format!("the body is not JSON: {error}"),
                _ => format!("the body: {error}"),
            })
        })
    }

    /// The body, a JSON object, deserialized. Numbers that cannot be represented exactly are rejected.
    pub(crate) fn object<T: DeserializeOwned>(&self) -> Result<T> {
        let object = self.raw_object()?;
        check_strict_json(self.body())
            .map_err(|error| Problem::request(format!("the body: {error}")))?;
        Ok(object)
    }

    /// Like [`Self::object`], without the check of numbers: for types that read them digit by digit.
    pub(crate) fn raw_object<T: DeserializeOwned>(&self) -> Result<T> {
        read(self.body()).map_err(|problem| problem.within("the body"))
    }

    /// The body as a JSON Merge Patch (RFC 7396). A patch that is not an object replaces the whole
    /// document; it requires the media type of merge patches.
    pub(crate) fn merge_patch(&self) -> Result<Json> {
        let patch = self.json()?;
        if patch.is_object()
            || media(self.headers).is_some_and(|media| media.essence == MERGE_PATCH)
        {
            return Ok(patch);
        }
        Err(Problem::request(format!(
            "a patch that is not an object replaces the whole document: send it as {MERGE_PATCH}, or use PUT"
        )))
    }
}

/// Deserializes a JSON object. An error names the member that is wrong.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    // Serde accepts an array for a struct.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::request("it is not a JSON object"));
    }
    let mut source = serde_json::Deserializer::from_slice(text);
    let read = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        let place = error.path().to_string();
        let problem = Problem::request(error.into_inner().to_string());
        match place.as_str() {
            "." | "?" => problem,
            place => problem.within(place),
        }
    })?;
    source
        .end()
        .map_err(|error| Problem::request(error.to_string()))?;
    Ok(read)
}

/// Decodes a percent-encoded part of a path or query.
pub(crate) fn percent_decode(text: &str) -> Result<String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| Problem::request("the path or the query is not UTF-8"))?;
    Ok(text.into_owned())
}

/// Parses a query string into decoded name-value pairs.
pub(crate) fn parameters(query: Option<&str>) -> Result<Vec<(String, String)>> {
    let pairs = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((
                percent_decode(&name.replace('+', " "))?,
                percent_decode(&value.replace('+', " "))?,
            ))
        })
        .collect()
}

/// Percent-encodes a part of a path.
pub(crate) fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A response with a JSON body.
pub(crate) fn json_response(status: StatusCode, body: &Json) -> Response<Body> {
    json_text(status, body.to_string())
}

/// A response with a JSON body that is serialized already.
pub(crate) fn json_text(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let media = HeaderValue::from_static(JSON);
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Sets the `ETag` header.
pub(crate) fn set_etag(response: &mut Response<Body>, tag: impl std::fmt::Display) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
}

/// Sets the `Location` header.
pub(crate) fn set_location(response: &mut Response<Body>, place: &str) {
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(LOCATION, place);
    }
}
