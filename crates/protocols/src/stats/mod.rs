//! Statistics over HTTP: `/stats/…`.
//!
//! `operations.rs` is the table of all operations (see [`crate::api`]); the handlers are in `write.rs`,
//! `values.rs`, `series.rs`, `status.rs`, `metrics.rs` and `settings.rs`. Responses have the same format as
//! the output of `espalier stats … --json`.

mod metrics;
mod openapi;
mod operations;
mod parsed_request;
mod problem;
mod routes;
mod series;
mod settings;
mod status;
mod values;
mod write;

pub use openapi::PATH as OPENAPI_PATH;
pub use routes::router;
