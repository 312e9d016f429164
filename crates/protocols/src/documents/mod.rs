//! Document collections over HTTP: `/documents/{collection}…`.
//!
//! `operations.rs` is the table of all operations (see [`crate::api`]); `parsed_request.rs` parses requests; the
//! handlers are in `collections.rs`, `items.rs` with `list_query.rs`, `transaction.rs`, `indexes.rs`,
//! `import_export.rs` and `feed.rs`.

mod collections;
mod conditions;
mod cursor;
mod feed;
mod import_export;
mod indexes;
mod items;
mod limits;
mod list_query;
mod openapi;
mod operations;
mod parsed_request;
mod problem;
mod routes;
mod service;
mod transaction;

pub use openapi::PATH as OPENAPI_PATH;
pub use routes::router;
pub use service::DocumentsService;
