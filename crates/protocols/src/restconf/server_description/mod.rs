//! Documents that describe the server: the API resource and its children (RFC 8040 §3.3), the YANG library
//! (RFC 8525, and RFC 7895 for older clients), the capabilities (RFC 8040 §9), and the texts of the
//! modules.
//!
//! They are not stored: a few small documents, generated once from the schema and printed by one small
//! printer, are simpler than a schema and a store of their own.

mod api;
mod capabilities;
mod document;
mod library;
mod select;
mod texts;

pub(super) use api::{Xrd, api_resource, operations, yang_library_version};
pub(super) use document::{Element, PrintLevels};
pub(super) use library::Library;
pub(super) use texts::ModuleTexts;

pub(super) use capabilities::restconf_state;
pub(super) use select::{find, select_fields};
