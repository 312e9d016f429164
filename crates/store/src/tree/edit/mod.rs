//! Edits (RFC 6241 §7.2), and their application to an overlay.

mod apply;
mod cases;
mod delete;
mod entry;
mod leaf;
mod leaf_list;
mod request;

pub(super) use apply::{EditApplier, TouchExtent, TouchScope, TouchedResources};
pub(super) use cases::siblings_in_other_cases;
pub(super) use request::Request;
pub use request::{Edit, Insert};
