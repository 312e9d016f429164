//! POST, PUT, PATCH and DELETE of data (RFC 8040 §4.4 to §4.7).
//!
//! Each request is one commit. Its preconditions (the resource exists, its entity tag is unchanged) are
//! checked by the guard of the commit, on the state that the commit changes, so no other write can come
//! between check and change.

mod change;
mod dispatch;
mod document;
mod load;
mod placement;
mod preconditions;
mod queued_edit;
mod write_request;
mod yang_patch;

pub(super) use dispatch::write;
pub(super) use write_request::Target;
pub use write_request::{CHANGED_HEADER, VERSION_HEADER};
pub(super) use yang_patch::{PatchNames, print_errors};
