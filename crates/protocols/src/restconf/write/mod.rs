//! POST, PUT, PATCH and DELETE of data (RFC 8040 §4.4 to §4.7).
//!
//! Each is one commit. What a request presumes (that the resource exists, that its entity tag is
//! still this one) is checked by the commit's guard, on the very state that the commit changes, so
//! no other client can come between the check and the change.

mod document;
mod guard;
mod job;
mod load;
mod methods;
mod placement;
mod run;

pub(super) use job::Target;
pub(super) use run::write;
