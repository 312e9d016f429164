//! The resources of RFC 8040 §3 and their methods.

use espalier_yang::{InstancePath, Keys, NodeKind, Schema};
use http::{HeaderValue, Method};

use super::StateWrites;
use super::error::{Failure, Result};

/// A set of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Methods {
    /// A resource that can only be read.
    Read,
    /// A resource that can only be invoked.
    Invoke,
    /// The datastore itself.
    Datastore,
    /// A container or list entry.
    Inner,
    /// A leaf, leaf-list entry, `anydata` or `anyxml`.
    Leaf,
}

impl Methods {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "GET, HEAD, OPTIONS",
            Self::Invoke => "OPTIONS, POST",
            Self::Datastore => "GET, HEAD, OPTIONS, PATCH, POST, PUT",
            Self::Inner => "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
            Self::Leaf => "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
        }
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.as_str())
    }

    /// Whether PATCH is among them; then `Accept-Patch` is sent.
    pub(super) fn has_patch(self) -> bool {
        matches!(self, Self::Datastore | Self::Inner | Self::Leaf)
    }

    /// Returns an error if `method` is not among them.
    pub(super) fn check(self, method: &Method) -> Result<()> {
        let mut names = self.as_str().split(", ");
        match names.any(|name| name == method.as_str()) {
            true => Ok(()),
            false => Err(Failure::not_allowed(self)),
        }
    }
}

/// The methods of the data resource at a path.
pub(super) fn methods_of(schema: &Schema, path: &InstancePath, writes: StateWrites) -> Methods {
    let Some(last) = path.steps.last() else {
        return Methods::Datastore;
    };
    let node = schema.node(last.node);
    let is_writable = node.is_config || writes == StateWrites::Allowed;
    match &node.kind {
        NodeKind::Action => Methods::Invoke,
        _ if !is_writable => Methods::Read,
        NodeKind::List(_) | NodeKind::LeafList(_) if last.keys == Keys::None => Methods::Read,
        NodeKind::Container { .. } | NodeKind::List(_) => Methods::Inner,
        NodeKind::Leaf(leaf) if leaf.is_key => Methods::Read,
        NodeKind::Leaf(_) | NodeKind::LeafList(_) | NodeKind::AnyData | NodeKind::AnyXml => {
            Methods::Leaf
        }
        NodeKind::Rpc | NodeKind::Input | NodeKind::Output | NodeKind::Notification => {
            Methods::Read
        }
    }
}

/// Whether a path names a whole list or leaf-list.
pub(super) fn is_whole_list(schema: &Schema, path: &InstancePath) -> bool {
    path.steps.last().is_some_and(|last| {
        let node = schema.node(last.node);
        last.keys == Keys::None && (node.is_list() || node.is_leaf_list())
    })
}
