//! Endpoints for operators: health and metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;

/// The media type of the Prometheus text format.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Renders the metrics as text.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Checks whether the server can work; returns the reason if it cannot.
pub type CheckHealth = Arc<dyn Fn() -> Result<(), Unwell> + Send + Sync>;

/// Why the server cannot work.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unwell(pub String);

/// Maximum duration of a health check.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// `/healthz`: 200 and `ok` if `check` succeeds, 503 and the reason if it fails or takes longer than
/// [`CHECK_TIMEOUT`]. It runs on a blocking thread, so it may read from the store.
pub fn health(check: CheckHealth) -> Router {
    let handler = move || {
        let check = Arc::clone(&check);
        async move {
            let checked = tokio::task::spawn_blocking(move || check());
            let unwell = match tokio::time::timeout(CHECK_TIMEOUT, checked).await {
                Ok(Ok(Ok(()))) => return (StatusCode::OK, "ok\n".to_owned()),
                Ok(Ok(Err(unwell))) => unwell.to_string(),
                Ok(Err(_)) => "the check failed".to_owned(),
                Err(_) => format!(
                    "the store did not respond within {} s",
                    CHECK_TIMEOUT.as_secs()
                ),
            };
            (StatusCode::SERVICE_UNAVAILABLE, format!("{unwell}\n"))
        }
    };
    Router::new().route("/healthz", get(handler))
}

/// `/metrics`: the result of `render`, in the text format of Prometheus.
pub fn metrics(render: RenderMetrics) -> Router {
    let handler = move || {
        let text = render();
        async move { ([(CONTENT_TYPE, PROMETHEUS_TEXT)], text).into_response() }
    };
    Router::new().route("/metrics", get(handler))
}
