//! Maps the errors of statistics to problem documents.

use espalier_stats::{Error, ErrorKind};
use http::StatusCode;

use crate::http_status;

pub(super) use crate::api::{Problem, Result};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let cause = error
            .keyspace()
            .map(|cause| http_status::of_engine(cause.kind()));
        let (status, kind) = match error.kind() {
            ErrorKind::Syntax => (StatusCode::BAD_REQUEST, "syntax"),
            ErrorKind::Argument => (StatusCode::BAD_REQUEST, "request"),
            ErrorKind::Limit => (StatusCode::BAD_REQUEST, "limit"),
            ErrorKind::Overflow => (StatusCode::UNPROCESSABLE_ENTITY, "overflow"),
            ErrorKind::Settings => (StatusCode::CONFLICT, "settings"),
            _ => (cause.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), "engine"),
        };
        Self::new(status, kind, error.to_string())
    }
}
