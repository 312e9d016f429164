//! Document collections over HTTP: `/documents/{collection}…`.
//!
//! `operations.rs` is the table of everything that can be asked (see [`crate::api`]); `call.rs` is what
//! requests say; `collections.rs`, `items.rs` with `wanted.rs`, `indexes.rs`, `exchange.rs` and `feed.rs` answer.

mod call;
mod collections;
mod conditions;
mod cursor;
mod exchange;
mod feed;
mod indexes;
mod items;
mod limits;
mod openapi;
mod operations;
mod problem;
mod routes;
mod service;
mod several;
mod wanted;

pub use openapi::PATH as OPENAPI_PATH;
pub use routes::router;
pub use service::DocumentsService;
