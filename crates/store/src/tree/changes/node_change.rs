//! A changed node.

use espalier_yang::{InstancePath, Keys, Step, Value};

/// The kind of change of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The node did not exist before.
    Created,
    /// The node does not exist any more.
    Deleted,
    /// The node has another value.
    Modified,
    /// The entry has another place in its list, which is ordered by user.
    Moved,
}

/// The content of a leaf, leaf-list entry, `anydata` or `anyxml` node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The value of a leaf or leaf-list entry.
    Value(Value),
    /// The content of an `anydata` or `anyxml` node, as JSON.
    Any(Box<str>),
}

/// The place of an entry in a list ordered by user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before all other entries.
    First,
    /// Immediately after this entry of the same list.
    After(Keys),
}

/// A changed presence container, list entry, leaf or leaf-list entry.
///
/// Non-presence containers are not reported, nor are the keys of an entry, which are in its path. For a
/// created or deleted subtree, the top node comes first, then its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node. For entries without keys, the path contains the position: the old one if the entry was
    /// deleted, else the new one.
    pub path: InstancePath,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Whether the node was created or deleted with its parent, which is reported before.
    pub is_nested: bool,
    /// The old content; none for containers and list entries, and for created nodes.
    pub old: Option<Content>,
    /// The new content; none for containers and list entries, and for deleted nodes.
    pub new: Option<Content>,
    /// The new place of a created or moved entry of a list or leaf-list ordered by user. Applying the
    /// deletions of a list and then inserting at these places, in the order of the changes, gives the new
    /// order.
    pub after: Option<Point>,
}

impl NodeChange {
    /// Whether the node is at or below a path. A step of the path without keys matches every entry.
    pub fn is_below(&self, path: &InstancePath) -> bool {
        let mut steps = self.path.steps.iter();
        let is_next = |outer| steps.next().is_some_and(|step| matches_step(outer, step));
        path.steps.iter().all(is_next)
    }
}

/// Whether a step matches that of a path; one without keys matches every entry.
pub(super) fn matches_step(outer: &Step, step: &Step) -> bool {
    outer.node == step.node && (outer.keys == Keys::None || outer.keys == step.keys)
}
