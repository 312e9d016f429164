//! From a request to its handler, on a thread that may block.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{any, get};
use http::header::{ALLOW, CONTENT_LENGTH};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::Value as Json;

use super::call::{Call, decoded, empty, json, parameters};
use super::openapi;
use super::operation::Operation;
use super::problem::{Problem, Result};

/// What an API says of itself.
pub(crate) struct Api {
    /// Where the OpenAPI description is served.
    pub(crate) path: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// The schemas of bodies, by name.
    pub(crate) schemas: Json,
}

/// What all requests of a path need.
struct Served<S> {
    service: Arc<S>,
    path: &'static str,
    operations: Vec<Operation<S>>,
}

/// The routes of all operations, and of the OpenAPI description.
pub(crate) fn router<S: Send + Sync + 'static>(
    service: Arc<S>,
    api: &Api,
    operations: Vec<Operation<S>>,
) -> Router {
    let description = openapi::description(api, &operations);
    let mut paths: BTreeMap<&'static str, Vec<Operation<S>>> = BTreeMap::new();
    for operation in operations {
        paths.entry(operation.path).or_default().push(operation);
    }
    let describe = move || {
        let answer = json(StatusCode::OK, &description);
        async move { answer }
    };
    let mut router = Router::new().route(api.path, get(describe));
    for (path, operations) in paths {
        let served = Arc::new(Served {
            service: Arc::clone(&service),
            path,
            operations,
        });
        router = router.route(path, any(answer::<S>).with_state(served));
    }
    router
}

async fn answer<S: Send + Sync + 'static>(
    State(served): State<Arc<Served<S>>>,
    request: Request<Body>,
) -> Response<Body> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let answer = match dispatch(served, parts, body).await {
        Ok(answer) => answer,
        Err(problem) => problem.answer(),
    };
    tracing::debug!(
        target: "espalier::access",
        %method,
        path,
        status = answer.status().as_u16(),
        elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
    );
    answer
}

async fn dispatch<S: Send + Sync + 'static>(
    served: Arc<Served<S>>,
    parts: Parts,
    body: Body,
) -> Result<Response<Body>> {
    let is_head = parts.method == Method::HEAD;
    let method = if is_head {
        Method::GET
    } else {
        parts.method.clone()
    };
    if method == Method::OPTIONS {
        let mut answer = empty(StatusCode::NO_CONTENT);
        if let Ok(allow) = HeaderValue::from_str(&served.allow()) {
            answer.headers_mut().insert(ALLOW, allow);
        }
        return Ok(answer);
    }
    let Some(at) = served
        .operations
        .iter()
        .position(|operation| operation.method == method)
    else {
        return Err(Problem::method(&parts.method, served.allow()));
    };
    let limit = served.operations[at].body_bytes_max();
    let announced = parts.headers.get(CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(Problem::too_large(limit));
    }
    let body = axum::body::to_bytes(body, limit)
        .await
        .map_err(|_| Problem::too_large(limit))?;
    let handled = tokio::task::spawn_blocking(move || {
        let operation = &served.operations[at];
        let call = Call {
            service: &*served.service,
            path: variable_parts(served.path, parts.uri.path())?,
            query: known(operation, parameters(parts.uri.query())?)?,
            headers: &parts.headers,
            body,
        };
        (operation.handler)(&call)
    });
    let mut answer = handled
        .await
        .map_err(|error| Problem::internal(format!("the request was not handled: {error}")))??;
    if is_head {
        *answer.body_mut() = Body::empty();
    }
    Ok(answer)
}

/// The parameters of a query, which the operation has to know: one that is not understood may have
/// been meant to leave something out.
fn known<S>(
    operation: &Operation<S>,
    query: Vec<(String, String)>,
) -> Result<Vec<(String, String)>> {
    let is_known = |name: &str| operation.query.iter().any(|(known, _)| *known == name);
    match query.iter().find(|(name, _)| !is_known(name)) {
        Some((name, _)) => Err(Problem::request(format!("unknown parameter {name:?}"))),
        None => Ok(query),
    }
}

impl<S> Served<S> {
    fn allow(&self) -> String {
        let methods = self
            .operations
            .iter()
            .map(|operation| operation.method.as_str());
        let mut methods: Vec<_> = methods.collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.push("OPTIONS");
        methods.join(", ")
    }
}

/// The parts of a path that stand where the template has a name.
fn variable_parts(template: &str, path: &str) -> Result<Vec<String>> {
    let parts = template.split('/').zip(path.split('/'));
    let variable = parts.filter(|(name, _)| name.starts_with('{'));
    variable.map(|(_, part)| decoded(part)).collect()
}
