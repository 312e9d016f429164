//! Why a body cannot be taken in.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use http::StatusCode;

use crate::server::BodyTimeout;

/// Why a body cannot be taken in. Nothing was done then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntakeError {
    /// It is larger than this request may have.
    #[error("the body is larger than the limit of {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// The client stopped sending it, or sends too slowly.
    #[error("the body could not be read: {0}")]
    Timeout(BodyTimeout),
    /// It ended early, or is not framed as HTTP demands.
    #[error("the body could not be read: {0}")]
    Broken(String),
    /// The bodies of all requests take all the room that there is for them.
    #[error("there is no room for the body: {0}")]
    NoRoom(String),
    /// The file that was to hold it cannot be made, written or read.
    #[error("the body cannot be held in {}: {source}; see --spill-dir", .dir.display())]
    File {
        /// The folder of the file.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl IntakeError {
    /// The status of the answer.
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

    /// What reading a body failed with.
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
