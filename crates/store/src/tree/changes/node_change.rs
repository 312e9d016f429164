//! A changed node.

use espalier_yang::{InstancePath, Keys, Step, Value};

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It is not there any more.
    Deleted,
    /// It holds another value.
    Modified,
    /// It stands elsewhere among the entries of its list, which is ordered by user.
    Moved,
}

/// What a leaf, leaf-list entry, `anydata` or `anyxml` node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The value of a leaf or leaf-list entry.
    Value(Value),
    /// The content of an `anydata` or `anyxml` node, as JSON.
    Any(Box<str>),
}

/// Where an entry of a list ordered by user stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before all others.
    First,
    /// Next after this entry of the same list.
    After(Keys),
}

/// A container with presence, list entry, leaf or leaf-list entry that changed.
///
/// Containers without presence are no nodes of a diff, and neither are the keys of an entry, which
/// its path tells. Of a subtree that was created or deleted, the top comes first and then
/// everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node. Entries without keys have their position in it: that before, where the entry was
    /// deleted, else that after.
    pub path: InstancePath,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Whether it came or went with the node around it, which was told before.
    pub is_nested: bool,
    /// What it held; nothing for containers and list entries, and for what is created.
    pub old: Option<Content>,
    /// What it holds; nothing for containers and list entries, and for what is deleted.
    pub new: Option<Content>,
    /// Where it stands now, for entries of lists and leaf-lists ordered by user that were created
    /// or moved. Done in order of the changes, each after the deletions of its list, inserting at
    /// these places gives the new order.
    pub after: Option<Point>,
}

impl NodeChange {
    /// Whether the node is that of a path or below it. Steps of the path without keys are every
    /// entry of their list.
    pub fn is_below(&self, path: &InstancePath) -> bool {
        let mut steps = self.path.steps.iter();
        let is_next = |outer| steps.next().is_some_and(|step| is_along(outer, step));
        path.steps.iter().all(is_next)
    }
}

/// Whether a step is that of a path, or of one of the entries that a step without keys is about.
pub(super) fn is_along(outer: &Step, step: &Step) -> bool {
    outer.node == step.node && (outer.keys == Keys::None || outer.keys == step.keys)
}
