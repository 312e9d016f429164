//! The values that an evaluator caches, and what identifies them ([`super::value_cache`]).

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Item;
use crate::instances::Instances;
use crate::schema::NodeId;
use crate::value::Value;

/// The kind of a cached value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CachedKind {
    /// The number of nodes.
    Count,
    /// The sum of their numbers.
    Sum,
    /// Whether there is a node.
    Boolean,
    /// The first node in document order.
    First,
    /// The summary for order comparisons.
    Numbers,
    /// The summary for equality comparisons.
    Texts,
    /// The entries of a list that contains the siblings.
    Siblings,
    /// The nodes of a path by a value.
    ByValue,
}

/// A cached value; its variant corresponds to its [`CachedKind`].
pub(super) enum CachedValue<T: Instances> {
    Count(u64),
    Sum(f64),
    Boolean(bool),
    First(Option<Item<T>>),
    Summary(Rc<NodeSetSummary<T>>),
    /// `None` if their order is unknown.
    Entries(Option<Entries<T>>),
    /// `None` if an index is not possible, or not worth its cost.
    ByValue(Option<Rc<ValueIndex<T>>>),
}

impl<T: Instances> CachedValue<T> {
    /// Its share of [`CACHED_MAX`].
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Summary(summary) => 1 + summary.len(),
            Self::Entries(Some(entries)) => 1 + entries.len(),
            Self::ByValue(Some(index)) => 1 + index.len(),
            _ => 1,
        }
    }
}

impl<T: Instances> Clone for CachedValue<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Count(count) => Self::Count(*count),
            Self::Sum(sum) => Self::Sum(*sum),
            Self::Boolean(boolean) => Self::Boolean(*boolean),
            Self::First(first) => Self::First(first.clone()),
            Self::Summary(summary) => Self::Summary(Rc::clone(summary)),
            Self::Entries(entries) => Self::Entries(entries.clone()),
            Self::ByValue(index) => Self::ByValue(index.clone()),
        }
    }
}

/// Entries of a list in document order.
pub(super) type Entries<T> = Rc<[<T as Instances>::Inner]>;

/// The inputs of an expression in one context.
pub(super) struct Inputs<T: Instances> {
    /// The start of paths that go up from the context node.
    pub(super) item: Option<T::Inner>,
    /// The start of paths that go up from the current node.
    pub(super) current: Option<T::Inner>,
    pub(super) operands: SmallVec<[OperandValue; 1]>,
}

impl<T: Instances> Inputs<T> {
    /// The inputs of a path that starts at this node and depends on nothing else.
    pub(super) fn at(start: T::Inner) -> Self {
        Self {
            item: Some(start),
            current: None,
            operands: SmallVec::new(),
        }
    }
}

impl<T: Instances> PartialEq for Inputs<T> {
    fn eq(&self, other: &Self) -> bool {
        self.operands == other.operands && self.item == other.item && self.current == other.current
    }
}

impl<T: Instances> Eq for Inputs<T> {}

impl<T: Instances> std::hash::Hash for Inputs<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.item.hash(state);
        self.current.hash(state);
        self.operands.hash(state);
    }
}

/// The value of a subexpression of a predicate that depends on the current node.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum OperandValue {
    /// Leaves by schema node and value, and whether they are text nodes.
    Leaves(SmallVec<[(NodeId, Value, IsText); 1]>),
}

/// Whether an item is the text node of a leaf.
pub(super) type IsText = bool;

/// The summary of the nodes on the right-hand side.
pub(super) enum NodeSetSummary<T: Instances> {
    /// For order comparisons: the least and the greatest number, if there is one.
    Numbers(Option<(f64, f64)>),
    /// For equality: by schema node (`None` for nodes compared as they are), one of the nodes and all their texts.
    Texts(SmallVec<[TextGroup<T>; 1]>),
}

impl<T: Instances> NodeSetSummary<T> {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(_) => 0,
            Self::Texts(all) => all.iter().map(|group| group.texts.len()).sum(),
        }
    }
}

/// Nodes whose texts are compared in the same way.
pub(super) struct TextGroup<T: Instances> {
    pub(super) node: Option<NodeId>,
    pub(super) example: Item<T>,
    pub(super) texts: FxHashSet<Box<str>>,
}

/// The nodes of a path without its predicates, in document order.
pub(super) struct ValueIndex<T: Instances> {
    pub(super) nodes: Vec<Item<T>>,
    pub(super) groups: SmallVec<[ValueGroup<T>; 1]>,
}

/// Nodes whose values are compared in the same way: those of one schema node.
pub(super) struct ValueGroup<T: Instances> {
    pub(super) node: Option<NodeId>,
    pub(super) example: Item<T>,
    /// Positions in [`ValueIndex::nodes`].
    pub(super) by_text: FxHashMap<Box<str>, SmallVec<[u32; 2]>>,
}

impl<T: Instances> ValueIndex<T> {
    /// Its size in a cache.
    pub(super) fn len(&self) -> usize {
        let texts = self.groups.iter().map(|group| group.by_text.len());
        self.nodes.len() + texts.sum::<usize>()
    }
}
