//! Examining a store: that what is stored is what this code would have written.

mod examine;
mod fragments;
mod order;

pub(crate) use examine::Found;
pub(crate) use order::stale_order_rows;
