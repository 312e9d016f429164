//! What changed between two states, node by node: what people read in a diff and subscribers are
//! told.
//!
//! Two states differ in keys; [`deltas`] tells those in key order, from what an overlay holds or by
//! reading two ranges side by side. [`walk`] makes nodes of them, [`ordered`] those of lists whose
//! order is kept, where a key is a position and an entry that moved has another. A [`Diff`] is all
//! of it, kept. The cost is that of what changed, whatever the size of the datastore.

mod deltas;
mod diff;
mod node_change;
mod ordered;
mod print;
mod walk;

pub use diff::{DIFF_CHANGES_MAX, Diff};
pub use node_change::{ChangeKind, Content, NodeChange, Point};
pub use print::{write_change_json, write_change_text};

pub(crate) use deltas::{Comparison, Delta, Deltas, Towards};
pub(crate) use walk::{each_node_change, keys_in};
