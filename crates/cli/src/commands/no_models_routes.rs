//! The routes for a store without models: they return an error with the body of RFC 8040 §7.1.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::json;

/// The roots of the routes that need a tree.
const ROOTS: [&str; 2] = ["/restconf", "/espalier"];

/// Why there is no tree.
const MESSAGE: &str = "this store has no models, so that only /stats and /documents are served; stop the server and start it with --yang FILE|DIR|NAME to give it some";

/// The routes.
pub fn router() -> Router {
    let mut router = Router::new();
    for root in ROOTS {
        router = router
            .route(root, any(no_models_response))
            .route(&format!("{root}/{{*rest}}"), any(no_models_response));
    }
    router
}

async fn no_models_response() -> Response {
    let error = json!({
        "error-type": "application",
        "error-tag": "invalid-value",
        "error-message": MESSAGE,
    });
    let body = json!({"ietf-restconf:errors": {"error": [error]}}).to_string();
    let media = [(CONTENT_TYPE, "application/yang-data+json")];
    (StatusCode::NOT_FOUND, media, body).into_response()
}
