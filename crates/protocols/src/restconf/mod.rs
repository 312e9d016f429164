//! RESTCONF (RFC 8040) over one anchor's tree.
//!
//! - [`Restconf`] is what a server serves: a tree for each datastore, and what it says about
//!   itself. [`router`] puts it on the network.
//! - A request is located (`address`), its resource and method checked (`resource`), and handled:
//!   `read` for GET and HEAD, `write` for what changes data.
//! - `media`, `query` and `conditions` are the three things that decide what an answer looks like:
//!   `Accept`, the query string, and the conditional headers.
//! - `request_body` and `response_body` join the blocking store to the asynchronous connection, in
//!   bounded memory.
//! - `system` holds the documents that the server makes itself: the YANG library, capabilities.
//!
//! The key decision: reads run on the connection's own task, because a read of the embedded engine
//! takes microseconds and a change of thread takes more; what turns out to be large is begun again
//! on a thread of its own and streamed. What it costs: over a slow remote engine, a read holds up
//! the other connections of that task's thread.

mod address;
mod codec;
mod conditions;
mod config;
mod error;
mod error_body;
mod error_path;
mod limits;
mod media;
mod query;
mod read;
mod request_body;
mod resource;
mod response_body;
mod routes;
mod service;
mod system;
mod who;
mod write;
mod xml_text;

pub use config::{RestconfConfig, StateWrites};
pub use limits::Limits;
pub use media::{DOCUMENT_BARE, DOCUMENT_HEADER};
pub use response_body::{BodyWriter, stream};
pub(crate) use routes::refusal_without_place;
pub use routes::router;
pub use service::{PRIVATE_CANDIDATE, Restconf};
pub use who::{AUTHOR_HEADER, COMMENT_HEADER, SESSION_HEADER, Who};
