//! Node-level differences between two states, for diffs and for subscribers.
//!
//! [`deltas`] iterates over the differing keys in key order, from the changes of an overlay or by reading
//! two ranges in parallel. [`walk`] converts them to nodes, [`ordered`] does so for lists with a stored
//! order, where keys contain positions and a moved entry has another one. A [`Diff`] holds all differences
//! in memory. The cost depends on the size of the change, not on that of the datastore. [`trees`] compares what is in memory.

mod deltas;
mod diff;
mod moved_entries;
mod node_change;
mod ordered;
mod print;
mod trees;
mod walk;

pub use diff::{DIFF_CHANGES_MAX, Diff};
pub use node_change::{ChangeKind, Content, NodeChange, Point};
pub use print::{write_change_json, write_change_text};
pub use trees::{TreeChange, each_tree_change};

pub(crate) use deltas::{Comparison, Delta, Deltas, NewerState};
pub(crate) use moved_entries::moved_entries;
pub(crate) use walk::{each_node_change, keys_in};
