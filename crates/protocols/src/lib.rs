//! Front ends: bytes on a socket to store requests and back. Nothing else.
//!
//! - [`documents`]: document collections, with the OpenAPI description of their operations.
//! - [`intake`]: bodies of requests, taken in whole before anything is done with them.
//! - [`restconf`]: RESTCONF (RFC 8040), one anchor's tree under one root.
//! - [`server`]: the HTTP listener that every HTTP front end shares: HTTP/1.1, HTTP/2, TLS, limits,
//!   graceful shutdown.
//! - [`stats`]: statistics, likewise.
//! - [`ops`]: what an operator asks a server: health and metrics.
//!
//! The key decision: a front end holds a [`espalier_store::Tree`] and nothing below it, so it
//! cannot know which engine answers, and every front end goes through the one commit path.

mod api;
pub mod documents;
pub mod intake;
pub mod ops;
mod refusal;
pub mod restconf;
pub mod server;
pub mod stats;
