//! The one table between errors and HTTP statuses, in both directions (RFC 8040 §7).

use espalier_store::{Cause, EngineErrorKind, INTERNAL, Reported};
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};
use http::StatusCode;

/// The status of each tag; if the RFC allows several, the first one.
const TABLE: [(ErrorTag, StatusCode); 19] = [
    (ErrorTag::InUse, StatusCode::CONFLICT),
    (ErrorTag::LockDenied, StatusCode::CONFLICT),
    (ErrorTag::ResourceDenied, StatusCode::CONFLICT),
    (ErrorTag::DataExists, StatusCode::CONFLICT),
    (ErrorTag::DataMissing, StatusCode::CONFLICT),
    (ErrorTag::AccessDenied, StatusCode::FORBIDDEN),
    (ErrorTag::OperationFailed, StatusCode::INTERNAL_SERVER_ERROR),
    (ErrorTag::RollbackFailed, StatusCode::INTERNAL_SERVER_ERROR),
    (
        ErrorTag::OperationNotSupported,
        StatusCode::METHOD_NOT_ALLOWED,
    ),
    (ErrorTag::TooBig, StatusCode::PAYLOAD_TOO_LARGE),
    (ErrorTag::InvalidValue, StatusCode::BAD_REQUEST),
    (ErrorTag::MalformedMessage, StatusCode::BAD_REQUEST),
    (ErrorTag::MissingAttribute, StatusCode::BAD_REQUEST),
    (ErrorTag::BadAttribute, StatusCode::BAD_REQUEST),
    (ErrorTag::UnknownAttribute, StatusCode::BAD_REQUEST),
    (ErrorTag::MissingElement, StatusCode::BAD_REQUEST),
    (ErrorTag::BadElement, StatusCode::BAD_REQUEST),
    (ErrorTag::UnknownElement, StatusCode::BAD_REQUEST),
    (ErrorTag::UnknownNamespace, StatusCode::BAD_REQUEST),
];

/// The status of each error of pages (draft-ietf-netconf-list-pagination-rc §3.3).
const PAGE_ERRORS: [(&str, StatusCode); 3] = [
    (
        "ietf-list-pagination:offset-out-of-range",
        StatusCode::RANGE_NOT_SATISFIABLE,
    ),
    (
        "ietf-list-pagination:cursor-not-found",
        StatusCode::NOT_FOUND,
    ),
    (
        "ietf-list-pagination:locale-unavailable",
        StatusCode::NOT_IMPLEMENTED,
    ),
];

/// The status of a tag.
pub fn of_tag(tag: ErrorTag) -> StatusCode {
    let row = TABLE.iter().find(|(of, _)| *of == tag);
    row.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status)
}

/// The status of an error. RFC 8040 §7 allows two for `operation-failed`: for a violated constraint, which is an error
/// of the application, the client is at fault.
pub fn of_error(error: &DataError) -> StatusCode {
    let mut of_pages = PAGE_ERRORS.iter();
    if let Some((_, status)) = of_pages.find(|(tag, _)| error.app_tag.as_deref() == Some(tag)) {
        return *status;
    }
    match (error.tag, error.kind) {
        (ErrorTag::OperationFailed, ErrorType::Application) => StatusCode::PRECONDITION_FAILED,
        (tag, _) => of_tag(tag),
    }
}

/// The status of several errors: that of the first.
pub fn of_errors(errors: &Errors) -> StatusCode {
    let first = errors.iter().next();
    first.map_or(StatusCode::INTERNAL_SERVER_ERROR, of_error)
}

/// The status of an error of the engine.
pub fn of_engine(kind: EngineErrorKind) -> StatusCode {
    match kind {
        EngineErrorKind::Conflict
        | EngineErrorKind::SnapshotTooOld
        | EngineErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        EngineErrorKind::Full => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status and the errors that a client gets. The cause of an internal error is logged, and not sent.
pub fn response_of(reported: Reported) -> (StatusCode, Errors) {
    let Reported { errors, cause } = reported;
    let status = match cause {
        Cause::Request => return (of_errors(&errors), errors),
        Cause::Missing => StatusCode::NOT_FOUND,
        Cause::Precondition => StatusCode::PRECONDITION_FAILED,
        Cause::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Cause::Full => StatusCode::INSUFFICIENT_STORAGE,
        Cause::Engine | Cause::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    if status.is_server_error() {
        tracing::error!(error = %errors, "a request failed");
    }
    match cause {
        Cause::Internal => {
            let error = DataError::new(ErrorTag::OperationFailed, INTERNAL);
            (status, error.of_type(ErrorType::Protocol).into())
        }
        _ => (status, errors),
    }
}

/// The tag for a status whose response has no errors: from a proxy, or from another server.
pub fn tag_of(status: StatusCode) -> ErrorTag {
    match status {
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ErrorTag::AccessDenied,
        StatusCode::CONFLICT => ErrorTag::InUse,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
            ErrorTag::OperationNotSupported
        }
        StatusCode::PAYLOAD_TOO_LARGE => ErrorTag::TooBig,
        StatusCode::INSUFFICIENT_STORAGE => ErrorTag::ResourceDenied,
        StatusCode::BAD_REQUEST => ErrorTag::MalformedMessage,
        status if status.is_client_error() && status != StatusCode::PRECONDITION_FAILED => {
            ErrorTag::InvalidValue
        }
        _ => ErrorTag::OperationFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use espalier_store::{EngineError, Error};

    fn status_of(error: Error) -> u16 {
        response_of(error.into()).0.as_u16()
    }

    /// A violated constraint is never a server error.
    #[test]
    fn operation_failed_in_data_is_412() {
        let error = DataError::new(ErrorTag::OperationFailed, "").with_app_tag("must-violation");
        assert_eq!(status_of(error.into()), 412);
    }

    #[test]
    fn an_unreachable_engine_is_503() {
        let error = EngineError::new(EngineErrorKind::Unavailable, "no connection");
        assert_eq!(status_of(Error::Engine(error)), 503);
        assert_eq!(of_engine(EngineErrorKind::Unavailable), 503);
    }

    #[test]
    fn access_denied_is_403() {
        let error = DataError::new(ErrorTag::AccessDenied, "access denied");
        assert_eq!(status_of(error.clone().into()), 403);
        assert_eq!(of_error(&error.of_type(ErrorType::Protocol)), 403);
    }

    #[test]
    fn the_message_of_an_internal_error_is_not_sent() {
        let (status, errors) = response_of(Error::Corrupt("secret".to_owned()).into());
        assert_eq!(
            (status.as_u16(), errors.to_string().contains("secret")),
            (500, false)
        );
    }
}
