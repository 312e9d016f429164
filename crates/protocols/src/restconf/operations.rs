//! RPCs and actions (RFC 8040 §3.6, §4.4.2).

use std::sync::Arc;

use axum::body::Body;
use espalier_service::SessionDatastore;
use espalier_service::notifications::Encoding;
use espalier_service::operations::input_of;
use espalier_store::{Datastore, Error};
use espalier_yang::data::{DataTree, ParseError, ParseOptions, Root, TreeBuilder};
use espalier_yang::path::ApiRoot;
use espalier_yang::{DataError, ErrorTag, InstancePath, NodeId, Schema};
use http::request::Parts;
use http::{Method, StatusCode};
use tokio::task::spawn_blocking;

use super::Restconf;
use super::codec;
use super::error::{Failure, Result};
use super::media::{self, Format};
use super::query::{AllowedParameters, Query};
use super::request_body;
use super::request_identity::Who;
use super::resource::Methods;
use super::routes::{HttpResponse, options, path_failure, status_only, with_body, with_top_node};

/// Handles `{+restconf}/operations/NAME`.
pub(super) async fn rpc(
    service: &Restconf,
    parts: &Parts,
    name: &str,
    body: &mut Body,
) -> Result<HttpResponse> {
    let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
    let of = with_top_node(service.main_datastore(&session), name)?;
    // An undefined operation is no resource, for any method.
    let path = InstancePath::parse_api_path(of.schema(), name, ApiRoot::Operations)
        .map_err(path_failure)?;
    Methods::Invoke.check(&parts.method)?;
    match parts.method {
        Method::OPTIONS => Ok(options(Methods::Invoke)),
        _ => invoke(service, of, path, parts, body).await,
    }
}

/// Handles the `POST` of an action. It is a resource only if its parent instance exists, in the operational state.
pub(super) async fn action(
    service: &Restconf,
    of: SessionDatastore,
    path: InstancePath,
    parts: &Parts,
    body: &mut Body,
) -> Result<HttpResponse> {
    let parent = path.parent().unwrap_or_default();
    let operational = of.sibling(Datastore::Operational)?;
    if !operational.view()?.exists(&parent)? {
        let schema = of.schema();
        let name = parent.target().map(|node| schema.path(node));
        let name = name.unwrap_or_default();
        return Err(Failure::not_found(format!(
            "there is no such instance of {name}"
        )));
    }
    invoke(service, of, path, parts, body).await
}

/// The operations that the user may invoke, and that are answered.
pub(super) fn callable(of: &SessionDatastore) -> Result<Vec<NodeId>> {
    let mut callable = Vec::new();
    for &operation in of.schema().operations() {
        if of.is_supported(operation) && of.may_invoke(operation)? {
            callable.push(operation);
        }
    }
    Ok(callable)
}

async fn invoke(
    service: &Restconf,
    of: SessionDatastore,
    path: InstancePath,
    parts: &Parts,
    body: &mut Body,
) -> Result<HttpResponse> {
    let accepted = media::negotiate(&parts.headers)?;
    let limits = &service.config().limits;
    Query::parse(
        parts.uri.query(),
        AllowedParameters::None,
        limits.query_bytes_max,
    )?;
    let bytes_max = limits.edit_bytes_max as u64;
    let staged = request_body::receive(service, &parts.headers, body, bytes_max).await?;
    // An operation without input, or whose input is optional, may have no body (RFC 8040 §3.6.1).
    let format = match staged.length() {
        0 => Format::Json,
        _ => {
            media::check_encoding(&parts.headers)?;
            media::content_format(&parts.headers)?
        }
    };
    let held = service.config().intake.hold(staged).await?;
    let operations = Arc::clone(&service.server.operations);
    let Ok(permit) = operations.try_acquire_owned() else {
        return Err(Failure::busy(format!(
            "{} operations are in progress (operations_max); try again later",
            limits.operations_max
        )));
    };
    let subscriptions = service.subscriptions_url();
    let running = service.main_datastore(of.session());
    let output = spawn_blocking(move || {
        // Held until the operation ends, even if the request was cancelled.
        let _permit = permit;
        let input = input([of.schema(), running.schema()], &path, format, held.bytes())?;
        let output = of
            .invoke_encoded(&path, &input, encoding_of(accepted.format()))
            .map_err(failure)?;
        let encoding = encoding_of(format);
        let output = of.with_subscription_uri(path.target(), output, &subscriptions, encoding)?;
        match output.nodes.iter().all(|node| node.children().is_empty()) {
            true => Ok(None),
            false => codec::print_tree(of.schema(), accepted.format(), &output).map(Some),
        }
    });
    match output.await.map_err(|error| Failure::internal(&error))?? {
        None => Ok(status_only(StatusCode::NO_CONTENT)),
        Some(text) => Ok(with_body(&parts.method, accepted.header(), text)),
    }
}

/// The `error-app-tag`s of a subscription that does not exist, which has a status of its own (RFC 8650 §3.3).
const NO_SUCH_SUBSCRIPTION: [&str; 2] = [
    "ietf-subscribed-notifications:no-such-subscription",
    "ietf-yang-push:no-such-subscription-resync",
];

/// RFC 8040 §7 allows two statuses for an operation that is not supported: it is the operation that is missing, not a method
/// of the resource.
fn failure(error: Error) -> Failure {
    let failure = Failure::from(error);
    let has = |is: &dyn Fn(&DataError) -> bool| failure.errors.iter().any(is);
    if has(&|error| error.tag == ErrorTag::OperationNotSupported) {
        failure.with_status(StatusCode::NOT_IMPLEMENTED)
    } else if has(&|error| {
        let tag = error.app_tag.as_deref();
        tag.is_some_and(|tag| NO_SUCH_SUBSCRIPTION.contains(&tag))
    }) {
        failure.with_status(StatusCode::NOT_FOUND)
    } else {
        failure
    }
}

fn encoding_of(format: Format) -> Encoding {
    match format {
        Format::Json => Encoding::Json,
        Format::Xml => Encoding::Xml,
    }
}

/// The input in a body. The models are those of the operation, and of the anchor.
fn input(
    [schema, running]: [&Arc<Schema>; 2],
    path: &InstancePath,
    format: Format,
    body: &[u8],
) -> Result<DataTree> {
    let input = path.target().and_then(|node| input_of(schema, node));
    // Some clients send an empty object for an operation without input.
    let is_empty = body.trim_ascii().is_empty() || body.trim_ascii() == b"{}";
    let Some(input) = input.filter(|_| !is_empty) else {
        return Ok(DataTree::default());
    };
    let options = ParseOptions {
        place: path.clone(),
        other_modules: Some(Arc::clone(running)),
        ..ParseOptions::default()
    };
    let mut builder = TreeBuilder::new();
    let root = Root::Resource(input);
    match codec::parse(schema, format, root, body, &mut builder, &options) {
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish()?),
        Err(error) => Err(error.into()),
    }
}
