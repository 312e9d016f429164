//! Validates proposed states; indexes and counts limit its cost to the size of the change.

mod changes;
mod index;
mod instances;
mod operation;
mod rebuild;
mod run;
mod verify;
mod whole;

pub(crate) use index::definition as index_definition;
pub(super) use index::{are_indexes_current, definition_key};
pub(super) use instances::{Indexes, NodeRef, StoreInstances};
pub(super) use rebuild::rebuild;
pub(super) use run::validate;
pub(crate) use verify::verify_indexes;
pub(super) use whole::validate_whole;
