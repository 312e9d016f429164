//! Dispatches requests to their handlers, and converts failures to responses.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::handler::Handler;
use axum::routing::any;
use espalier_service::SessionDatastore;
use espalier_store::Datastore;
use espalier_yang::path::ApiRoot;
use espalier_yang::{DataError, ErrorTag, InstancePath, NodeId, Schema};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;

use super::Restconf;
use super::address::{Address, locate};
use super::conditions::{ConditionResult, Conditions};
use super::error::{Failure, Result};
use super::media::{self, ACCEPT_PATCH, MediaType};
use super::query::{AllowedParameters, Query};
use super::request_identity::Who;
use super::resource::{Methods, methods_of};
use super::server::RestconfServer;
use super::server_description::{self, Element, PrintLevels};
use super::write::{self, Target};
use super::{error_body, event_stream, operations, read};
use crate::http_error::{HttpError, set_errors_total};

/// A response.
pub(super) type HttpResponse = Response<Body>;

const ACCEPT_PATCH_HEADER: HeaderName = HeaderName::from_static("accept-patch");
/// The value of `Retry-After` with a status of 503.
const RETRY_SECONDS: &str = "1";

const XRD: &str = "application/xrd+xml";
const YANG: &str = "application/yang";

/// The routes of the RESTCONF service of one anchor: its root, and `/.well-known/host-meta`. From now on, the state of
/// the server describes what is served.
///
/// # Errors
/// Those of the store.
pub fn router(service: Arc<Restconf>) -> espalier_store::Result<Router> {
    service.describe()?;
    let handle = |State(service): State<Arc<Restconf>>, request: Request<Body>| async move {
        let (parts, mut body) = request.into_parts();
        respond(&service, &parts, &mut body).await
    };
    let host_meta_router = host_meta(Arc::clone(&service.server));
    let router = root_routes(&service.server.config.root, handle).with_state(service);
    Ok(router.merge(host_meta_router))
}

/// A handler for each path of a RESTCONF root.
pub(crate) fn root_routes<S, H, T>(root: &str, handle: H) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<T, S>,
    T: 'static,
{
    Router::new()
        .route(root, any(handle.clone()))
        .route(&format!("{root}/"), any(handle.clone()))
        .route(&format!("{root}/{{*rest}}"), any(handle))
}

/// The routes of `/.well-known/host-meta`.
pub(crate) fn host_meta<S: Clone + Send + Sync + 'static>(
    server: Arc<RestconfServer>,
) -> Router<S> {
    Router::new()
        .route("/.well-known/host-meta", any(host_meta_response))
        .route("/.well-known/host-meta.json", any(host_meta_response))
        .with_state(server)
}

/// The response to a request below the root of a service.
pub(crate) async fn respond(service: &Restconf, parts: &Parts, body: &mut Body) -> HttpResponse {
    let started = Instant::now();
    let response = match dispatch(service, parts, body).await {
        Ok(response) => response,
        // The server reads and discards the rest of the body (`server::Limits::linger_timeout`).
        Err(failure) => error_response(Some(service.schema()), parts, &failure),
    };
    let response = with_common_headers(response);
    record_request(service, parts, &response, started);
    response
}

/// Adds the headers of every response, including errors: whether it may be cached (RFC 8040 §5.5), and that
/// it depends on `Accept` (RFC 9110 §12.5.5).
fn with_common_headers(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache"));
    headers
        .entry(VARY)
        .or_insert(HeaderValue::from_static("Accept"));
    response
}

/// Writes the access log and updates the metrics.
fn record_request(service: &Restconf, parts: &Parts, response: &HttpResponse, started: Instant) {
    let elapsed = started.elapsed();
    tracing::debug!(
        target: "espalier::access",
        method = %parts.method,
        path = format!("{}{}", service.prefix(), parts.uri.path()),
        status = response.status().as_u16(),
        elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    );
    let method = match parts.method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    };
    let class = match response.status().as_u16() {
        100..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    };
    metrics::counter!("espalier_restconf_requests_total", "method" => method, "status" => class)
        .increment(1);
    metrics::histogram!("espalier_restconf_request_seconds", "method" => method)
        .record(elapsed.as_secs_f64());
}

async fn dispatch(service: &Restconf, parts: &Parts, body: &mut Body) -> Result<HttpResponse> {
    let path = parts.uri.path();
    let below_root = path
        .strip_prefix(service.config().root.as_str())
        .unwrap_or(path);
    match locate(below_root) {
        Address::Data(rest) => {
            let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
            let target = with_top_node(service.main_datastore(&session), rest)?;
            data(service, target, Root::Data, rest, parts, body).await
        }
        Address::Datastore(name, rest) => {
            let name = percent_decode_str(name)
                .decode_utf8()
                .map_err(|_| Failure::invalid("the path is not UTF-8"))?;
            let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
            let mut target = service.datastore(&name, &session)?;
            if target.datastore() == Datastore::Operational {
                target = with_top_node(target, rest)?;
            }
            data(service, target, Root::Datastore(&name), rest, parts, body).await
        }
        Address::Api => generated_document(service, parts, &server_description::api_resource()),
        Address::Operations => operations_resource(service, parts),
        Address::YangLibraryVersion => {
            generated_document(service, parts, &server_description::yang_library_version())
        }
        Address::Operation(name) => operations::rpc(service, parts, name, body).await,
        Address::Schema(key) => schema_text(service, parts, key),
        Address::EventStream(name, encoding) => {
            event_stream::get(service, parts, name, encoding).await
        }
        Address::Subscription(id) => event_stream::established(service, parts, id).await,
        Address::Unknown => Err(Failure::not_found(format!("there is no resource “{path}”"))),
    }
}

/// The resource that data is below.
#[derive(Clone, Copy, Debug)]
enum Root<'a> {
    /// `{+restconf}/data`: running, and state.
    Data,
    /// `{+restconf}/ds/NAME`: one datastore alone.
    Datastore(&'a str),
}

impl fmt::Display for Root<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("/data"),
            Self::Datastore(name) => write!(f, "/ds/{name}"),
        }
    }
}

/// The datastore with the first node of a path: it may be the one with the state of the server.
pub(super) fn with_top_node(target: SessionDatastore, path: &str) -> Result<SessionDatastore> {
    let first = path.split(['/', '=']).next().unwrap_or_default();
    match first.split_once(':') {
        Some((module, name)) => Ok(target.with_top_node(module, name)?),
        None => Ok(target),
    }
}

/// Handles a data resource or a datastore.
async fn data(
    service: &Restconf,
    target: SessionDatastore,
    root: Root<'_>,
    rest: &str,
    parts: &Parts,
    body: &mut Body,
) -> Result<HttpResponse> {
    let schema = target.schema();
    let path = match rest {
        "" => InstancePath::root(),
        rest => InstancePath::parse_api_path(schema, rest, ApiRoot::Data).map_err(path_failure)?,
    };
    let mut methods = methods_of(schema, &path, service.config().state_writes);
    if is_read_only(target.datastore()) && methods != Methods::Invoke {
        methods = Methods::Read;
    }
    methods.check(&parts.method).map_err(|failure| {
        let reason = target.datastore().edits_rejected();
        match reason.filter(|_| methods == Methods::Read) {
            Some(reason) => failure.because(reason),
            None => failure,
        }
    })?;
    match parts.method {
        Method::GET | Method::HEAD => {
            let target = match root {
                Root::Data => target.for_state(&path)?,
                Root::Datastore(_) => target,
            };
            read::read(service, &target, path, parts).await
        }
        Method::OPTIONS => Ok(options(methods)),
        _ if methods == Methods::Invoke => {
            operations::action(service, target, path, parts, body).await
        }
        _ => {
            let target = Target {
                of: target,
                path,
                location_base: format!("{}{root}", service.root()),
            };
            write::write(service, target, parts, body).await
        }
    }
}

/// Whether clients cannot write a datastore: operational (RFC 8527 §3.2), intended, and factory-default
/// (RFC 8808 §3).
fn is_read_only(datastore: Datastore) -> bool {
    matches!(
        datastore,
        Datastore::Operational | Datastore::Intended | Datastore::FactoryDefault
    )
}

/// A node that is not in the schema is a resource that does not exist (404). A path with a syntax error, or
/// a key that is not a value of its type, is a bad request (400).
pub(super) fn path_failure(error: DataError) -> Failure {
    match error.tag {
        ErrorTag::UnknownElement | ErrorTag::UnknownNamespace => Failure::not_found(error.message),
        _ => Failure {
            status: StatusCode::BAD_REQUEST,
            ..error.into()
        },
    }
}

pub(super) fn options(methods: Methods) -> HttpResponse {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(ALLOW, methods.header());
    if methods.has_patch() {
        headers.insert(ACCEPT_PATCH_HEADER, HeaderValue::from_static(ACCEPT_PATCH));
    }
    response
}

/// Handles `{+restconf}/operations`.
fn operations_resource(service: &Restconf, parts: &Parts) -> Result<HttpResponse> {
    let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
    let main = service.main_datastore(&session);
    let own = operations::callable(&main)?;
    let mut names = server_description::operation_names(main.schema(), &own);
    if let Some(state) = main.server_state()? {
        let callable = operations::callable(&state)?;
        let is_new = |&&operation: &&NodeId| {
            let node = state.schema().node(operation);
            let module = &state.schema().module(node.module).name;
            main.schema().module_by_name(module).is_none()
        };
        let callable: Vec<NodeId> = callable.iter().filter(is_new).copied().collect();
        names.extend(server_description::operation_names(
            state.schema(),
            &callable,
        ));
    }
    generated_document(service, parts, &server_description::operations(names))
}

/// Handles a document that the server generates.
fn generated_document(
    service: &Restconf,
    parts: &Parts,
    document: &Element,
) -> Result<HttpResponse> {
    Methods::Read.check(&parts.method)?;
    if parts.method == Method::OPTIONS {
        return Ok(options(Methods::Read));
    }
    let media = media::negotiate(&parts.headers)?;
    let limit = service.config().limits.query_bytes_max;
    let query = Query::parse(parts.uri.query(), AllowedParameters::Selection, limit)?;
    if !query.pages.is_empty() {
        return Err(Failure::no_list());
    }
    let depth = query.depth.flatten();
    let text = match &query.fields {
        Some(fields) => server_description::select_fields(document.clone(), fields, depth)?
            .print(media.format(), PrintLevels { depth: None }),
        None => document.print(media.format(), PrintLevels { depth }),
    };
    let Some(validators) = service.library_validators()? else {
        return Ok(with_body(&parts.method, media.header(), text));
    };
    let verdict = Conditions::of(&parts.headers).evaluate_read(&validators, media.format());
    let mut response = match verdict {
        ConditionResult::Proceed => with_body(&parts.method, media.header(), text),
        ConditionResult::NotModified => status_only(StatusCode::NOT_MODIFIED),
        ConditionResult::Failed => return Err(Failure::precondition()),
    };
    validators.write(response.headers_mut(), media.format());
    Ok(response)
}

/// A response without a body.
pub(super) fn status_only(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A complete response; for HEAD the same headers without the body.
pub(super) fn with_body(
    method: &Method,
    media: HeaderValue,
    bytes: impl Into<Vec<u8>>,
) -> HttpResponse {
    let bytes = bytes.into();
    let length = HeaderValue::from(bytes.len());
    let body = match *method {
        Method::HEAD => Body::empty(),
        _ => Body::from(bytes),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media);
    headers.insert(CONTENT_LENGTH, length);
    response
}

/// Handles the source text of a module (RFC 8040 §3.7).
fn schema_text(service: &Restconf, parts: &Parts, key: &str) -> Result<HttpResponse> {
    let text = service
        .documents
        .texts
        .get(key)
        .ok_or_else(|| Failure::not_found(format!("there is no module “{key}”")))?;
    Methods::Read.check(&parts.method)?;
    if parts.method == Method::OPTIONS {
        return Ok(options(Methods::Read));
    }
    Ok(with_body(
        &parts.method,
        HeaderValue::from_static(YANG),
        text.as_bytes(),
    ))
}

async fn host_meta_response(
    State(server): State<Arc<RestconfServer>>,
    request: Request<Body>,
) -> HttpResponse {
    let (parts, _) = request.into_parts();
    with_common_headers(match parts.method {
        Method::GET | Method::HEAD => host_meta_document(&server, &parts),
        Method::OPTIONS => options(Methods::Read),
        _ => error_response(None, &parts, &Failure::not_allowed(Methods::Read)),
    })
}

fn host_meta_document(server: &RestconfServer, parts: &Parts) -> HttpResponse {
    let accept = parts
        .headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok());
    let prefers_json =
        accept.is_some_and(|accept| accept.contains("json") && !accept.contains("xml"));
    let document = &server.host_meta;
    match prefers_json || parts.uri.path().ends_with(".json") {
        true => with_body(
            &parts.method,
            MediaType::Json.header(),
            document.json.as_str(),
        ),
        false => with_body(
            &parts.method,
            HeaderValue::from_static(XRD),
            document.xml.as_str(),
        ),
    }
}

/// The error response to a request that is rejected before it is routed.
pub(crate) fn early_error_response(
    headers: &HeaderMap,
    status: StatusCode,
    message: &str,
) -> HttpResponse {
    let media = media::error_media(headers);
    let tag = match status {
        StatusCode::BAD_REQUEST => ErrorTag::MalformedMessage,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => ErrorTag::ResourceDenied,
        StatusCode::INTERNAL_SERVER_ERROR => ErrorTag::OperationFailed,
        _ => ErrorTag::AccessDenied,
    };
    let text = error_body::print_protocol_error(tag, message, media.format());
    let mut response = with_body(&Method::GET, media.header(), text);
    *response.status_mut() = status;
    response
}

/// The response to a request that failed before its anchor was found.
pub(crate) fn rejection(parts: &Parts, error: HttpError) -> HttpResponse {
    let failure = Failure::from(error);
    with_common_headers(error_response(None, parts, &failure))
}

/// The response to a request that failed. `schema` resolves the modules in paths.
pub(super) fn error_response(
    schema: Option<&Schema>,
    parts: &Parts,
    failure: &Failure,
) -> HttpResponse {
    let media = media::error_media(&parts.headers);
    let errors = failure.errors.iter();
    let text = match &failure.patch {
        Some(patch) => write::print_errors(patch, errors, media.format(), schema),
        None => error_body::print(errors, media.format(), schema),
    };
    let mut response = with_body(&parts.method, media.header(), text);
    *response.status_mut() = failure.status;
    let headers = response.headers_mut();
    set_errors_total(headers, &failure.errors);
    if let Some(allow) = failure.allow {
        headers.insert(ALLOW, allow.header());
    }
    if failure.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    if let Some(coding) = failure.accept_encoding {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
    } else if failure.status == StatusCode::UNSUPPORTED_MEDIA_TYPE && parts.method == Method::PATCH
    {
        // RFC 5789 §2.2.
        headers.insert(ACCEPT_PATCH_HEADER, HeaderValue::from_static(ACCEPT_PATCH));
    }
    response
}
