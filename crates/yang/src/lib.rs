//! The semantics of YANG models and of data under them. Pure: no I/O of its own, no clock.
//!
//! - [`schema`]: models, compiled once by libyang into an immutable [`Schema`] value.
//! - [`standard`]: the IETF modules that are built in.
//! - [`value`]: the values of leaves, in canonical form.
//! - [`path`]: paths of data nodes: instance identifiers, RESTCONF-style paths.
//! - [`data`]: data trees: the event stream ([`data::Sink`]), JSON and XML in and out, trees in
//!   memory and edits.
//! - [`instances`]: the read interface to data that XPath and validation use, implemented by each storage.
//! - [`validate`]: the constraints of a model, on a whole tree or on the part that a change can affect.
//! - [`xpath`]: XPath expressions, parsed.
//! - [`error`]: errors as RFC 7950 and RFC 6241 shape them, all at once.
//!
//! The key decision: one event stream connects everything. Parsers, printers, trees in memory and the store
//! all use [`data::Sink`], so a document of any size passes through in bounded memory, and a new format is one
//! file. A shared tree type was rejected: it would make every large document a large allocation.

pub mod data;
pub mod error;
mod error_info;
mod index_intersection;
pub mod instances;
pub mod path;
pub mod schema;
pub mod standard;
pub mod validate;
pub mod value;
pub mod xpath;

pub use data::{Mark, Sink};
pub use error::{DataError, ErrorTag, ErrorType, Errors};
pub use error_info::{ErrorInfo, ErrorInfoMember, ErrorStructure};
pub use instances::{Indexed, Instances};
pub use path::{InstancePath, Keys, Step};
pub use schema::{ModuleId, NodeId, NodeKind, Schema};
pub use value::Value;
