//! The check of a store: that the stored data is what this code writes.

mod fragments;
mod order;
mod store;

pub(crate) use order::stale_order_rows;
pub(crate) use store::DatastoreFindings;
