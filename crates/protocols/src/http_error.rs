//! Error responses with the body of RFC 8040 §7.1, in JSON: for the routes in addition to RESTCONF.

use axum::body::Body;
use axum::response::IntoResponse;
use espalier_store::{Error, Reported};
use espalier_yang::{DataError, Errors};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::http_status;
use crate::restconf::json_errors;

/// The number of all errors, in a response that does not list them all.
pub static ERRORS_TOTAL: HeaderName = HeaderName::from_static("espalier-errors-total");

/// Sets [`ERRORS_TOTAL`] if a response does not list all errors.
pub(crate) fn set_errors_total(headers: &mut HeaderMap, errors: &Errors) {
    if errors.len() > errors.iter().len() {
        headers.insert(&ERRORS_TOTAL, errors.len().into());
    }
}

/// Errors, with their status.
#[derive(Debug)]
pub struct HttpError {
    status: StatusCode,
    errors: Errors,
}

impl HttpError {
    /// Errors with a status that does not follow from them.
    pub fn with_status(status: StatusCode, errors: impl Into<Errors>) -> Self {
        let errors = errors.into();
        Self { status, errors }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The status and the errors.
    pub fn into_parts(self) -> (StatusCode, Errors) {
        (self.status, self.errors)
    }

    /// The errors.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }
}

impl From<Reported> for HttpError {
    fn from(reported: Reported) -> Self {
        let (status, errors) = http_status::response_of(reported);
        Self { status, errors }
    }
}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        Reported::from(error).into()
    }
}

impl From<Errors> for HttpError {
    fn from(errors: Errors) -> Self {
        Reported::from(errors).into()
    }
}

impl From<DataError> for HttpError {
    fn from(error: DataError) -> Self {
        Errors::from(error).into()
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(json_errors(self.errors.iter())));
        *response.status_mut() = self.status;
        let media = HeaderValue::from_static("application/yang-data+json");
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, media);
        set_errors_total(headers, &self.errors);
        response
    }
}
