//! The nodes of the XPath data model.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::instances::Instances;
use crate::schema::NodeId;
use crate::value::Value;

/// A node: the root or another interior node, a leaf, a leaf-list entry, or the text node of one of those two. Two
/// items are equal if they are the same node, whatever their values.
pub enum Item<T: Instances> {
    /// The root, a container, a list entry, or the input or output of an operation, or a
    /// notification. A container without presence need not be stored.
    Inner(T::Inner),
    /// A leaf, a leaf-list entry, `anydata` or `anyxml`.
    Leaf(Leaf<T>),
    /// The text node in a leaf or leaf-list entry.
    Text(Leaf<T>),
}

/// A leaf or leaf-list entry of the accessible tree.
pub struct Leaf<T: Instances> {
    /// Its parent.
    pub holder: T::Inner,
    /// Its schema node.
    pub node: NodeId,
    /// Its value; [`Value::Empty`] for `anydata` and `anyxml`.
    pub value: Value,
    /// Whether it is a default in use, not stored.
    pub is_default: bool,
    /// The index of the entry, from 0, in a leaf-list that may contain a value twice; otherwise 0.
    pub index: u64,
}

impl<T: Instances> Leaf<T> {
    /// A stored leaf.
    pub fn stored(holder: T::Inner, node: NodeId, value: Value) -> Self {
        Self {
            holder,
            node,
            value,
            is_default: false,
            index: 0,
        }
    }
}

impl<T: Instances> Item<T> {
    /// A stored leaf.
    pub fn leaf(holder: T::Inner, node: NodeId, value: Value) -> Self {
        Self::Leaf(Leaf::stored(holder, node, value))
    }

    /// The schema node; `None` for the root.
    pub fn node(&self, data: &T) -> Option<NodeId> {
        match self {
            Self::Inner(place) => data.node(place),
            Self::Leaf(leaf) | Self::Text(leaf) => Some(leaf.node),
        }
    }

    /// The handle of an interior node.
    pub fn as_inner(&self) -> Option<&T::Inner> {
        match self {
            Self::Inner(place) => Some(place),
            _ => None,
        }
    }

    /// The leaf or leaf-list entry, also of a text node.
    pub fn as_leaf(&self) -> Option<&Leaf<T>> {
        match self {
            Self::Inner(_) => None,
            Self::Leaf(leaf) | Self::Text(leaf) => Some(leaf),
        }
    }
}

impl<T: Instances> Clone for Leaf<T> {
    fn clone(&self) -> Self {
        Self {
            holder: self.holder.clone(),
            node: self.node,
            value: self.value.clone(),
            is_default: self.is_default,
            index: self.index,
        }
    }
}

impl<T: Instances> Clone for Item<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Inner(place) => Self::Inner(place.clone()),
            Self::Leaf(leaf) => Self::Leaf(leaf.clone()),
            Self::Text(leaf) => Self::Text(leaf.clone()),
        }
    }
}

impl<T: Instances> fmt::Debug for Leaf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf")
            .field("holder", &self.holder)
            .field("node", &self.node)
            .field("value", &self.value)
            .field("is_default", &self.is_default)
            .field("index", &self.index)
            .finish()
    }
}

impl<T: Instances> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inner(place) => f.debug_tuple("Inner").field(place).finish(),
            Self::Leaf(leaf) => f.debug_tuple("Leaf").field(leaf).finish(),
            Self::Text(leaf) => f.debug_tuple("Text").field(leaf).finish(),
        }
    }
}

/// The index identifies the entry: a leaf-list either contains each value once or numbers its entries.
impl<T: Instances> PartialEq for Leaf<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
            && self.index == other.index
            && self.holder == other.holder
            && self.value == other.value
    }
}

impl<T: Instances> Eq for Leaf<T> {}

impl<T: Instances> Hash for Leaf<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.holder.hash(state);
        self.node.hash(state);
        self.index.hash(state);
        self.value.hash(state);
    }
}

impl<T: Instances> PartialEq for Item<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Inner(mine), Self::Inner(theirs)) => mine == theirs,
            (Self::Leaf(mine), Self::Leaf(theirs)) | (Self::Text(mine), Self::Text(theirs)) => {
                mine == theirs
            }
            _ => false,
        }
    }
}

impl<T: Instances> Eq for Item<T> {}

impl<T: Instances> Hash for Item<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Inner(place) => place.hash(state),
            Self::Leaf(leaf) | Self::Text(leaf) => leaf.hash(state),
        }
    }
}
