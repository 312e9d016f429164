//! A request, taken apart.

use std::str::FromStr;

use axum::body::Body;
use bytes::Bytes;
use espalier_documents::{Collection, Value};
use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value as Json;

use super::limits::{PAGE_MAX, PAGE_USUAL};
use super::problem::{Problem, Result};
use super::service::DocumentsService;

/// What a handler gets.
pub(super) struct Call<'a> {
    pub(super) service: &'a DocumentsService,
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Bytes,
}

impl Call<'_> {
    /// A variable part of the path, by its place.
    pub(super) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// The collection that the path names.
    pub(super) fn collection(&self) -> Result<Collection<Json>> {
        self.service.collection(self.part(0))
    }

    /// The key that the path names.
    pub(super) fn key(&self) -> Result<u64> {
        let text = self.part(1);
        text.parse()
            .map_err(|_| Problem::missing(format!("{text:?} is no key; keys are numbers from 0")))
    }

    /// A parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that may be given several times.
    pub(super) fn parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self.query.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter of a type.
    pub(super) fn parsed<V: FromStr>(&self, name: &str) -> Result<Option<V>> {
        let parsed = self.parameter(name).map(|text| {
            text.parse()
                .map_err(|_| Problem::request(format!("{name}={text:?} cannot be read")))
        });
        parsed.transpose()
    }

    /// An indexed value: JSON where it is some, else a string.
    pub(super) fn value(&self, name: &str) -> Result<Option<Value>> {
        self.parameter(name).map(value).transpose()
    }

    /// How many a page may have.
    pub(super) fn page(&self) -> Result<usize> {
        let limit = self.parsed::<usize>("limit")?.unwrap_or(PAGE_USUAL);
        if limit == 0 || limit > PAGE_MAX {
            let detail = format!("limit={limit}: a page has 1 to {PAGE_MAX}");
            return Err(Problem::request(detail));
        }
        Ok(limit)
    }

    /// The body, as JSON.
    pub(super) fn json(&self) -> Result<Json> {
        if let Some(media) = self.headers.get(CONTENT_TYPE) {
            let media = media.to_str().unwrap_or_default();
            let media = media.split(';').next().unwrap_or_default().trim();
            if media != "application/json" && !media.ends_with("+json") {
                let detail = format!("the body is {media}; send application/json");
                return Err(Problem::media(detail));
            }
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Problem::request(format!("the body is no JSON: {error}")))
    }
}

/// An indexed value as text: JSON where it is some, else a string.
pub(super) fn value(text: &str) -> Result<Value> {
    let json: Json = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
    Ok(Value::try_from(&json)?)
}

/// The parts of a path, and the parameters of a query, decoded.
pub(super) fn decoded(text: &str) -> Result<String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| Problem::request("the path or the query is not UTF-8"))?;
    Ok(text.into_owned())
}

/// The parameters of a query.
pub(super) fn parameters(query: Option<&str>) -> Result<Vec<(String, String)>> {
    let pairs = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((
                decoded(&name.replace('+', " "))?,
                decoded(&value.replace('+', " "))?,
            ))
        })
        .collect()
}

/// One part of a path.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// An answer with a JSON body.
pub(super) fn json(status: StatusCode, body: &Json) -> Response<Body> {
    let mut answer = Response::new(Body::from(body.to_string()));
    *answer.status_mut() = status;
    let media = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, media);
    answer
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

/// Sets an entity tag.
pub(super) fn tag(answer: &mut Response<Body>, tag: impl std::fmt::Display) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        answer.headers_mut().insert(ETAG, tag);
    }
}

/// Says where the new resource is.
pub(super) fn location(answer: &mut Response<Body>, place: &str) {
    if let Ok(place) = HeaderValue::from_str(place) {
        answer.headers_mut().insert(LOCATION, place);
    }
}
