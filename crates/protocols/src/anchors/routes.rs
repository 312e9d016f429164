//! The routes of all anchors.

use axum::Router;
use axum::body::Body;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use http::request::Parts;
use http::{Method, Request};

use super::anchor_route::{AnchorRoute, RequestAnchor};
use super::retry::{is_read, renewed, replaced_response, retry_reads};
use super::{ServedAnchors, list};
use crate::restconf;

/// The place of the routes of an anchor that is not the default anchor.
const NAMED: &str = "/dataspaces/{dataspace}/anchors/{anchor}";

/// The routes of all anchors: RESTCONF, and `of_each`, at the root for the default anchor and below
/// [`AnchorName::path`](super::AnchorName::path) for every anchor; the lists of dataspaces and anchors; and
/// `/.well-known/host-meta`.
pub fn router(anchors: ServedAnchors, of_each: Router<AnchorRoute>) -> Router {
    let server = anchors.server().clone();
    let routes = |route: AnchorRoute| {
        let retry = from_fn_with_state(route.clone(), retry_reads);
        restconf::root_routes(server.root(), handle)
            .merge(of_each.clone().layer(retry))
            .with_state(route)
    };
    Router::new()
        .merge(restconf::host_meta(server.clone()))
        .merge(routes(AnchorRoute::Default(anchors.clone())))
        .nest(NAMED, routes(AnchorRoute::Named(anchors.clone())))
        .merge(list::routes().with_state(anchors))
}

/// Handles a RESTCONF request.
async fn handle(found: RequestAnchor, request: Request<Body>) -> Response {
    let (parts, mut body) = request.into_parts();
    let found = match is_about_models(found.anchors().server().root(), &parts) {
        true => found.current().await,
        false => Ok(found),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return restconf::rejection(&parts, error),
    };
    let response = restconf::respond(found.anchor().restconf(), &parts, &mut body).await;
    match renewed(&found, response.status()).await {
        None => response,
        Some(Err(error)) => restconf::rejection(&parts, error),
        Some(Ok(found)) if is_read(&parts.method) => {
            restconf::respond(found.anchor().restconf(), &parts, &mut body).await
        }
        Some(Ok(_)) => replaced_response(&parts),
    }
}

/// Whether the response can come from the models alone.
fn is_about_models(root: &str, parts: &Parts) -> bool {
    let path = parts.uri.path();
    let path = path.strip_prefix(root).unwrap_or(path);
    let is_data = path.starts_with("/data") || path.starts_with("/ds/");
    !is_data || path.starts_with("/data/ietf-yang-library:") || parts.method == Method::OPTIONS
}
