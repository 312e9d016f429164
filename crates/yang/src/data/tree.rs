//! Data trees in memory: small documents, edits and tests.

use super::sink::{Annotation, Annotations, Mark, Operation, Sink, Stop, deletes};
use crate::error::{DataError, ErrorTag};
use crate::path::Keys;
use crate::schema::{NodeId, Schema};
use crate::value::Value;

/// The maximum number of nodes of a tree: larger documents are streamed.
pub const NODES_MAX: usize = 4_000_000;

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The children of a container, list entry, operation, input, output or notification.
    Inner(Vec<DataNode>),
    /// The value of a leaf or of one leaf-list entry.
    Value(Value),
    /// The content of an `anydata` or `anyxml` node, as JSON text.
    Any(String),
    /// A leaf without a value, to be deleted.
    Bare,
}

/// A node of a data tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataNode {
    /// Its schema node.
    pub node: NodeId,
    /// Its content.
    pub content: Content,
    /// Its metadata.
    pub annotations: Annotations,
    /// The position of its start in the document.
    pub mark: Mark,
}

impl DataNode {
    /// Creates a node without annotations.
    pub fn new(node: NodeId, content: Content) -> Self {
        Self {
            node,
            content,
            annotations: Annotations::new(),
            mark: Mark::default(),
        }
    }

    /// Its children; none for a leaf.
    pub fn children(&self) -> &[DataNode] {
        match &self.content {
            Content::Inner(children) => children,
            _ => &[],
        }
    }

    /// Its value; `None` if it is not a leaf.
    pub fn value(&self) -> Option<&Value> {
        match &self.content {
            Content::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Its first child of a schema node.
    pub fn child(&self, node: NodeId) -> Option<&DataNode> {
        self.children().iter().find(|child| child.node == node)
    }

    /// The key values of a list entry, in the order of the `key` statement; `None` if one is missing. Empty for a node
    /// without keys.
    pub fn keys(&self, schema: &Schema) -> Option<Vec<&Value>> {
        let keys = schema.node(self.node).keys().iter();
        keys.map(|&key| self.child(key)?.value()).collect()
    }

    /// What distinguishes the node from the other instances of its schema node: the keys of a list entry, the value of
    /// a leaf-list entry.
    pub fn instance(&self, schema: &Schema) -> Keys {
        if schema.node(self.node).is_leaf_list() {
            let value = self.value();
            return value.map_or(Keys::None, |value| Keys::Values(vec![value.clone()]));
        }
        match self.keys(schema) {
            Some(keys) if !keys.is_empty() => Keys::Values(keys.into_iter().cloned().collect()),
            _ => Keys::None,
        }
    }

    /// Its edit operation, if any.
    pub fn operation(&self) -> Option<Operation> {
        self.annotations
            .iter()
            .find_map(|annotation| match annotation {
                Annotation::Operation(operation) => Some(*operation),
                _ => None,
            })
    }

    /// Sends the node and its descendants as events.
    pub fn emit(&self, sink: &mut dyn Sink) -> Result<(), Stop> {
        if !self.annotations.is_empty() {
            sink.annotate(self.annotations.clone())?;
        }
        match &self.content {
            Content::Value(value) => sink.leaf(self.node, value.clone(), self.mark),
            Content::Any(json) => sink.any(self.node, json, self.mark),
            Content::Bare => sink.bare(self.node, self.mark),
            Content::Inner(children) => {
                sink.open(self.node, self.mark)?;
                children.iter().try_for_each(|child| child.emit(sink))?;
                sink.close(self.mark)
            }
        }
    }
}

/// A data tree, or several sibling trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataTree {
    /// The top-level nodes, in document order.
    pub nodes: Vec<DataNode>,
}

impl DataTree {
    /// Sends all nodes as events.
    pub fn emit(&self, sink: &mut dyn Sink) -> Result<(), Stop> {
        self.nodes.iter().try_for_each(|node| node.emit(sink))
    }

    /// Sorts the nodes into the order of the store and the printers: siblings in schema order, keys first, entries of
    /// one list contiguous, and `ordered-by system` entries by their keys.
    pub fn normalise(&mut self, schema: &Schema) {
        normalise(&mut self.nodes, schema);
    }

    /// Returns whether two trees are equivalent: `ordered-by system` entries are compared as sets; marks and empty
    /// containers without presence are ignored.
    pub fn is_equivalent(&self, other: &Self, schema: &Schema) -> bool {
        let comparable = |tree: &Self| {
            let mut nodes = tree.nodes.clone();
            strip(&mut nodes, schema);
            normalise(&mut nodes, schema);
            nodes
        };
        comparable(self) == comparable(other)
    }
}

fn normalise(nodes: &mut [DataNode], schema: &Schema) {
    for node in nodes.iter_mut() {
        if let Content::Inner(children) = &mut node.content {
            normalise(children, schema);
        }
    }
    nodes.sort_by(|left, right| {
        let by_schema = rank(left.node, schema).cmp(&rank(right.node, schema));
        by_schema.then_with(|| match schema.node(left.node).is_positional() {
            true => std::cmp::Ordering::Equal,
            false => compare_entries(left, right, schema),
        })
    });
}

/// Keys come first, in the order of the `key` statement.
fn rank(id: NodeId, schema: &Schema) -> (usize, NodeId) {
    let node = schema.node(id);
    let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
    let list = node.parent.filter(|_| is_key);
    let keys = list.map_or(&[][..], |list| schema.node(list).keys());
    let index = keys.iter().position(|&key| key == id);
    (index.unwrap_or(usize::MAX), id)
}

fn compare_entries(left: &DataNode, right: &DataNode, schema: &Schema) -> std::cmp::Ordering {
    if let (Some(left), Some(right)) = (left.value(), right.value()) {
        return left.compare(right);
    }
    let keys = schema.node(left.node).keys().iter();
    let orders = keys.map(|&key| {
        let value = |node: &DataNode| node.child(key).and_then(DataNode::value).cloned();
        match (value(left), value(right)) {
            (Some(left), Some(right)) => left.compare(&right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        }
    });
    orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// Removes what a comparison ignores.
fn strip(nodes: &mut Vec<DataNode>, schema: &Schema) {
    for node in nodes.iter_mut() {
        node.mark = Mark::default();
        match &mut node.content {
            Content::Inner(children) => strip(children, schema),
            Content::Any(json) => {
                if let Ok(mut value) = serde_json::from_str::<serde_json::Value>(json) {
                    value.sort_all_objects();
                    *json = value.to_string();
                }
            }
            Content::Value(_) | Content::Bare => {}
        }
    }
    nodes.retain(|node| {
        let is_empty = matches!(&node.content, Content::Inner(children) if children.is_empty());
        let has_annotations = !node.annotations.is_empty();
        !is_empty || has_annotations || !schema.node(node.node).is_np_container()
    });
}

/// Builds a tree from events.
#[derive(Debug)]
pub struct TreeBuilder {
    roots: Vec<DataNode>,
    open: Vec<DataNode>,
    pending: Annotations,
    nodes: usize,
    nodes_max: usize,
}

impl Default for TreeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl TreeBuilder {
    /// Creates a builder of a tree of at most [`NODES_MAX`] nodes.
    pub fn new() -> Self {
        Self::with_limit(NODES_MAX)
    }

    /// Creates a builder of a tree of at most this many nodes: beyond that, it stops its source, and [`Self::finish`]
    /// returns the error.
    pub fn with_limit(nodes_max: usize) -> Self {
        Self {
            roots: Vec::new(),
            open: Vec::new(),
            pending: Annotations::new(),
            nodes: 0,
            nodes_max,
        }
    }

    /// Returns the tree, or an error if it has too many nodes.
    pub fn finish(mut self) -> Result<DataTree, DataError> {
        if self.nodes > self.nodes_max {
            return Err(self.too_big());
        }
        while !self.open.is_empty() {
            self.fold();
        }
        Ok(DataTree { nodes: self.roots })
    }

    pub(super) fn too_big(&self) -> DataError {
        let message = format!("more than {} nodes (NODES_MAX)", self.nodes_max);
        DataError::new(ErrorTag::TooBig, message)
    }

    /// Adds annotations to the open node.
    pub(super) fn annotate_open(&mut self, annotations: Annotations) {
        if let Some(node) = self.open.last_mut() {
            node.annotations.extend(annotations);
        }
    }

    /// Adds annotations to the instances of a child of the open node. A missing instance that is to be deleted is
    /// added without a value.
    pub(super) fn annotate_children(
        &mut self,
        id: NodeId,
        all: Vec<Annotations>,
        mark: Mark,
    ) -> Result<(), DataError> {
        let siblings = self.siblings();
        let mut instances = siblings.iter_mut().filter(|child| child.node == id);
        let mut is_bare_delete: Option<Annotations> = None;
        for annotations in all {
            match instances.next() {
                Some(child) => child.annotations.extend(annotations),
                None if annotations.is_empty() => {}
                None if deletes(&annotations) && is_bare_delete.is_none() => {
                    is_bare_delete = Some(annotations);
                }
                None => {
                    let message = "metadata of a node that does not exist";
                    return Err(DataError::new(ErrorTag::MissingElement, message));
                }
            }
        }
        if let Some(annotations) = is_bare_delete {
            siblings.push(DataNode {
                annotations,
                mark,
                ..DataNode::new(id, Content::Bare)
            });
        }
        Ok(())
    }

    fn siblings(&mut self) -> &mut Vec<DataNode> {
        match self.open.last_mut() {
            Some(DataNode {
                content: Content::Inner(children),
                ..
            }) => children,
            _ => &mut self.roots,
        }
    }

    fn add(&mut self, node: NodeId, content: Content, mark: Mark) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes > self.nodes_max {
            return Err(Stop);
        }
        let node = DataNode {
            node,
            content,
            annotations: std::mem::take(&mut self.pending),
            mark,
        };
        match node.content {
            Content::Inner(_) => self.open.push(node),
            _ => self.siblings().push(node),
        }
        Ok(())
    }

    fn fold(&mut self) {
        if let Some(node) = self.open.pop() {
            self.siblings().push(node);
        }
    }
}

impl Sink for TreeBuilder {
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.add(node, Content::Inner(Vec::new()), mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop> {
        self.add(node, Content::Value(value), mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop> {
        self.add(node, Content::Any(json.to_owned()), mark)
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        self.fold();
        Ok(())
    }

    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        self.pending.extend(annotations);
        Ok(())
    }

    fn bare(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.add(node, Content::Bare, mark)
    }
}
