//! The HTTP API below `/espalier`: registration of routes, and the handling that all of them share.
//!
//! A route is added as a read route or as a write route. The router and the OpenAPI description are built from both.
//! For write routes the media type is checked and the body is buffered here, so that no route can omit it. Errors
//! have the body of RFC 8040 §7.1.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Query, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use espalier_protocols::http_error::HttpError;
use espalier_protocols::intake::{Held, Intake, IntakeError, media};
use espalier_protocols::request_session::session_of;
use espalier_protocols::restconf::Who;
use espalier_service::{Service, SessionDatastore};
use espalier_store::Tree;
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
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
    pub handler: fn(&ServedTree, &WriteRequest) -> Result<Response, HttpError>,
}

/// The running datastore that is served.
#[derive(Clone)]
pub struct ServedTree {
    service: Service,
    tree: Tree,
}

impl ServedTree {
    /// Serves a running datastore.
    pub fn new(service: Service, tree: Tree) -> Self {
        Self { service, tree }
    }

    /// The datastore as the session of a request sees it.
    ///
    /// # Errors
    /// `resource-denied` if there are too many sessions.
    pub fn for_request(&self, parts: &Parts, session: &str) -> Result<SessionDatastore, HttpError> {
        let session = session_of(&self.service, parts, session)?;
        Ok(self.service.datastore(&session, self.tree.clone()))
    }
}

impl FromRequestParts<ServedTree> for RequestDatastore {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, served: &ServedTree) -> Result<Self, Response> {
        let session = Who::of(&parts.headers).map_err(HttpError::from);
        let of = session.and_then(|who| served.for_request(parts, &who.session));
        of.map(Self).map_err(IntoResponse::into_response)
    }
}

/// The running datastore, as the session of a request sees it.
pub struct RequestDatastore(pub SessionDatastore);

/// A builder of the routes below `/espalier`.
pub struct AdminApi {
    served: ServedTree,
    intake: Intake,
    router: Router<ServedTree>,
    paths: Map<String, Json>,
}

impl AdminApi {
    /// Creates a builder without routes for a datastore. `intake` buffers bodies.
    pub fn new(served: ServedTree, intake: Intake) -> Self {
        Self {
            served,
            intake,
            router: Router::new(),
            paths: Map::new(),
        }
    }

    /// Adds a read route.
    pub fn read_route<H, T>(mut self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, ServedTree>,
        T: 'static,
    {
        self.router = self.router.route(path, get(handler));
        self.describe(path, "get", json!({ "summary": summary }));
        self
    }

    /// Adds a write route.
    pub fn write_route(mut self, route: WriteRoute) -> Self {
        let (served, intake) = (self.served.clone(), self.intake.clone());
        let handler = move |request: Request| handle_write(served, intake, route, request);
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

    fn describe(&mut self, path: &str, method: &str, mut described: Json) {
        described["responses"] =
            json!({"default": {"description": "the result, or errors as in RFC 8040"}});
        let entry = self.paths.entry(path).or_insert_with(|| json!({}));
        entry[method] = described;
    }

    /// Builds the router, with the OpenAPI description of all routes.
    pub fn router(self) -> Router {
        let description = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Espalier, in addition to RESTCONF",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "What `espalier --server` needs beyond RESTCONF.",
            },
            "paths": self.paths,
        });
        let description = Arc::new(description);
        let describe = move || async move { json_response(&*description) };
        self.router
            .route(OPENAPI_PATH, get(describe))
            .with_state(self.served)
    }
}

async fn handle_write(
    served: ServedTree,
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
    let outcome = tokio::task::spawn_blocking(move || (route.handler)(&served, &request));
    match outcome.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => error.into_response(),
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
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

/// The query parameters of a request; invalid ones are rejected with the usual error body.
pub struct Parameters<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query
            .map(|Query(parameters)| Self(parameters))
            .map_err(|error| {
                let error = DataError::new(ErrorTag::InvalidValue, error.body_text());
                HttpError::from(error.of_type(ErrorType::Protocol)).into_response()
            })
    }
}

/// A JSON response.
pub fn json_response(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
