//! The table of operations, and their handlers.

use axum::body::Body;
use espalier_service::Service;
use espalier_service::audit::{AUDIT_PAGE_MAX, AuditError, AuditQuery};
use http::{Method, Response, StatusCode};
use serde_json::json;

use crate::api::{
    self, Content, Operation as OperationOf, Parameter, ParameterType, Problem, Result,
    json_response, operation,
};
use crate::http_status;
use crate::request_session::unnamed_session;

type Operation = OperationOf<Service>;

/// The input of a handler.
pub(super) type Call<'a> = api::Call<'a, Service>;

const RECORDS: &str = "/audit";
const SETTINGS: &str = "/audit/settings";

const RECORDS_PARAMETERS: &[Parameter] = &[
    Parameter::new("user", "records of this user"),
    Parameter::new("session", "records of the session with this id"),
    Parameter::new("operation", "records of this operation, such as edit"),
    Parameter::new(
        "result",
        "ok, error for any error, an error-tag, or a kind of errors",
    ),
    Parameter::new(
        "path",
        "records with this path, or one below it: an instance identifier, or the path of a request",
    ),
    Parameter::new("from", "the first time, RFC 3339"),
    Parameter::new("until", "the end: the first time that is not included"),
    Parameter::new("order", "the order [newest-first]")
        .of_type(ParameterType::OneOf(&["newest-first", "oldest-first"])),
    Parameter::new("limit", "maximum page size [1000]")
        .of_type(ParameterType::Integer(1, AUDIT_PAGE_MAX as u64)),
    Parameter::new("after", "`next` of the previous page"),
];

/// Returns all operations.
pub(super) fn all() -> Vec<Operation> {
    vec![
        operation(
            Method::GET,
            RECORDS,
            "listRecords",
            "Read records. A page may be empty and have a next one",
            records,
        )
        .query(RECORDS_PARAMETERS)
        .responses(&[(200, Content::Schema("Records"))]),
        operation(
            Method::GET,
            SETTINGS,
            "getSettings",
            "Read what is recorded, and for how long it is kept",
            settings,
        )
        .responses(&[(200, Content::Schema("Settings"))]),
        operation(
            Method::PATCH,
            SETTINGS,
            "changeSettings",
            "Change the settings with a JSON Merge Patch (RFC 7396)",
            change_settings,
        )
        .request_body(Content::Patch("Settings"))
        .responses(&[(200, Content::Schema("Settings"))]),
    ]
}

fn records(call: &Call<'_>) -> Result<Response<Body>> {
    let mut query = AuditQuery::default();
    for (name, value) in &call.query {
        query.set(name, value).map_err(Problem::request)?;
    }
    let page = call.service.audit().log()?.query(&query)?;
    let body = json!({"records": page.records, "next": page.next});
    Ok(json_response(StatusCode::OK, &body))
}

fn settings(call: &Call<'_>) -> Result<Response<Body>> {
    let settings = call.service.audit().log()?.settings();
    Ok(json_response(StatusCode::OK, &json!(*settings)))
}

fn change_settings(call: &Call<'_>) -> Result<Response<Body>> {
    let patch = call.merge_patch()?;
    let audit = call.service.audit();
    let session = unnamed_session(call.service, call.peer);
    let settings = audit.change_settings(&session, &patch)?;
    Ok(json_response(StatusCode::OK, &json!(settings)))
}

impl From<AuditError> for Problem {
    fn from(error: AuditError) -> Self {
        let message = error.to_string();
        match error {
            AuditError::InvalidSettings(_) => Self::request(message),
            AuditError::Engine(cause) => {
                Self::new(http_status::of_engine(cause.kind()), "engine", message)
            }
            _ => Self::internal(message),
        }
    }
}
