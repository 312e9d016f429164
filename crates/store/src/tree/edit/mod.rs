//! Edits (RFC 6241 §7.2), and their application to an overlay.

mod apply;
mod cases;
mod delete;
mod entry;
mod leaf;
mod leaf_list;
mod request;

pub(super) use apply::{Applying, TouchExtent, TouchScope, TouchedResources};
pub(super) use cases::rivals;
pub use request::Edit;
pub(super) use request::Request;
