//! Reading a resource: one scan of its range, decoded into events.
//!
//! Keys come in the order of the tree, so the nodes that are open are those whose key begins the
//! current key. What is not selected is passed over with a seek, never read.

mod defaults;
mod frame;
mod origin;
mod page;
mod scan;
mod select;
mod target;

pub(super) use origin::{Source, Sources};
pub(crate) use scan::skip_entry;
pub(super) use target::read;
