//! Subtree filters (RFC 6241 §6), parsed from XML and JSON.
//!
//! [`SubtreeFilter::matches`] evaluates a filter on a tree in memory; the store compiles one against its schema and reads
//! what it selects. Both compare content match nodes as values of the type of the leaf.

mod filter;
mod matches;
mod read_json;
mod read_xml;

pub use filter::{
    ContentMatch, FilterContent, FilterNode, NamespaceBinding, SUBTREE_FILTER_DEPTH_MAX,
    SUBTREE_FILTER_NODES_MAX, SubtreeFilter,
};
