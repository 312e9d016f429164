//! Naming data nodes: a path of steps from the root, each a schema node and the keys of its entry.
//!
//! - [`InstancePath`]: the value that everything works with.
//! - [`InstancePath::parse_instance_identifier`], [`InstancePath::to_instance_identifier`]:
//!   instance identifiers (RFC 7950 §9.13, RFC 7951 §6.11).
//! - [`InstancePath::parse_api_path`], [`InstancePath::to_api_path`]: what stands in the URIs of
//!   RESTCONF (RFC 8040 §3.5.3).
//! - [`InstancePath::parse_cli_path`]: both, and what people type.
//! - [`Fields`]: the selection below a node of RESTCONF's `fields` (RFC 8040 §4.8.3).
//!
//! One walk down the schema serves all of them: it knows where names may leave out their module and where
//! entries need keys. The text forms only say how names and keys are written.

mod api;
mod cli;
mod descent;
mod dialect;
mod fields;
mod identifier;
mod instance;
mod scan;

pub use api::ApiRoot;
pub use fields::{Fields, Selection};
pub(crate) use identifier::push_quoted;
pub use instance::{InstancePath, Keys, Step};
