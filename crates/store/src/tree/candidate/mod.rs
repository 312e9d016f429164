//! Candidates: changes of running that are not committed (RFC 6241 §8.3, RFC 8342 §5.1.2).
//!
//! A candidate is stored as what it changes, key by key, with deleted ranges as ranges, and read
//! as these changes laid over running as it is now. So making one costs nothing, and editing,
//! discarding and committing it cost what it changes. The alternative, a copy of running, is what
//! makes candidates slow elsewhere, and cannot tell afterwards what was meant.
//!
//! The changes were made on one version of running, their base. Where running moved on, they are
//! [merged](merge) leaf by leaf; what both changed differently is a [`Conflict`], shown with the
//! candidate's value, and refused at validation and commit until somebody decides with
//! [`crate::Tree::update`].

mod commit;
mod edit;
mod fold;
mod header;
mod merge;
mod read;
mod resident;
mod revise;
mod rows;

pub use merge::{Conflict, Held, Resolution};

pub(crate) use resident::Residents;
pub(in crate::tree) use revise::Standing;
