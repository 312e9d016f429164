//! Errors of receiving a request body.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use http::StatusCode;

use crate::server::BodyTimeout;

/// An error of receiving a request body. The request had no effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntakeError {
    /// The body exceeds the limit of this request.
    #[error("the body is larger than the limit of {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// The client stopped sending, or sends too slowly.
    #[error("the body could not be read: {0}")]
    Timeout(BodyTimeout),
    /// The body ended early, or its HTTP framing is invalid.
    #[error("the body could not be read: {0}")]
    Broken(String),
    /// The bodies of all requests use the available space.
    #[error("no space for the body: {0}")]
    NoRoom(String),
    /// The file of the body cannot be created, written or read.
    #[error("the body cannot be stored in {}: {source}; see --spill-dir", .dir.display())]
    File {
        /// The directory of the file.
        dir: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl IntakeError {
    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Timeout(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
            Self::NoRoom(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::File { source, .. } if is_full(source) => StatusCode::INSUFFICIENT_STORAGE,
            Self::File { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Converts an error of reading a body.
    pub(super) fn of_body(error: axum::Error) -> Self {
        let mut cause: &(dyn Error + 'static) = &error;
        loop {
            if let Some(timeout) = cause.downcast_ref::<BodyTimeout>() {
                return Self::Timeout(*timeout);
            }
            match cause.source() {
                Some(source) => cause = source,
                None => return Self::Broken(cause.to_string()),
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
