//! Data beyond the limits of a key space, reported as data errors (`too-big`, RFC 6241 Appendix A).
//!
//! A driver rejects such a batch too, but has only the key for its error.

use espalier_keyspace::{KEY_BYTES_MAX, VALUE_BYTES_MAX, is_key};
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, Step};

use super::locate::TreeState;
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::fragment::{Packed, Reader};
use crate::subspace::Subspace;

/// Whether a row exceeds the limits of a key space.
pub(in crate::tree) fn is_too_big(key: &[u8], value: &[u8]) -> bool {
    value.len() > VALUE_BYTES_MAX || !is_key(key)
}

/// The error of a container, list entry or leaf-list entry that is too big. Its path leads to the largest
/// leaf; a key value that is too large itself is left out.
pub(in crate::tree) fn too_big(
    compiled: &Compiled,
    mut path: InstancePath,
    key: &[u8],
    value: &[u8],
) -> DataError {
    let schema = &compiled.schema;
    let message = match value.len() > VALUE_BYTES_MAX {
        true => format!(
            "the leaves of one container or list entry, or one entry of a leaf-list, have {} bytes; the limit is {VALUE_BYTES_MAX} (VALUE_BYTES_MAX)",
            value.len()
        ),
        false => format!(
            "the keys of this entry and its ancestors have {} bytes; the limit is {KEY_BYTES_MAX} (KEY_BYTES_MAX)",
            key.len()
        ),
    };
    if value.len() > VALUE_BYTES_MAX {
        let target = path.target();
        let is_leaf_list = target.is_some_and(|node| schema.node(node).is_leaf_list());
        let largest = match is_leaf_list {
            true => None,
            false => largest_leaf(compiled, target, value),
        };
        let is_key = |node: NodeId| schema.node(node).as_value().is_some_and(|leaf| leaf.is_key);
        if let Some(last) = path.steps.last_mut()
            && (is_leaf_list || largest.is_some_and(is_key))
        {
            last.keys = Keys::None;
        }
        path.steps.extend(largest.map(|node| Step {
            node,
            keys: Keys::None,
        }));
    }
    DataError::new(ErrorTag::TooBig, message).at(path.to_instance_identifier(schema))
}

fn largest_leaf(compiled: &Compiled, parent: Option<NodeId>, fragment: &[u8]) -> Option<NodeId> {
    let leaves = Reader::new(fragment).filter_map(std::result::Result::ok);
    let sized = leaves.map(|(id, packed)| match packed {
        Packed::Value(value) => (value.to_string().len(), id),
        Packed::Any(json) => (json.len(), id),
    });
    let (_, id) = sized.max_by_key(|(length, _)| *length)?;
    compiled.layout.child(parent, id)
}

impl TreeState<'_> {
    /// The error of a row of the tree that is too big.
    pub(in crate::tree) fn too_big(&self, key: &[u8], value: &[u8]) -> Result<DataError> {
        let tree = self.tree.prefix(Subspace::Tree);
        let trail = match key.starts_with(&tree) {
            true => self.trail(key)?.unwrap_or_default(),
            false => Default::default(),
        };
        let path = self.named_path_of(key, &trail)?;
        Ok(too_big(self.compiled, path, key, value))
    }
}
