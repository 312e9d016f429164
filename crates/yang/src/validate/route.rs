//! Routes from the context node of an expression to the nodes that it reads, in terms of the schema.

use serde::{Deserialize, Serialize};

use crate::instances::Side;
use crate::schema::{NodeId, Schema};

// Followed backwards from a changed node, so a commit costs what it affects: docs/decisions/0017.
/// The route from a context node to a node that is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Route {
    /// The first begins at the context node, each other one at the result of a `deref()`.
    pub segments: Vec<Segment>,
}

/// A part of a route without a `deref()`: up, then down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// The start; `None` for the root.
    pub start: Option<NodeId>,
    /// The number of levels up from the start.
    pub up: usize,
    /// The nodes down from there, outermost first.
    pub down: Vec<NodeId>,
    /// Equalities that restrict the entries on the way down.
    pub joins: Vec<Join>,
    /// If set, the segment leads only to the nearest entry on this side of the entry that it came up from, in the
    /// first list on the way down.
    pub nearest: Option<Side>,
}

/// Restricts a route to entries in which a leaf equals a leaf that is reached from the context node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Join {
    /// The entry: an index of [`Segment::down`].
    pub depth: usize,
    /// The path from the entry to its leaf: the leaf, after the containers that contain it.
    pub leaf: Vec<NodeId>,
    /// The path from the context node to the other leaf: levels up, and nodes down.
    pub up: usize,
    /// See [`Self::up`].
    pub down: Vec<NodeId>,
}

impl Route {
    /// The route from a node to itself, or to its ancestor this many levels up.
    pub fn up(start: Option<NodeId>, up: usize) -> Self {
        Self {
            segments: vec![Segment::up(start, up)],
        }
    }

    /// The last segment.
    pub fn last(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    /// The last segment, mutable.
    pub fn last_mut(&mut self) -> &mut Segment {
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }

    /// Extends the route by a `deref()` to a node.
    pub fn deref_to(&self, target: NodeId) -> Self {
        let mut segments = self.segments.clone();
        segments.push(Segment::up(Some(target), 0));
        Self { segments }
    }
}

impl Segment {
    fn up(start: Option<NodeId>, up: usize) -> Self {
        Self {
            start,
            up,
            down: Vec::new(),
            joins: Vec::new(),
            nearest: None,
        }
    }

    /// The last node; `None` for the root.
    pub fn end(&self, schema: &Schema) -> Option<NodeId> {
        match self.down.last() {
            Some(&node) => Some(node),
            None => ancestor(schema, self.start, self.up),
        }
    }

    /// Goes up one level.
    pub fn ascend(&mut self) {
        match self.down.pop() {
            None => self.up += 1,
            Some(_) => {
                let depth = self.down.len();
                self.joins.retain(|join| join.depth < depth);
                self.nearest = self.nearest.filter(|_| depth > 0);
            }
        }
    }
}

/// The ancestor of a node this many levels up; `None` for the root.
pub(crate) fn ancestor(schema: &Schema, node: Option<NodeId>, levels: usize) -> Option<NodeId> {
    (0..levels).fold(node, |node, _| {
        node.and_then(|node| schema.node(node).parent)
    })
}

/// The number of levels between a node and the root.
pub(crate) fn depth(schema: &Schema, node: Option<NodeId>) -> usize {
    std::iter::successors(node, |&node| schema.node(node).parent).count()
}

/// The nodes from below `from` down to `to`; `None` if `to` is not at or below `from`.
pub(crate) fn chain(
    schema: &Schema,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Option<Vec<NodeId>> {
    let mut nodes = Vec::new();
    let mut at = to;
    while at != from {
        let node = at?;
        nodes.push(node);
        at = schema.node(node).parent;
    }
    nodes.reverse();
    Some(nodes)
}
