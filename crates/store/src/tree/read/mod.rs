//! Reads a resource: one scan of its range, decoded into events.
//!
//! Keys are in tree order, so the open nodes are those whose keys are prefixes of the current key.
//! Unselected data is skipped by a seek.

mod access;
mod conditions;
mod counted_nodes;
mod defaults;
mod entry_reader;
mod filtered;
mod first_event;
mod frame;
mod frame_filter;
mod node_access;
mod origin;
mod resource;
mod scan;
mod select;
mod sublist_count;
mod sublists;

pub(super) use counted_nodes::CountedNodes;
pub(super) use entry_reader::EntryReader;
pub(super) use first_event::FirstEvent;
pub(super) use origin::{Source, Sources};
pub(super) use resource::{FilteredRead, Target, read, sends_content};
pub(crate) use scan::skip_entry;
