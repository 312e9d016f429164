//! Document collections over HTTP: `/documents/{collection}…`.
//!
//! `operations.rs` is the table of everything that can be asked; the router and the OpenAPI
//! description that the server serves are both made of it, so neither can have what the other has
//! not. `call.rs` is a request taken apart; `collections.rs`, `items.rs`, `indexes.rs` and
//! `exchange.rs` answer. Failures are problem documents (RFC 9457).

mod call;
mod collections;
mod conditions;
mod cursor;
mod exchange;
mod indexes;
mod items;
mod limits;
mod openapi;
mod operations;
mod problem;
mod routes;
mod service;
mod several;

pub use openapi::PATH as OPENAPI_PATH;
pub use routes::router;
pub use service::DocumentsService;
