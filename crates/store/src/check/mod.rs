//! The check of a store: that the stored data is what this code writes.

mod examine;
mod fragments;
mod order;

pub(crate) use examine::Found;
pub(crate) use order::stale_order_rows;
