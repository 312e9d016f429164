//! The audit log over HTTP: `/audit`.
//!
//! | module | content |
//! |---|---|
//! | `routes` | the router |
//! | `operations` | the table of operations, and their handlers |
//! | `openapi` | the OpenAPI description |

mod openapi;
mod operations;
mod routes;

pub use routes::router;
