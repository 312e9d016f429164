//! The values of a metric over a range.

use axum::body::Body;
use espalier_stats::output;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Response};

use super::parsed_request::Call;
use super::problem::{Problem, Result};

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let stats = call.service;
    let points = stats.values(call.metric()?, call.range()?)?;
    let calendar = stats.calendar();
    let (media, text) = match wants_csv(call)? {
        true => ("text/csv", output::csv(&points, &calendar)),
        false => ("application/json", output::json(&points, &calendar)?),
    };
    let mut response = Response::new(Body::from(text));
    let media = HeaderValue::from_static(media);
    response.headers_mut().insert(CONTENT_TYPE, media);
    Ok(response)
}

/// The requested format: `format`, otherwise `Accept`.
fn wants_csv(call: &Call<'_>) -> Result<bool> {
    match call.parameter("format") {
        Some("csv") => Ok(true),
        Some("json") => Ok(false),
        Some(other) => Err(Problem::request(format!(
            "format={other:?}: must be json or csv"
        ))),
        None => {
            let accept = call
                .headers
                .get(ACCEPT)
                .and_then(|accept| accept.to_str().ok());
            Ok(accept.is_some_and(|accept| accept.starts_with("text/csv")))
        }
    }
}
