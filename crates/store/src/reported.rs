//! Errors as every front end reports them: with the tags of RFC 6241, and with a cause for protocols that have
//! statuses of their own.

use espalier_keyspace::ErrorKind;
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};

use crate::error::Error;

/// The message of an error whose cause only the operator may see.
pub const INTERNAL: &str = "internal error; see the log of the server";

/// The `error-app-tag` of an error about a version that does not exist, or is not kept.
pub const NO_SUCH_VERSION: &str = "no-such-version";

/// What has to change before the request can succeed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// The request or the data, as the tag says.
    #[default]
    Request,
    /// A named dataspace, schema set or anchor does not exist.
    Missing,
    /// The resource is not in the state that the request expects.
    Precondition,
    /// The engine cannot be reached.
    Unavailable,
    /// The engine has no space left.
    Full,
    /// The engine fails in a way that the operator can mend; the message names it.
    Engine,
    /// A fault of the store; the message is for the operator.
    Internal,
}

/// An error as it is reported.
#[derive(Clone, Debug)]
pub struct Reported {
    /// The errors; at least one.
    pub errors: Errors,
    /// What has to change.
    pub cause: Cause,
}

impl Reported {
    fn new(cause: Cause, tag: ErrorTag, message: impl Into<String>) -> Self {
        let error = DataError::new(tag, message).of_type(ErrorType::Protocol);
        Self {
            errors: error.into(),
            cause,
        }
    }
}

impl From<Errors> for Reported {
    fn from(errors: Errors) -> Self {
        let cause = Cause::Request;
        Self { errors, cause }
    }
}

impl From<DataError> for Reported {
    fn from(error: DataError) -> Self {
        Errors::from(error).into()
    }
}

impl From<Error> for Reported {
    fn from(error: Error) -> Self {
        match error {
            Error::Data(errors) | Error::Upgrade { errors, .. } => errors.into(),
            error => Self::from(&error),
        }
    }
}

impl From<&Error> for Reported {
    fn from(error: &Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Data(errors) | Error::Upgrade { errors, .. } => errors.clone().into(),
            Error::Engine(error) => Self::from(error),
            Error::Precondition => {
                Self::new(Cause::Precondition, ErrorTag::OperationFailed, message)
            }
            Error::Unknown { .. } => Self::new(Cause::Missing, ErrorTag::InvalidValue, message),
            Error::Exists { .. } => Self::new(Cause::Request, ErrorTag::DataExists, message),
            Error::InUse { .. } => Self::new(Cause::Request, ErrorTag::InUse, message),
            Error::Schema(_) | Error::BadName { .. } => {
                Self::new(Cause::Request, ErrorTag::InvalidValue, message)
            }
            Error::NoVersion { .. } | Error::Pruned { .. } => {
                let error = DataError::new(ErrorTag::InvalidValue, message);
                let error = error.of_type(ErrorType::Protocol);
                error.with_app_tag(NO_SUCH_VERSION).into()
            }
            Error::Read(_) | Error::Stopped => {
                Self::new(Cause::Request, ErrorTag::MalformedMessage, message)
            }
            _ => Self::new(Cause::Internal, ErrorTag::OperationFailed, message),
        }
    }
}

impl From<&espalier_keyspace::Error> for Reported {
    fn from(error: &espalier_keyspace::Error) -> Self {
        let (cause, tag) = match error.kind() {
            ErrorKind::Conflict | ErrorKind::SnapshotTooOld => {
                let message = "the datastore was changed by another client; retry the request";
                return Self::new(Cause::Request, ErrorTag::InUse, message);
            }
            ErrorKind::Unavailable => (Cause::Unavailable, ErrorTag::OperationFailed),
            ErrorKind::Full => (Cause::Full, ErrorTag::ResourceDenied),
            ErrorKind::KeyTooLong | ErrorKind::ValueTooLong | ErrorKind::BatchTooLarge => {
                (Cause::Request, ErrorTag::TooBig)
            }
            ErrorKind::Denied | ErrorKind::ReadOnly | ErrorKind::OutcomeUnknown => {
                (Cause::Engine, ErrorTag::OperationFailed)
            }
            _ => (Cause::Internal, ErrorTag::OperationFailed),
        };
        Self::new(cause, tag, error.to_string())
    }
}
