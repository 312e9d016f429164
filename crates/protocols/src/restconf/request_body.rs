//! Request bodies.

use axum::body::Body;
use espalier_yang::ErrorTag;
use http::HeaderMap;

use super::Restconf;
use super::error::{Failure, Result};
use crate::intake::{IntakeError, Staged};

/// Receives a body of at most `bytes_max`, before anything is locked.
pub(super) async fn receive(
    service: &Restconf,
    headers: &HeaderMap,
    body: &mut Body,
    bytes_max: u64,
) -> Result<Staged> {
    let body = std::mem::take(body);
    let staged = service
        .config()
        .intake
        .stage(headers, body, bytes_max)
        .await;
    Ok(staged?)
}

impl From<IntakeError> for Failure {
    fn from(error: IntakeError) -> Self {
        let tag = match &error {
            IntakeError::TooLarge { bytes_max } => return Self::too_big(*bytes_max),
            IntakeError::Timeout(_) | IntakeError::Broken(_) => ErrorTag::MalformedMessage,
            IntakeError::NoRoom(_) => ErrorTag::ResourceDenied,
            IntakeError::File { .. } => {
                tracing::error!(%error, "the body of a request could not be stored");
                ErrorTag::OperationFailed
            }
        };
        Self::new(tag, error.to_string()).with_status(error.status())
    }
}
