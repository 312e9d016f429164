//! Paths of data nodes: steps from the root, each with a schema node and the keys of its entry.
//!
//! - [`InstancePath`]: the parsed path.
//! - [`InstancePath::parse_instance_identifier`], [`InstancePath::to_instance_identifier`]:
//!   instance identifiers (RFC 7950 §9.13, RFC 7951 §6.11).
//! - [`InstancePath::parse_api_path`], [`InstancePath::to_api_path`]: paths in the URIs of RESTCONF (RFC 8040 §3.5.3).
//! - [`InstancePath::parse_cli_path`]: both forms, and abbreviations for users.
//! - [`Fields`]: RESTCONF's `fields` selection below a node (RFC 8040 §4.8.3).
//!
//! All forms share one descent of the schema, which checks where names may omit their module and where entries need
//! keys. The text forms only define the syntax of names and keys.

mod cli;
mod dialect;
mod fields;
mod identifier;
mod instance;
mod resolve_steps;
mod restconf_uri;
mod scan;

pub use fields::{Fields, Selection};
pub(crate) use identifier::push_quoted;
pub use instance::{InstancePath, Keys, Step};
pub use restconf_uri::ApiRoot;
