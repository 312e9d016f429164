//! Human-readable documents for drivers that store them: the [lens](espalier_keyspace::Lens) of a store, and
//! the import of documents that were edited by hand.
//!
//! A document is a datastore of an anchor. The lens reads the catalog of the same snapshot that it renders,
//! so it follows new anchors and changed modules.

mod anchors;
mod edited;
mod lens;
mod lines;
mod names;
mod row;

pub(crate) use edited::take_edited;
pub(crate) use lens::StoreLens;
