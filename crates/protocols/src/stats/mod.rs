//! Statistics over HTTP: `/stats/…`.
//!
//! `operations.rs` is the table of everything that can be asked (see [`crate::api`]); `write.rs`,
//! `values.rs`, `series.rs`, `status.rs`, `metrics.rs` and `settings.rs` answer. Answers have the form
//! of what `espalier stats … --json` prints.

mod asked;
mod metrics;
mod openapi;
mod operations;
mod problem;
mod routes;
mod series;
mod settings;
mod status;
mod values;
mod write;

pub use openapi::PATH as OPENAPI_PATH;
pub use routes::router;
