//! Failed requests: a status and the errors of RFC 8040 §7.

use std::io;

use espalier_store as store;
use espalier_store::{INTERNAL, Reported};
use espalier_yang::data::ParseError;
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};
use http::StatusCode;

use super::resource::Methods;
use super::write::PatchNames;
use crate::http_error::HttpError;
use crate::http_status;

/// The result of a request.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// The status.
    pub(super) status: StatusCode,
    /// The errors; at least one.
    pub(super) errors: Errors,
    /// The allowed methods, for 405.
    pub(super) allow: Option<Methods>,
    /// The supported content coding of bodies, for 415 (RFC 9110 §15.5.16).
    pub(super) accept_encoding: Option<&'static str>,
    /// The YANG Patch that failed.
    pub(super) patch: Option<PatchNames>,
}

impl Failure {
    /// One error of type `protocol`, with the status that RFC 8040 §7 assigns to its tag.
    pub(super) fn new(tag: ErrorTag, message: impl Into<String>) -> Self {
        let error = DataError::new(tag, message).of_type(ErrorType::Protocol);
        Self {
            status: http_status::of_tag(tag),
            errors: error.into(),
            allow: None,
            accept_encoding: None,
            patch: None,
        }
    }

    /// The failure of a patch: its response is the status of the patch (RFC 8072 §2.3).
    pub(super) fn of_patch(self, names: &PatchNames) -> Self {
        Self {
            errors: self.errors.map(|error| names.in_patch(error)),
            patch: Some(names.clone()),
            ..self
        }
    }

    /// Replaces the status.
    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// An invalid value in the request: 400.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorTag::InvalidValue, message)
    }

    /// RFC 8040 §4.3: an XML response has a single top element.
    pub(super) fn multiple_entries_in_xml() -> Self {
        Self::invalid(
            "an XML response can have only one list entry: give its keys, or accept application/yang-data+xml-list or JSON",
        )
    }

    /// A parameter of pages in a request that has no whole list or leaf-list to read: 400
    /// (draft-ietf-netconf-list-pagination-rc §3.3).
    pub(super) fn no_list() -> Self {
        let message = "parameters of pages require a GET of a whole list or leaf-list";
        let error = DataError::new(ErrorTag::OperationNotSupported, message);
        let error = error.of_type(ErrorType::Application);
        Self::from(error).with_status(StatusCode::BAD_REQUEST)
    }

    /// Wrong parameters of pages: 501 for what the target does not support, else the status of the error.
    pub(super) fn of_page(error: DataError) -> Self {
        match error.tag {
            ErrorTag::OperationNotSupported => {
                Self::from(error).with_status(StatusCode::NOT_IMPLEMENTED)
            }
            _ => error.into(),
        }
    }

    /// The resource or instance does not exist: 404.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::invalid(message).with_status(StatusCode::NOT_FOUND)
    }

    /// The resource does not support the method: 405, with the supported ones.
    pub(super) fn not_allowed(allow: Methods) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(
                ErrorTag::OperationNotSupported,
                "the resource does not allow this method",
            )
        }
    }

    /// The same with the reason that the store has for it.
    pub(super) fn because(self, reason: &str) -> Self {
        let error = DataError::new(ErrorTag::OperationNotSupported, reason);
        Self {
            errors: error.into(),
            ..self
        }
    }

    /// A limit of the server is reached, so the request was not processed, and can be sent again later: 503.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self::new(ErrorTag::ResourceDenied, message).with_status(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// A condition of the request headers is not met: 412.
    pub(super) fn precondition() -> Self {
        Self::new(
            ErrorTag::OperationFailed,
            "the resource is not in the state that the request expects",
        )
        .with_status(StatusCode::PRECONDITION_FAILED)
    }

    /// The content coding of the body is not supported: 415, with the supported one.
    pub(super) fn content_encoding(coding: &str) -> Self {
        let message = format!("the content coding “{coding}” of the body is not supported");
        Self {
            accept_encoding: Some("identity"),
            ..Self::new(ErrorTag::InvalidValue, message)
                .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
        }
    }

    /// The body is too large: 413.
    pub(super) fn too_big(bytes_max: u64) -> Self {
        Self::new(
            ErrorTag::TooBig,
            format!("the body may have at most {bytes_max} bytes"),
        )
        .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Internal error: 500. The cause is logged, not sent to the client.
    pub(super) fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %cause, "a request failed");
        Self::new(ErrorTag::OperationFailed, INTERNAL)
            .with_status(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Reported> for Failure {
    fn from(reported: Reported) -> Self {
        HttpError::from(reported).into()
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let (status, errors) = error.into_parts();
        Self {
            status,
            errors,
            allow: None,
            accept_encoding: None,
            patch: None,
        }
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Reported::from(errors).into()
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Errors::from(error).into()
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Read(error) => Self::unreadable(&error),
            error => Reported::from(error).into(),
        }
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Invalid(errors) => errors.into(),
            ParseError::Read(error) => Self::unreadable(&error),
            ParseError::Stopped => Self::internal(&"the receiver of the document stopped"),
        }
    }
}

impl Failure {
    /// The body ended early, did not arrive in time, or is too large.
    pub(super) fn unreadable(error: &io::Error) -> Self {
        let status = match error.kind() {
            io::ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            io::ErrorKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        let tag = match status {
            StatusCode::PAYLOAD_TOO_LARGE => ErrorTag::TooBig,
            _ => ErrorTag::MalformedMessage,
        };
        let message = format!("the body could not be read: {error}");
        Self::new(tag, message).with_status(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of RFC 8040 §7.
    #[test]
    fn every_tag_has_the_status_of_the_rfc() {
        let table = [
            (ErrorTag::InUse, 409),
            (ErrorTag::LockDenied, 409),
            (ErrorTag::ResourceDenied, 409),
            (ErrorTag::DataExists, 409),
            (ErrorTag::DataMissing, 409),
            (ErrorTag::InvalidValue, 400),
            (ErrorTag::MalformedMessage, 400),
            (ErrorTag::UnknownElement, 400),
            (ErrorTag::OperationNotSupported, 405),
            (ErrorTag::TooBig, 413),
            (ErrorTag::AccessDenied, 403),
            (ErrorTag::OperationFailed, 500),
        ];
        for (tag, status) in table {
            assert_eq!(Failure::new(tag, "").status.as_u16(), status, "{tag:?}");
        }
    }
}
