//! An operation of an API.

use axum::body::Body;
use http::{Method, Response};

use super::call::{Call, JSON, MERGE_PATCH};
use super::problem::{Problem, Result};

/// Bytes of the body of a request that brings no lines: 16 MiB.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Bytes of the body of a request that brings lines: 256 MiB. Larger ones are sent in parts.
const LINES_BYTES_MAX: usize = 256 << 20;

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
                "text/plain",
                "application/octet-stream",
            ],
            Self::Text => &[
                "text/plain",
                "application/openmetrics-text",
                "application/octet-stream",
            ],
            Self::Patch(_) => &[MERGE_PATCH, JSON],
        }
    }

    /// Whether a body that says that it is of a media type (in small letters) may be this. Of lines,
    /// `curl --data-binary @FILE` says that they are a form where nobody tells it better.
    fn may_be(self, media: &str) -> bool {
        let is_json = media.ends_with("+json") && !media.ends_with("patch+json");
        match self {
            Self::Schema(_) if is_json => true,
            Self::Lines | Self::Text if media == "application/x-www-form-urlencoded" => true,
            _ => self.media().contains(&media),
        }
    }

    /// Refuses what says that it is something else. What says nothing is taken for what it has to be.
    pub(crate) fn check_media(self, media: Option<&str>) -> Result<()> {
        match media {
            Some(media) if self != Self::Nothing && !self.may_be(media) => Err(match self {
                Self::Patch(_) => Problem::patch_media(media),
                _ => Problem::media(format!("the body is {media}; send {}", self.media()[0])),
            }),
            _ => Ok(()),
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

    /// Bytes that its body may have.
    pub(crate) fn body_bytes_max(&self) -> usize {
        match self.request {
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
