//! The HTTP API below `/espalier`: registration of routes, and the handling that all of them share.
//!
//! A route is added as a read route or as a write route. The router and the OpenAPI description are built from both.
//! For write routes the media type is checked and the body is buffered here, so that no route can omit it. Errors
//! have the body of RFC 8040 §7.1.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use espalier_protocols::anchors::{AnchorRoute, RequestAnchor};
use espalier_protocols::http_error::HttpError;
use espalier_protocols::intake::{Held, Intake, IntakeError, media};
use espalier_protocols::json::json_response;
use espalier_protocols::restconf::Who;
use espalier_service::SessionDatastore;
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

/// The path of the OpenAPI description.
const OPENAPI_PATH: &str = "/openapi/espalier.json";

/// The content of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// A JSON object.
    Json,
    /// Data of the YANG modules.
    Data,
}

impl BodyKind {
    fn media(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["application/json"],
            Self::Data => &["application/yang-data+json", "application/yang-data+xml"],
        }
    }
}

/// A request to a write route.
pub struct WriteRequest {
    /// The head.
    pub parts: Parts,
    /// The media type of the body, without parameters and in lower case.
    pub media: String,
    body: Held,
}

impl WriteRequest {
    /// The body.
    pub fn body(&self) -> &[u8] {
        self.body.bytes()
    }

    /// Parses the body as JSON.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(self.body()).map_err(|error| {
            let error = DataError::new(ErrorTag::MalformedMessage, error.to_string());
            error.of_type(ErrorType::Protocol).into()
        })
    }
}

/// A route that writes.
#[derive(Clone, Copy)]
pub struct WriteRoute {
    /// The path.
    pub path: &'static str,
    /// The summary in the OpenAPI description.
    pub summary: &'static str,
    /// The content of the body.
    pub body: BodyKind,
    /// The maximum size of the body.
    pub bytes_max: u64,
    /// The handler, called on a thread that may block.
    pub handler: fn(&RequestAnchor, &WriteRequest) -> Result<Response, HttpError>,
}

impl FromRequestParts<AnchorRoute> for RequestDatastore {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, route: &AnchorRoute) -> Result<Self, Response> {
        let found = RequestAnchor::from_request_parts(parts, route).await?;
        let who = Who::of(&parts.headers);
        let of = who.and_then(|who| found.datastore(parts, &who.session));
        of.map(Self)
            .map_err(|error| HttpError::from(error).into_response())
    }
}

/// The running datastore, as the session of a request sees it.
pub struct RequestDatastore(pub SessionDatastore);

/// A builder of the routes below `/espalier`, which every anchor has.
pub struct AdminApi {
    intake: Intake,
    router: Router<AnchorRoute>,
    paths: Map<String, Json>,
}

/// The routes below `/espalier`.
pub struct AdminRoutes {
    /// The routes of each anchor.
    pub of_each: Router<AnchorRoute>,
    /// The route of the OpenAPI description.
    pub description: Router,
}

impl AdminApi {
    /// Creates a builder without routes. `intake` buffers bodies.
    pub fn new(intake: Intake) -> Self {
        Self {
            intake,
            router: Router::new(),
            paths: Map::new(),
        }
    }

    /// Adds a read route.
    pub fn read_route<H, T>(mut self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, AnchorRoute>,
        T: 'static,
    {
        self.router = self.router.route(path, get(handler));
        self.describe(path, "get", json!({ "summary": summary }));
        self
    }

    /// Adds a write route.
    pub fn write_route(mut self, route: WriteRoute) -> Self {
        let intake = self.intake.clone();
        let handler = move |found: RequestAnchor, request: Request| {
            handle_write(found, intake, route, request)
        };
        self.router = self.router.route(route.path, post(handler));
        let content = route.body.media().iter();
        let content: Map<_, _> = content
            .map(|media| ((*media).to_owned(), json!({})))
            .collect();
        let described = json!({
            "summary": route.summary,
            "requestBody": {"required": true, "content": content},
        });
        self.describe(route.path, "post", described);
        self
    }

    /// Describes a route that is not one of each anchor.
    pub fn described_read(mut self, path: &str, summary: &str) -> Self {
        self.describe(path, "get", json!({ "summary": summary }));
        self
    }

    fn describe(&mut self, path: &str, method: &str, mut described: Json) {
        described["responses"] =
            json!({"default": {"description": "the result, or errors as in RFC 8040"}});
        let entry = self.paths.entry(path).or_insert_with(|| json!({}));
        entry[method] = described;
    }

    /// Builds the routes, with the OpenAPI description of all of them.
    pub fn routes(self) -> AdminRoutes {
        let description = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Espalier, in addition to RESTCONF",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "What `espalier --server` needs beyond RESTCONF. Every path is of the default anchor; \
                                below /dataspaces/{dataspace}/anchors/{anchor} it is of another one.",
            },
            "paths": self.paths,
        });
        let description = Arc::new(description);
        let describe = move || async move { json_response(&*description) };
        AdminRoutes {
            of_each: self.router,
            description: Router::new().route(OPENAPI_PATH, get(describe)),
        }
    }
}

async fn handle_write(
    found: RequestAnchor,
    intake: Intake,
    route: WriteRoute,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let media = media(&parts.headers).map_or(String::new(), |media| media.essence);
    if !route.body.media().contains(&media.as_str()) {
        return unsupported_media_type(&media, route.body);
    }
    let buffered = async {
        let staged = intake.stage(&parts.headers, body, route.bytes_max);
        intake.hold(staged.await?).await
    };
    let body = match buffered.await {
        Ok(body) => body,
        Err(error) => return intake_failure(&error),
    };
    let request = WriteRequest { parts, media, body };
    let outcome = tokio::task::spawn_blocking(move || write_current(&found, route, &request));
    match outcome.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => error.into_response(),
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Calls the handler of a write route; again, if the modules of the anchor were replaced meanwhile and it therefore
/// rejected the request. After any other error, whether something was written may be unknown.
fn write_current(
    found: &RequestAnchor,
    route: WriteRoute,
    request: &WriteRequest,
) -> Result<Response, HttpError> {
    let failed = match (route.handler)(found, request) {
        Ok(response) => return Ok(response),
        Err(error) if !error.status().is_client_error() => return Err(error),
        Err(error) => error,
    };
    match found.renewed() {
        None => Err(failed),
        Some(renewed) => (route.handler)(&renewed?, request),
    }
}

fn unsupported_media_type(media: &str, body: BodyKind) -> Response {
    let expected = body.media().join(" or ");
    let message = match media {
        "" => format!("the request has no Content-Type; send {expected}"),
        media => format!("the body is {media}; send {expected}"),
    };
    let error = DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol);
    HttpError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, error).into_response()
}

fn intake_failure(error: &IntakeError) -> Response {
    let tag = match error {
        IntakeError::TooLarge { .. } => ErrorTag::TooBig,
        IntakeError::NoRoom(_) => ErrorTag::ResourceDenied,
        IntakeError::File { .. } => ErrorTag::OperationFailed,
        _ => ErrorTag::MalformedMessage,
    };
    let data_error = DataError::new(tag, error.to_string()).of_type(ErrorType::Protocol);
    HttpError::with_status(error.status(), data_error).into_response()
}
