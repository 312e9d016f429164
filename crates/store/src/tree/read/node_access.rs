//! What access rules show of a node.

/// What is shown of a node and its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeAccess {
    /// Everything.
    All,
    /// The node. Each descendant is decided on.
    Allowed,
    /// Not the node itself, but perhaps descendants.
    Denied,
}
