//! The part of a server that shows a tree: made again where another process puts other modules in
//! place, sets the anchor up anew, or fills the store with another one.

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

/// How often it is looked whether the tree is still the one that was opened.
// A check with each request would be two round trips to the engine: docs/decisions/0014.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long it is waited after a tree could not be opened again, at first and at most.
const REOPEN_PAUSES: [Duration; 2] = [CHECK_INTERVAL, Duration::from_secs(5)];

/// The tree as it is now, and the routes that show it.
pub type Reopen = Box<dyn Fn() -> Result<(Tree, Router)> + Send>;

/// Serves `routes`, and from when `tree` is not current any more what `open` gives. In between, while
/// there is nothing to be opened, requests are answered with 503.
pub fn router(tree: Tree, routes: Router, reopen: Reopen) -> Router {
    let current = Arc::new(RwLock::new(routes));
    let watched = Arc::clone(&current);
    thread::spawn(move || watch_tree(tree, &watched, &reopen));
    Router::new().fallback(any(move |request: Request| {
        let mut routes = current.read().clone();
        async move { routes.call(request).await }
    }))
}

/// Sees to it, as long as the process lives, that what is current is the tree as it is.
fn watch_tree(mut tree: Tree, current: &RwLock<Router>, reopen: &Reopen) {
    let [first_pause, pause_max] = REOPEN_PAUSES;
    let (mut pause, mut is_served) = (first_pause, true);
    loop {
        thread::sleep(pause);
        match tree.is_current() {
            Ok(true) if is_served => continue,
            Ok(_) => {}
            Err(error) => {
                // Every request meets the same and says so.
                tracing::debug!(%error, "it cannot be told whether the models are still the same");
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

/// Answers everything with an error that says why there is nothing.
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
