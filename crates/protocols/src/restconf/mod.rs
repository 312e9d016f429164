//! RESTCONF (RFC 8040) for the trees of anchors.
//!
//! - [`Restconf`] is the service of one anchor: a tree for each datastore. [`RestconfServer`] is what all anchors of a
//!   server share, and [`SchemaDocuments`] what all anchors with the same modules share. [`router`] creates the routes of
//!   one anchor; [`crate::anchors`] those of all anchors of a store.
//! - A request is parsed (`address`), its resource and method are checked (`resource`), and it is handled:
//!   `read` for GET and HEAD, `write` for methods that change data.
//! - `media`, `query` and `conditions` determine the response: `Accept`, the query string, and the
//!   conditional headers.
//! - `request_body` and `response_body` connect the blocking store to the asynchronous connection, in
//!   bounded memory.
//! - `event_stream` delivers notifications as server-sent events (§6).
//! - `server_description` has what is not data: root discovery, the API resource. The YANG library and the monitoring of
//!   the server are data, which the service has ([`espalier_service::server_state`]).
//!
//! The key decision: reads run on the task of the connection, because a read of the embedded engine takes
//! microseconds and a thread switch takes longer; a response that turns out to be large is restarted on its
//! own thread and streamed. The cost: over a slow engine, a read delays the other connections of
//! that thread.

mod address;
mod codec;
mod conditions;
mod config;
mod edit_queue;
mod error;
mod error_body;
mod event_stream;
mod limits;
mod media;
mod operations;
mod query;
mod read;
mod request_body;
mod request_identity;
mod resource;
mod response_body;
mod routes;
mod schema_documents;
mod server;
mod server_description;
mod service;
mod write;

pub use config::{RestconfConfig, StateWrites};
pub(crate) use error_body::json_errors;
pub use limits::Limits;
pub use media::{DOCUMENT_BARE, DOCUMENT_HEADER};
pub use query::ReadParameters;
pub use request_identity::{AUTHOR_HEADER, COMMENT_HEADER, SESSION_HEADER, Who};
pub use response_body::{BodyWriter, stream};
pub use routes::router;
pub(crate) use routes::{early_error_response, host_meta, rejection, respond, root_routes};
pub use schema_documents::SchemaDocuments;
pub use server::RestconfServer;
pub use service::{PRIVATE_CANDIDATE, Restconf};
pub use write::{CHANGED_HEADER, VERSION_HEADER};
