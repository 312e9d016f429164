//! Routes of a tree that are rebuilt when another process replaces the modules, recreates the anchor or replaces the
//! store.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use espalier_store::Tree;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use parking_lot::RwLock;
use serde_json::json;
use tower_service::Service;

use espalier_terminal::Result;

/// The interval of checking whether the open tree is current.
// A check with each request would be two round trips to the engine: docs/decisions/0014.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The first and the longest pause after a failed attempt to reopen the tree.
const REOPEN_PAUSES: [Duration; 2] = [CHECK_INTERVAL, Duration::from_secs(5)];

/// Opens the current tree and builds its routes.
pub type Reopen = Box<dyn Fn() -> Result<(Tree, Router)> + Send>;

/// Serves `routes`, and those of `reopen` when `tree` is no longer current. While the tree cannot be reopened,
/// requests get status 503.
pub fn router(tree: Tree, routes: Router, reopen: Reopen) -> Router {
    let current = Arc::new(RwLock::new(routes));
    let watched = Arc::clone(&current);
    thread::spawn(move || watch_tree(tree, &watched, &reopen));
    Router::new().fallback(any(move |request: Request| {
        let mut routes = current.read().clone();
        async move { routes.call(request).await }
    }))
}

/// Replaces the routes when the tree is no longer current, until the process ends.
fn watch_tree(mut tree: Tree, current: &RwLock<Router>, reopen: &Reopen) {
    let [first_pause, pause_max] = REOPEN_PAUSES;
    let (mut pause, mut is_served) = (first_pause, true);
    loop {
        thread::sleep(pause);
        match tree.is_current() {
            Ok(true) if is_served => continue,
            Ok(_) => {}
            Err(error) => {
                // Every request fails with the same error and reports it.
                tracing::debug!(%error, "it is unknown whether the models are unchanged");
                continue;
            }
        }
        let (reopened, routes) = match reopen() {
            Ok(opened) => opened,
            Err(failure) => {
                let message = format!("the tree cannot be opened again: {failure}");
                tracing::warn!("{message}");
                *current.write() = unavailable(message);
                (pause, is_served) = ((2 * pause).min(pause_max), false);
                continue;
            }
        };
        tracing::info!(
            "the models were replaced by another process; serving those that there are now"
        );
        *current.write() = routes;
        (tree, pause, is_served) = (reopened, first_pause, true);
    }
}

/// Responds to every request with an error that has the message.
fn unavailable(message: String) -> Router {
    let answer = move || {
        let body = json!({"ietf-restconf:errors": {"error": [{
            "error-type": "application",
            "error-tag": "operation-failed",
            "error-message": message.clone(),
        }]}});
        async move { unavailable_response(&body.to_string()) }
    };
    Router::new().fallback(any(answer))
}

fn unavailable_response(body: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/yang-data+json"),
        (RETRY_AFTER, "1"),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, body.to_owned()).into_response()
}
