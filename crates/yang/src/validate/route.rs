//! How an expression gets from its context node to what it reads, in terms of the schema.

use serde::{Deserialize, Serialize};

use crate::instances::Side;
use crate::schema::{NodeId, Schema};

/// The way from a context node to a node that is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Route {
    /// The first begins at the context node, each other at what a `deref()` gave.
    pub legs: Vec<Leg>,
}

/// A part of a way without a `deref()`: up, then down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leg {
    /// Where it begins; none for the root.
    pub start: Option<NodeId>,
    /// The levels up from there.
    pub up: usize,
    /// The nodes down from there, outermost first.
    pub down: Vec<NodeId>,
    /// What is known of entries on the way down.
    pub joins: Vec<Join>,
    /// Of the entries of the first list on the way down, it leads to the nearest one on a side of the
    /// entry that it came up from.
    pub nearest: Option<Side>,
}

/// The expression reads only entries in which a leaf equals a leaf that the context node leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Join {
    /// The entry: an index of [`Leg::down`].
    pub depth: usize,
    /// The way from the entry to the leaf in it: the leaf, after the containers around it.
    pub leaf: Vec<NodeId>,
    /// The way from the context node to the other leaf: up, and down to it.
    pub up: usize,
    /// See [`Self::up`].
    pub down: Vec<NodeId>,
}

impl Route {
    /// The way from a node to itself, or to a node so many levels above it.
    pub fn up(start: Option<NodeId>, up: usize) -> Self {
        Self {
            legs: vec![Leg::up(start, up)],
        }
    }

    /// The last leg.
    pub fn last(&self) -> &Leg {
        &self.legs[self.legs.len() - 1]
    }

    /// The last leg, to go on.
    pub fn last_mut(&mut self) -> &mut Leg {
        let last = self.legs.len() - 1;
        &mut self.legs[last]
    }

    /// The way on from a node that a `deref()` gave.
    pub fn jump(&self, target: NodeId) -> Self {
        let mut legs = self.legs.clone();
        legs.push(Leg::up(Some(target), 0));
        Self { legs }
    }
}

impl Leg {
    fn up(start: Option<NodeId>, up: usize) -> Self {
        Self {
            start,
            up,
            down: Vec::new(),
            joins: Vec::new(),
            nearest: None,
        }
    }

    /// The node that it ends at; none for the root.
    pub fn end(&self, schema: &Schema) -> Option<NodeId> {
        match self.down.last() {
            Some(&node) => Some(node),
            None => above(schema, self.start, self.up),
        }
    }

    /// One level up.
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

/// The node so many levels above a node; none for the root.
pub(crate) fn above(schema: &Schema, node: Option<NodeId>, levels: usize) -> Option<NodeId> {
    (0..levels).fold(node, |node, _| {
        node.and_then(|node| schema.node(node).parent)
    })
}

/// How many levels a node is below the root.
pub(crate) fn depth(schema: &Schema, node: Option<NodeId>) -> usize {
    std::iter::successors(node, |&node| schema.node(node).parent).count()
}

/// The nodes from below `from` down to `to`; none where `to` is not at or below `from`.
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
