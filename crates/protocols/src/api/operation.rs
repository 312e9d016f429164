//! An operation of an API.

use axum::body::Body;
use http::{Method, Response};

use super::call::{Call, JSON, MERGE_PATCH};
use super::problem::{Problem, Result};
use crate::intake::Media;

/// Bytes of the body of a request that brings no lines: 16 MiB.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Bytes of the body of a request that brings lines: 256 MiB. Larger ones are sent in parts.
const LINES_BYTES_MAX: usize = 256 << 20;

/// Bytes of the body of a request that needs none.
const EMPTY_BYTES_MAX: usize = 1 << 10;

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4";

/// Answers a request.
pub(crate) type Handler<S> = fn(&Call<'_, S>) -> Result<Response<Body>>;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is none.
    Nothing,
    /// A schema of the OpenAPI description.
    Schema(&'static str),
    /// JSON lines.
    Lines,
    /// Lines of other kinds.
    Text,
    /// Server-sent events, whose data have this schema. Only ever an answer.
    Events(&'static str),
    /// Comma-separated values beside a schema, as the client likes.
    Csv(&'static str),
    /// A JSON Merge Patch of what has this schema.
    Patch(&'static str),
}

impl Content {
    /// The media types that a body of it may say that it is, the usual one first. What has a schema may
    /// also be any other JSON (`+json`, RFC 6839 §3.1) that is no patch.
    pub(crate) fn media(self) -> &'static [&'static str] {
        match self {
            Self::Nothing | Self::Events(_) => &[],
            Self::Schema(_) | Self::Csv(_) => &[JSON],
            Self::Lines => &[
                "application/jsonl",
                "application/x-ndjson",
                JSON,
                "application/octet-stream",
            ],
            Self::Text => &[
                "application/octet-stream",
                "application/openmetrics-text",
                "application/jsonl",
                "application/x-ndjson",
                PROMETHEUS,
            ],
            Self::Patch(_) => &[MERGE_PATCH, JSON],
        }
    }

    /// Whether a body of a media type may be this. A form of any page can send text/plain, which
    /// therefore needs the parameter that Prometheus gives it.
    fn may_be(self, media: &Media) -> bool {
        let essence = media.essence.as_str();
        let is_json = essence.ends_with("+json") && !essence.ends_with("patch+json");
        match self {
            Self::Nothing => essence == JSON,
            Self::Schema(_) if is_json => true,
            Self::Text if essence == "text/plain" => media.has_version,
            _ => self.media().contains(&essence),
        }
    }

    /// Refuses what is of another media type, or of none: a page of another site can send that without
    /// asking the browser whether it may. What has no body says that it is JSON, likewise.
    pub(crate) fn check_media(self, media: Option<&Media>) -> Result<()> {
        let expected = self.media().first().copied().unwrap_or(JSON);
        match (media, self) {
            (Some(media), _) if self.may_be(media) => Ok(()),
            (Some(media), Self::Patch(_)) => Err(Problem::patch_media(&media.essence)),
            (Some(media), _) => {
                let essence = &media.essence;
                Err(Problem::media(format!(
                    "the body is {essence}; send {expected}"
                )))
            }
            (None, _) => Err(Problem::media(format!(
                "the request has no Content-Type; send {expected}"
            ))),
        }
    }
}

/// What a parameter of the query holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Text.
    Text,
    /// Text, given several times.
    Several,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number between these.
    Number(u64, u64),
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) holds: Holds,
    pub(crate) is_required: bool,
}

impl Parameter {
    /// A parameter that holds text.
    pub(crate) const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            holds: Holds::Text,
            is_required: false,
        }
    }

    /// The same, which holds this.
    pub(crate) const fn holds(mut self, holds: Holds) -> Self {
        self.holds = holds;
        self
    }

    /// The same, which must be given.
    pub(crate) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }
}

/// One operation.
pub(crate) struct Operation<S> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Parameter],
    /// Whether `If-Match` and `If-None-Match` are honoured.
    pub(crate) is_conditional: bool,
    /// The headers of what succeeds; beside them, what is made has a `Location`.
    pub(crate) headers: &'static [&'static str],
    pub(crate) request: Content,
    /// Status and body of what succeeds.
    pub(crate) answers: &'static [(u16, Content)],
    pub(crate) handler: Handler<S>,
}

impl<S> Operation<S> {
    /// The variable parts of a path of this operation, as they stand there; `None` where it is
    /// another path.
    pub(crate) fn variable_parts<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        if self.path.split('/').count() != path.split('/').count() {
            return None;
        }
        let mut variable = Vec::new();
        for (name, part) in self.path.split('/').zip(path.split('/')) {
            if name.starts_with('{') && !part.is_empty() {
                variable.push(part);
            } else if name != part {
                return None;
            }
        }
        Some(variable)
    }

    /// Whether it must say of what media type its body is: wherever it changes something. Browsers let
    /// no page of another site send DELETE.
    pub(crate) fn needs_media(&self) -> bool {
        !self.method.is_safe() && (self.method != Method::DELETE || self.takes_body())
    }

    /// Whether it has a body.
    pub(crate) fn takes_body(&self) -> bool {
        self.request != Content::Nothing
    }

    /// Bytes that its body may have.
    pub(crate) fn body_bytes_max(&self) -> usize {
        match self.request {
            Content::Nothing => EMPTY_BYTES_MAX,
            Content::Lines | Content::Text => LINES_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }
}

/// An operation that is being described.
pub(crate) struct Of<S> {
    operation: Operation<S>,
}

/// Begins to describe an operation.
pub(crate) fn of<S>(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler<S>,
) -> Of<S> {
    Of {
        operation: Operation {
            method,
            path,
            id,
            summary,
            query: &[],
            is_conditional: false,
            headers: &[],
            request: Content::Nothing,
            answers: &[],
            handler,
        },
    }
}

impl<S> Of<S> {
    /// With parameters of the query.
    pub(crate) fn query(mut self, query: &'static [Parameter]) -> Self {
        self.operation.query = query;
        self
    }

    /// With conditions: `If-Match` and `If-None-Match` are honoured.
    pub(crate) fn conditional(mut self) -> Self {
        self.operation.is_conditional = true;
        self
    }

    /// With these headers in what succeeds.
    pub(crate) fn tells(mut self, headers: &'static [&'static str]) -> Self {
        self.operation.headers = headers;
        self
    }

    /// With a body.
    pub(crate) fn takes(mut self, request: Content) -> Self {
        self.operation.request = request;
        self
    }

    /// What it answers where it succeeds.
    pub(crate) fn gives(mut self, answers: &'static [(u16, Content)]) -> Operation<S> {
        self.operation.answers = answers;
        self.operation
    }
}
