//! What a driver that stores what people read is given: the [lens](espalier_keyspace::Lens) of a store,
//! and how documents that were edited by hand come back.
//!
//! A document is a datastore of an anchor. The lens asks the catalog of the very state that it shows,
//! so it follows new anchors and other modules by itself.

mod anchors;
mod edited;
mod lens;
mod lines;
mod names;
mod row;

pub(crate) use edited::take_edited;
pub(crate) use lens::StoreLens;
