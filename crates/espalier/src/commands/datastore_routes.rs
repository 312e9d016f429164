//! What `serve` offers so that datastores can be committed, validated, locked and copied through it.
//!
//! - `POST /espalier/datastores`: an [`Acting`] as JSON; the answer is an
//!   [`Outcome`].
//!
//! Errors have the body of RFC 8040 §7.1.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use espalier_store::Tree;
use espalier_yang::{DataError, ErrorTag};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::commands::shell_routes::refusal;
use crate::target::{Acting, DATASTORES_PATH, Outcome, perform};

/// Bytes in a request, at the most.
const ACTING_BYTES_MAX: usize = 1 << 20;

/// The routes for a tree.
pub fn router(tree: Tree) -> Router {
    Router::new()
        .route(DATASTORES_PATH, post(act))
        .layer(DefaultBodyLimit::max(ACTING_BYTES_MAX))
        .with_state(tree)
}

fn told(outcome: &Outcome) -> Response {
    match serde_json::to_vec(outcome) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn act(State(tree): State<Tree>, body: Bytes) -> Response {
    let acting: Acting = match serde_json::from_slice(&body) {
        Ok(acting) => acting,
        Err(error) => {
            let error = DataError::new(ErrorTag::MalformedMessage, error.to_string());
            return refusal(&error.into());
        }
    };
    match tokio::task::spawn_blocking(move || perform(&tree, &acting)).await {
        Ok(Ok(outcome)) => told(&outcome),
        Ok(Err(failure)) => refusal(&failure.into_errors()),
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
