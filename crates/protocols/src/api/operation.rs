//! The description of an operation of an API.

use axum::body::Body;
use espalier_service::audit::AuditOperation;
use http::{Method, Response};

use super::parsed_request::{Call, JSON, MERGE_PATCH};
use super::problem::{Problem, Result};
use crate::intake::Media;

/// Maximum body size of a request without lines: 16 MiB.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Maximum body size of a request with lines: 256 MiB. Larger inputs are split by the client.
const LINES_BYTES_MAX: usize = 256 << 20;

/// Maximum body size of a request that needs no body.
const EMPTY_BYTES_MAX: usize = 1 << 10;

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4";

/// Handles a request.
pub(crate) type Handler<S> = fn(&Call<'_, S>) -> Result<Response<Body>>;

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// No body.
    Nothing,
    /// JSON with this schema of the OpenAPI description.
    Schema(&'static str),
    /// JSON lines.
    Lines,
    /// Lines in other formats.
    Text,
    /// Server-sent events whose data has this schema. Responses only.
    Events(&'static str),
    /// JSON with this schema or comma-separated values, as the client prefers.
    Csv(&'static str),
    /// A JSON Merge Patch of JSON with this schema.
    Patch(&'static str),
}

impl Content {
    /// The accepted media types, the usual one first. JSON with a schema also accepts other JSON types
    /// (`+json`, RFC 6839 §3.1) that are not patches.
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

    /// Whether a body of this media type is accepted. Any HTML form can send text/plain, so that type
    /// requires the parameter that Prometheus sends.
    fn accepts(self, media: &Media) -> bool {
        let essence = media.essence.as_str();
        let is_json = essence.ends_with("+json") && !essence.ends_with("patch+json");
        match self {
            Self::Nothing => essence == JSON,
            Self::Schema(_) if is_json => true,
            Self::Text if essence == "text/plain" => media.has_version,
            _ => self.media().contains(&essence),
        }
    }

    /// Rejects other media types, and requests without one: a page of another site can send those without a
    /// CORS preflight. A request without a body must be declared as JSON for the same reason.
    pub(crate) fn check_media(self, media: Option<&Media>) -> Result<()> {
        let expected = self.media().first().copied().unwrap_or(JSON);
        match (media, self) {
            (Some(media), _) if self.accepts(media) => Ok(()),
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

/// The type of a query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterType {
    /// Text.
    Text,
    /// Text; the parameter may be repeated.
    TextList,
    /// `true` or `false`.
    Boolean,
    /// One of these values.
    OneOf(&'static [&'static str]),
    /// An integer between these, inclusive.
    Integer(u64, u64),
}

/// A query parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) value_type: ParameterType,
    pub(crate) is_required: bool,
}

impl Parameter {
    /// A parameter of type text.
    pub(crate) const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            value_type: ParameterType::Text,
            is_required: false,
        }
    }

    /// Sets the type.
    pub(crate) const fn of_type(mut self, value_type: ParameterType) -> Self {
        self.value_type = value_type;
        self
    }

    /// Makes the parameter required.
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
    /// Whether `If-Match` and `If-None-Match` are supported.
    pub(crate) is_conditional: bool,
    /// The headers of a successful response. Status 201 has `Location` in addition.
    pub(crate) headers: &'static [&'static str],
    pub(crate) request: Content,
    /// The status and body of each successful response.
    pub(crate) responses: &'static [(u16, Content)],
    pub(crate) handler: Handler<S>,
}

impl<S> Operation<S> {
    /// The operation in the audit log.
    pub(crate) fn audited(&self) -> AuditOperation {
        match (&self.method, self.request) {
            (method, _) if method.is_safe() => AuditOperation::Read,
            (&Method::DELETE, _) => AuditOperation::Delete,
            (_, Content::Lines | Content::Text) => AuditOperation::Load,
            _ => AuditOperation::Edit,
        }
    }

    /// The variable parts of `path`, still encoded; `None` if the path is not one of this operation.
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

    /// Whether the request must have a `Content-Type`: true for every change. Browsers never send a
    /// cross-site DELETE without a preflight.
    pub(crate) fn requires_media_type(&self) -> bool {
        !self.method.is_safe() && (self.method != Method::DELETE || self.has_request_body())
    }

    /// Whether the request has a body.
    pub(crate) fn has_request_body(&self) -> bool {
        self.request != Content::Nothing
    }

    /// The maximum size of the body.
    pub(crate) fn body_bytes_max(&self) -> usize {
        match self.request {
            Content::Nothing => EMPTY_BYTES_MAX,
            Content::Lines | Content::Text => LINES_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }
}

/// An operation under construction.
pub(crate) struct OperationBuilder<S> {
    operation: Operation<S>,
}

/// Starts the description of an operation.
pub(crate) fn operation<S>(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler<S>,
) -> OperationBuilder<S> {
    OperationBuilder {
        operation: Operation {
            method,
            path,
            id,
            summary,
            query: &[],
            is_conditional: false,
            headers: &[],
            request: Content::Nothing,
            responses: &[],
            handler,
        },
    }
}

impl<S> OperationBuilder<S> {
    /// Sets the query parameters.
    pub(crate) fn query(mut self, query: &'static [Parameter]) -> Self {
        self.operation.query = query;
        self
    }

    /// Enables conditional requests: `If-Match` and `If-None-Match`.
    pub(crate) fn conditional(mut self) -> Self {
        self.operation.is_conditional = true;
        self
    }

    /// Sets the headers of a successful response.
    pub(crate) fn response_headers(mut self, headers: &'static [&'static str]) -> Self {
        self.operation.headers = headers;
        self
    }

    /// Sets the kind of the request body.
    pub(crate) fn request_body(mut self, request: Content) -> Self {
        self.operation.request = request;
        self
    }

    /// Sets the successful responses and finishes the description.
    pub(crate) fn responses(mut self, responses: &'static [(u16, Content)]) -> Operation<S> {
        self.operation.responses = responses;
        self.operation
    }
}
