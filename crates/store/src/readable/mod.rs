//! Human-readable documents for drivers that store them: the [lens](espalier_keyspace::Lens) of a store, and
//! the import of documents that were edited by hand.
//!
//! A document is a datastore of an anchor. The lens reads the catalog of the same snapshot that it renders,
//! so it follows new anchors and changed modules.

mod anchor_cache;
mod edited;
mod lens;
mod line_numbers;
mod names;
mod row;

pub(crate) use edited::apply_edited_document;
pub(crate) use lens::StoreLens;
