//! Edits, as requested by a client.

use espalier_yang::data::{DataNode, DataTree, Operation};
use espalier_yang::{InstancePath, Schema, Value};

/// The position of a new or moved entry in a list or leaf-list ordered by user (RFC 7950 §7.8.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insert {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// Before the entry with these keys, or this value of a leaf-list.
    Before(Vec<Value>),
    /// After it.
    After(Vec<Value>),
}

/// One change of a datastore. The edits of a commit are applied in order.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The resource whose children are edited, or that is deleted.
    pub(crate) at: InstancePath,
    pub(crate) request: Request,
    /// The position of the first top node.
    pub(crate) placement: Option<Insert>,
}

#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// Apply a tree below the resource; the operation is the default for nodes without one.
    Tree(DataTree, Operation),
    /// Delete the resource; an error if it is missing.
    Delete,
    /// Delete the resource if it exists.
    Remove,
    /// Replace everything by a tree.
    ReplaceAll(DataTree),
}

impl Edit {
    /// The data that the edit applies; `None` for a deletion.
    pub fn data(&self) -> Option<&DataTree> {
        match &self.request {
            Request::Tree(tree, _) | Request::ReplaceAll(tree) => Some(tree),
            Request::Delete | Request::Remove => None,
        }
    }

    /// As [`Self::data`], to change it.
    pub fn data_mut(&mut self) -> Option<&mut DataTree> {
        match &mut self.request {
            Request::Tree(tree, _) | Request::ReplaceAll(tree) => Some(tree),
            Request::Delete | Request::Remove => None,
        }
    }

    /// Calls `visit` with each resource that the edit names: where the document divides, or ends.
    pub fn each_resource(&self, schema: &Schema, visit: &mut dyn FnMut(InstancePath)) {
        let mut path = self.at.clone();
        let mut nodes: Vec<&DataNode> = match &self.request {
            Request::Delete | Request::Remove | Request::ReplaceAll(_) => Vec::new(),
            Request::Tree(tree, _) => tree.nodes.iter().collect(),
        };
        let is_key = |node: &DataNode| {
            let value = schema.node(node.node).as_value();
            value.is_some_and(|value| value.is_key)
        };
        loop {
            match nodes.as_slice() {
                [] => return visit(path),
                [node] => {
                    path = path.child(node.node, node.instance(schema));
                    let children = node.children().iter();
                    nodes = children.filter(|child| !is_key(child)).collect();
                }
                several => {
                    for node in several {
                        visit(path.child(node.node, node.instance(schema)));
                    }
                    return;
                }
            }
        }
    }

    /// Applies a tree below the resource `at` (the root for top-level nodes). Nodes may have
    /// [`espalier_yang::data::Annotation`]s: operations, and insert positions of entries ordered by user.
    /// Nodes without an operation of their own or inherited use `default_operation`.
    pub fn apply(at: InstancePath, tree: DataTree, default_operation: Operation) -> Self {
        Self {
            at,
            request: Request::Tree(tree, default_operation),
            placement: None,
        }
    }

    /// Sets the position of the first top node, an entry of a list ordered by user. It takes precedence over
    /// annotations. The operational state datastore has no positions.
    #[must_use]
    pub fn placed(self, placement: Insert) -> Self {
        Self {
            placement: Some(placement),
            ..self
        }
    }

    /// Merges a tree into the content below `at`.
    pub fn merge(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Merge)
    }

    /// Replaces each top node of a tree below `at`.
    pub fn replace(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Replace)
    }

    /// Creates each top node of a tree below `at`; `data-exists` if one exists.
    pub fn create(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Create)
    }

    /// Moves the existing entry at the top of a tree below `at`, which has its keys, to the position that
    /// [`Self::placed`] sets; `data-missing` if it does not exist.
    pub fn moved(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::None)
    }

    /// Deletes a resource, or every entry of a list; `data-missing` if there is none.
    pub fn delete(path: InstancePath) -> Self {
        Self {
            at: path,
            request: Request::Delete,
            placement: None,
        }
    }

    /// Deletes a resource, or every entry of a list, if there is one.
    pub fn remove(path: InstancePath) -> Self {
        Self {
            at: path,
            request: Request::Remove,
            placement: None,
        }
    }

    /// Replaces the whole datastore by a tree.
    pub fn replace_all(tree: DataTree) -> Self {
        Self {
            at: InstancePath::root(),
            request: Request::ReplaceAll(tree),
            placement: None,
        }
    }
}
