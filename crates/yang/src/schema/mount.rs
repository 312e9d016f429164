//! Mount points with their schemas (RFC 8528).

use serde::{Deserialize, Serialize};

use crate::schema::{Module, NodeId};

/// A node with a mount point, and the schemas of its instances. The mounted top-level nodes are children of the node,
/// operations among them as actions (RFC 8528 §5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mount {
    /// The container or list.
    pub node: NodeId,
    /// The label: the argument of `yangmnt:mount-point`.
    pub label: Box<str>,
    /// The leaf whose value is the name of the schema; `None` if all instances have the same (`shared-schema`).
    pub selector: Option<NodeId>,
    /// The `parent-reference`s of a shared schema.
    pub parent_references: Vec<Box<str>>,
    /// The schemas: exactly one if there is no selector.
    pub schemas: Vec<MountedSchema>,
}

/// A mounted schema.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MountedSchema {
    /// The value of the selector; empty for a shared schema.
    pub name: Box<str>,
    /// Its modules, without those of schemas mounted inside.
    pub modules: Vec<Module>,
    /// The top-level nodes, as children of the node with the mount point.
    pub roots: Vec<NodeId>,
}
