//! What the front ends with an API of their own share: a table of operations, of which both the router
//! and the OpenAPI description that the server serves are made, so that neither can have what the other
//! has not. Failures are problem documents (RFC 9457).

mod call;
mod openapi;
mod operation;
mod problem;
mod routes;

pub(crate) use call::{Call, empty, encoded, json, json_text, location, read, tag};
pub(crate) use openapi::{list_of, object, reference};
pub(crate) use operation::{Content, Holds, Operation, Parameter, of};
pub(crate) use problem::{Problem, Result};
pub(crate) use routes::{Api, router};
