//! A request, taken apart.

use std::str::FromStr;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value as Json;

use super::problem::{Problem, Result};

/// What a handler gets.
pub(crate) struct Call<'a, S> {
    pub(crate) service: &'a S,
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Bytes,
}

impl<S> Call<'_, S> {
    /// A variable part of the path, by its place.
    pub(crate) fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    /// A parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that may be given several times.
    pub(crate) fn parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self.query.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter of a type.
    pub(crate) fn parsed<V: FromStr>(&self, name: &str) -> Result<Option<V>> {
        let parsed = self.parameter(name).map(|text| {
            text.parse()
                .map_err(|_| Problem::request(format!("{name}={text:?} cannot be read")))
        });
        parsed.transpose()
    }

    /// The body, as JSON.
    pub(crate) fn json(&self) -> Result<Json> {
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

/// The parts of a path, and the parameters of a query, decoded.
pub(crate) fn decoded(text: &str) -> Result<String> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| Problem::request("the path or the query is not UTF-8"))?;
    Ok(text.into_owned())
}

/// The parameters of a query.
pub(crate) fn parameters(query: Option<&str>) -> Result<Vec<(String, String)>> {
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
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// An answer with a JSON body.
pub(crate) fn json(status: StatusCode, body: &Json) -> Response<Body> {
    let mut answer = Response::new(Body::from(body.to_string()));
    *answer.status_mut() = status;
    let media = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, media);
    answer
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

/// Sets an entity tag.
pub(crate) fn tag(answer: &mut Response<Body>, tag: impl std::fmt::Display) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        answer.headers_mut().insert(ETAG, tag);
    }
}

/// Says where the new resource is.
pub(crate) fn location(answer: &mut Response<Body>, place: &str) {
    if let Ok(place) = HeaderValue::from_str(place) {
        answer.headers_mut().insert(LOCATION, place);
    }
}
