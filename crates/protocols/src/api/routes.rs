//! Dispatches requests to their handlers, on threads that may block.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{any, get};
use espalier_service::access::{Resource, ResourceAccess};
use espalier_service::audit::{AuditEntry, AuditKind, AuditResult, AuditTarget};
use http::header::{ALLOW, IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::Value as Json;

use super::openapi;
use super::operation::{Content, Operation, ParameterType};
use super::parsed_request::{
    ACCEPT_PATCH, Call, CallBody, MERGE_PATCH, empty, json_response, parameters, percent_decode,
};
use super::problem::{Problem, Result};
use crate::intake::{Held, Intake, media};
use crate::request_session::{Peer, unnamed_session};

/// The description of an API.
pub(crate) struct Api {
    /// The prefix of all paths.
    pub(crate) root: &'static str,
    /// The path of the OpenAPI description.
    pub(crate) path: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// The schemas of bodies, by name.
    pub(crate) schemas: Json,
}

/// The state that all requests share.
struct ApiState<S> {
    service: Arc<S>,
    /// The path of the OpenAPI description.
    description: &'static str,
    operations: Vec<Operation<S>>,
    resource_of: ResourceOf<S>,
    intake: Intake,
}

/// Returns the resource that the path or the query of a call names. The user must be permitted to read it or, if the
/// operation is not safe, to change it. Handlers check the resources that bodies name.
pub(crate) type ResourceOf<S> = for<'c> fn(&'c Call<'_, S>) -> Option<Resource<'c>>;

/// The routes of all operations and of the OpenAPI description. Other paths below the root return a problem
/// document.
pub(crate) fn router<S: Send + Sync + 'static>(
    service: Arc<S>,
    api: &Api,
    operations: Vec<Operation<S>>,
    resource_of: ResourceOf<S>,
    intake: Intake,
) -> Router {
    let description = openapi::description(api, &operations);
    let describe = move || {
        let response = json_response(StatusCode::OK, &description);
        async move { response }
    };
    let state = Arc::new(ApiState {
        service,
        description: api.path,
        operations,
        resource_of,
        intake,
    });
    let root = api.root;
    let response = any(handle::<S>).with_state(state);
    Router::new()
        .route(api.path, get(describe))
        .route(root, response.clone())
        .route(&format!("{root}/"), response.clone())
        .route(&format!("{root}/{{*rest}}"), response)
}

async fn handle<S: Send + Sync + 'static>(
    State(state): State<Arc<ApiState<S>>>,
    request: Request<Body>,
) -> Response<Body> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let response = match dispatch(state, parts, body).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    tracing::debug!(
        target: "espalier::access",
        %method,
        path,
        status = response.status().as_u16(),
        elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
    );
    response
}

async fn dispatch<S: Send + Sync + 'static>(
    state: Arc<ApiState<S>>,
    parts: Parts,
    body: Body,
) -> Result<Response<Body>> {
    let here = state.operations_at(parts.uri.path());
    if here.is_empty() {
        return Err(state.not_found(parts.uri.path()));
    }
    let is_head = parts.method == Method::HEAD;
    let method = if is_head {
        Method::GET
    } else {
        parts.method.clone()
    };
    if method == Method::OPTIONS {
        return Ok(state.options(&here));
    }
    let is_meant = |at: &usize| state.operations[*at].method == method;
    let Some(at) = here.iter().copied().find(is_meant) else {
        return Err(Problem::method(&parts.method, state.allow(&here)));
    };
    let body = state
        .receive_body(&state.operations[at], &parts, body)
        .await?;
    let handled = tokio::task::spawn_blocking(move || {
        let operation = &state.operations[at];
        check_conditions(operation, &parts.headers)?;
        let path = operation.variable_parts(parts.uri.path());
        let path = path.unwrap_or_default().into_iter().map(percent_decode);
        let call = Call {
            service: &*state.service,
            path: path.collect::<Result<_>>()?,
            query: check_query(operation, parameters(parts.uri.query())?)?,
            headers: &parts.headers,
            peer: parts.extensions.get(),
            body,
            access: resource_access(&parts)?,
            changed: RefCell::default(),
        };
        let resource = (state.resource_of)(&call);
        let required = match resource {
            Some(resource) if operation.method.is_safe() => call.require_read(resource),
            Some(resource) => call.require_change(resource),
            None => Ok(()),
        };
        let handled = required.and_then(|()| (operation.handler)(&call));
        // A client that follows the log would otherwise read of its own reads.
        let is_of_log = resource == Some(Resource::AuditLog);
        let audited = match is_of_log && operation.method.is_safe() && handled.is_ok() {
            true => Ok(()),
            false => audit(&parts, operation, call.changed.take(), handled.as_ref()),
        };
        handled.and_then(|response| audited.map(|()| response))
    });
    let mut response = handled
        .await
        .map_err(|error| Problem::internal(format!("the request handler failed: {error}")))??;
    if is_head {
        *response.body_mut() = Body::empty();
    }
    Ok(response)
}

/// Appends the record of a request, if such requests are recorded.
fn audit<S>(
    parts: &Parts,
    operation: &Operation<S>,
    changed: Vec<AuditTarget>,
    handled: std::result::Result<&Response<Body>, &Problem>,
) -> Result<()> {
    let Some(peer) = parts.extensions.get::<Peer>() else {
        return Ok(());
    };
    let mut entry = AuditEntry::new(operation.audited());
    if let Err(problem) = handled {
        entry.result = AuditResult::Error(problem.kind().to_owned());
    }
    let is_denied = entry.is_of_kind(AuditKind::Denials);
    if !peer.service.audit().records(entry.operation, is_denied) {
        return Ok(());
    }
    entry.add_path(|| parts.uri.path().to_owned());
    let mut changed = changed.into_iter();
    entry.target = changed.next();
    changed.for_each(|target| entry.add_path(|| target.to_string()));
    let appended = peer
        .service
        .audit()
        .append(entry.of_session(&unnamed_session(&peer.service, Some(peer))));
    appended.map_err(|error| Problem::internal(error.to_string()))
}

/// What the user of a request may do; everything if nobody is authenticated. Blocks: it may read from the engine.
fn resource_access(parts: &Parts) -> Result<ResourceAccess> {
    let Some(peer) = parts.extensions.get::<Peer>() else {
        return Ok(ResourceAccess::unrestricted());
    };
    let access = peer.service.resource_access(&peer.caller);
    access.map_err(|error| {
        let detail = format!("the access rules cannot be read now: {error}");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "engine", detail)
    })
}

/// Checks the query parameters: all are defined, required ones are present, and only repeatable ones are
/// repeated. An unknown parameter is an error, because ignoring it could return more than the client
/// intended.
fn check_query<S>(
    operation: &Operation<S>,
    query: Vec<(String, String)>,
) -> Result<Vec<(String, String)>> {
    let mut single = BTreeSet::new();
    for (name, _) in &query {
        let defined = operation.query.iter().find(|defined| defined.name == name);
        let defined =
            defined.ok_or_else(|| Problem::request(format!("unknown parameter {name:?}")))?;
        if defined.value_type != ParameterType::TextList && !single.insert(defined.name) {
            let detail = format!("the parameter {name} is given several times");
            return Err(Problem::request(detail));
        }
    }
    let mut required = operation.query.iter().filter(|defined| defined.is_required);
    match required.find(|defined| query.iter().all(|(name, _)| name != defined.name)) {
        Some(missing) => {
            let detail = format!("the parameter {} is missing", missing.name);
            Err(Problem::request(detail))
        }
        None => Ok(query),
    }
}

/// Rejects conditional headers on writes that do not support them.
fn check_conditions<S>(operation: &Operation<S>, headers: &HeaderMap) -> Result<()> {
    let is_given = headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH);
    if is_given && !operation.is_conditional && operation.method != Method::GET {
        let detail =
            "If-Match and If-None-Match are not supported by this operation; nothing was changed";
        return Err(Problem::request(detail));
    }
    Ok(())
}

impl<S> ApiState<S> {
    /// Receives the body of a request, if the operation accepts its media type.
    async fn receive_body(
        &self,
        operation: &Operation<S>,
        parts: &Parts,
        body: Body,
    ) -> Result<CallBody> {
        if operation.requires_media_type() {
            let media = media(&parts.headers);
            operation.request.check_media(media.as_ref())?;
        } else if !operation.has_request_body() {
            return Ok(CallBody::InMemory(Held::default()));
        }
        let limit = operation.body_bytes_max() as u64;
        let staged = self.intake.stage(&parts.headers, body, limit).await?;
        if matches!(operation.request, Content::Lines | Content::Text) {
            return Ok(CallBody::Lines(Cell::new(Some(staged))));
        }
        let held = self.intake.hold(staged).await?;
        let is_empty = matches!(held.bytes().trim_ascii(), b"" | b"{}");
        if !operation.has_request_body() && !is_empty {
            return Err(Problem::request("this operation has no request body"));
        }
        Ok(CallBody::InMemory(held))
    }

    /// The indexes of the operations at a path.
    fn operations_at(&self, path: &str) -> Vec<usize> {
        let operations = self.operations.iter().enumerate();
        let here = operations.filter(|(_, operation)| operation.variable_parts(path).is_some());
        here.map(|(at, _)| at).collect()
    }

    fn not_found(&self, path: &str) -> Problem {
        let description = self.description;
        Problem::missing(format!("no resource at {path}; see {description}"))
    }

    fn options(&self, here: &[usize]) -> Response<Body> {
        let mut response = empty(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        if let Ok(allow) = HeaderValue::from_str(&self.allow(here)) {
            headers.insert(ALLOW, allow);
        }
        let mut requests = here.iter().map(|at| self.operations[*at].request);
        if requests.any(|request| matches!(request, Content::Patch(_))) {
            headers.insert(ACCEPT_PATCH, HeaderValue::from_static(MERGE_PATCH));
        }
        response
    }

    fn allow(&self, here: &[usize]) -> String {
        let methods = here.iter().map(|at| self.operations[*at].method.as_str());
        let mut methods: Vec<_> = methods.collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.push("OPTIONS");
        methods.join(", ")
    }
}
