//! Query parameters and JSON responses of the routes in addition to RESTCONF.

use axum::extract::{FromRequestParts, Query};
use axum::response::{IntoResponse, Response};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http_error::HttpError;

/// The query parameters of a request; invalid ones are rejected with the usual error body.
pub struct Parameters<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query
            .map(|Query(parameters)| Self(parameters))
            .map_err(|error| {
                let error = DataError::new(ErrorTag::InvalidValue, error.body_text());
                HttpError::from(error.of_type(ErrorType::Protocol)).into_response()
            })
    }
}

/// A JSON response.
pub fn json_response(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
