//! What an edit asks for.

use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, Operation};

/// One change of a datastore. Several edits of one commit apply in order.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The resource whose children are edited, or that is deleted.
    pub(crate) at: InstancePath,
    pub(crate) request: Request,
}

#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// Apply a tree below the resource; nodes without an operation of their own take this one.
    Tree(DataTree, Operation),
    /// Delete the resource; an error where it is missing.
    Delete,
    /// Delete the resource where it is there.
    Remove,
    /// Put a tree in place of everything.
    ReplaceAll(DataTree),
}

impl Edit {
    /// Applies a tree below the resource `at` (the root for top-level nodes). Nodes may carry
    /// [`espalier_yang::data::Annotation`]s: operations, and where to insert entries ordered by
    /// user. Nodes without an operation, and with none around them, take `default_operation`.
    pub fn apply(at: InstancePath, tree: DataTree, default_operation: Operation) -> Self {
        Self {
            at,
            request: Request::Tree(tree, default_operation),
        }
    }

    /// Merges a tree into what is below `at`.
    pub fn merge(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Merge)
    }

    /// Puts each top node of a tree in place of what is there below `at`.
    pub fn replace(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Replace)
    }

    /// Creates each top node of a tree below `at`; `data-exists` where one is there.
    pub fn create(at: InstancePath, tree: DataTree) -> Self {
        Self::apply(at, tree, Operation::Create)
    }

    /// Deletes a resource, or every entry of a list; `data-missing` where there is none.
    pub fn delete(path: InstancePath) -> Self {
        Self {
            at: path,
            request: Request::Delete,
        }
    }

    /// Deletes a resource, or every entry of a list, where there is one.
    pub fn remove(path: InstancePath) -> Self {
        Self {
            at: path,
            request: Request::Remove,
        }
    }

    /// Puts a tree in place of the whole datastore.
    pub fn replace_all(tree: DataTree) -> Self {
        Self {
            at: InstancePath::root(),
            request: Request::ReplaceAll(tree),
        }
    }
}
