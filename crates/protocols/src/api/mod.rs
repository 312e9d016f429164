//! What the front ends with an API of their own share: a table of operations. The router and the served
//! OpenAPI description are both built from it, so they always agree. Errors are problem documents (RFC
//! 9457).

mod openapi;
mod operation;
mod parsed_request;
mod problem;
mod routes;

pub(crate) use openapi::{list_of, object, reference};
pub(crate) use operation::{Content, Operation, Parameter, ParameterType, operation};
pub(crate) use parsed_request::{
    Call, empty, json_response, json_text, percent_encode, read, set_etag, set_location,
};
pub(crate) use problem::{Problem, Result};
pub(crate) use routes::{Api, router};
