//! What an operator asks a server: is it well, and what has it counted.

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

/// Says whether the server can do its work; the reason where it cannot.
pub type CheckHealth = Arc<dyn Fn() -> Result<(), Unwell> + Send + Sync>;

/// Why a server cannot do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unwell(pub String);

/// How long a check of the health may take: who asks may not wait for ever.
pub const CHECK_MAX: Duration = Duration::from_secs(2);

/// `/healthz`: 200 and `ok` while `check` succeeds, 503 and the reason else, or where it takes longer
/// than [`CHECK_MAX`]. It runs on a blocking thread, so it may read from the store.
pub fn health(check: CheckHealth) -> Router {
    let handler = move || {
        let check = Arc::clone(&check);
        async move {
            let checked = tokio::task::spawn_blocking(move || check());
            let unwell = match tokio::time::timeout(CHECK_MAX, checked).await {
                Ok(Ok(Ok(()))) => return (StatusCode::OK, "ok\n".to_owned()),
                Ok(Ok(Err(unwell))) => unwell.to_string(),
                Ok(Err(_)) => "the check failed".to_owned(),
                Err(_) => format!("the store did not answer within {} s", CHECK_MAX.as_secs()),
            };
            (StatusCode::SERVICE_UNAVAILABLE, format!("{unwell}\n"))
        }
    };
    Router::new().route("/healthz", get(handler))
}

/// `/metrics`: what `render` gives, in the text format of Prometheus.
pub fn metrics(render: RenderMetrics) -> Router {
    let handler = move || {
        let text = render();
        async move { ([(CONTENT_TYPE, PROMETHEUS_TEXT)], text).into_response() }
    };
    Router::new().route("/metrics", get(handler))
}
