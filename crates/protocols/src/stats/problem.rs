//! Maps the errors of statistics to problem documents.

use espalier_stats::{Error, ErrorKind};
use http::StatusCode;

pub(super) use crate::api::{Problem, Result};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let is_retryable = error.keyspace().is_some_and(|error| error.is_retryable());
        let (status, kind) = match error.kind() {
            ErrorKind::Syntax => (StatusCode::BAD_REQUEST, "syntax"),
            ErrorKind::Argument => (StatusCode::BAD_REQUEST, "request"),
            ErrorKind::Limit => (StatusCode::BAD_REQUEST, "limit"),
            ErrorKind::Overflow => (StatusCode::UNPROCESSABLE_ENTITY, "overflow"),
            ErrorKind::Settings => (StatusCode::CONFLICT, "settings"),
            ErrorKind::Keyspace if is_retryable => (StatusCode::SERVICE_UNAVAILABLE, "engine"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "engine"),
        };
        Self::new(status, kind, error.to_string())
    }
}
