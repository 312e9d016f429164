//! POST, PUT, PATCH and DELETE of data (RFC 8040 §4.4 to §4.7).
//!
//! Each request is one commit. Its preconditions (the resource exists, its entity tag is unchanged) are
//! checked by the guard of the commit, on the state that the commit changes, so no other write can come
//! between check and change.

mod document;
mod guard;
mod job;
mod load;
mod methods;
mod placement;
mod run;

pub(super) use job::Target;
pub(super) use run::write;
