//! Validates proposed states; indexes and counts limit its cost to the size of the change.

mod changes;
mod full;
mod incremental;
mod index;
mod instances;
mod rebuild;
mod rpc_or_notification;
mod verify;

pub(super) use full::validate_whole;
pub(super) use incremental::validate;
pub(super) use index::{are_indexes_current, definition_key};
pub(super) use instances::{Indexes, NodeRef, StoreInstances};
pub(super) use rebuild::rebuild;
pub(crate) use verify::verify_indexes;
