//! Maps the errors of document collections to problem documents.

use espalier_documents::{Error, ErrorKind};
use http::StatusCode;
use serde_json::json;

use crate::http_status;

pub(super) use crate::api::{Problem, Result};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, kind) = match error.kind() {
            ErrorKind::Argument => (StatusCode::BAD_REQUEST, "request"),
            ErrorKind::Syntax => (StatusCode::BAD_REQUEST, "syntax"),
            ErrorKind::Limit => (StatusCode::BAD_REQUEST, "limit"),
            ErrorKind::Missing => (StatusCode::NOT_FOUND, "missing"),
            ErrorKind::Exists => (StatusCode::CONFLICT, "exists"),
            ErrorKind::Unique => (StatusCode::CONFLICT, "unique"),
            ErrorKind::RejectedByTrigger => (StatusCode::CONFLICT, "vetoed"),
            ErrorKind::Changed => (StatusCode::PRECONDITION_FAILED, "changed"),
            ErrorKind::Definition => (StatusCode::CONFLICT, "definition"),
            ErrorKind::Building => (StatusCode::CONFLICT, "building"),
            ErrorKind::Document => (StatusCode::UNPROCESSABLE_ENTITY, "document"),
            ErrorKind::Keyspace => {
                let cause = error
                    .keyspace()
                    .map(|cause| http_status::of_engine(cause.kind()));
                (cause.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), "engine")
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "engine"),
        };
        let clash = error.clash();
        let clash = clash
            .map(|clash| json!({"index": clash.index, "value": clash.value, "key": clash.key}));
        Self::new(status, kind, error.to_string()).with_clash(clash)
    }
}
