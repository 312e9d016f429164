//! Leaves, which are stored in the fragment of their parent.

use espalier_yang::data::{Content, DataNode, Operation};
use espalier_yang::schema::Node;
use espalier_yang::{ErrorTag, Keys, NodeKind, Schema, Step};

use super::apply::{EditApplier, ParentResource, TouchExtent};
use crate::error::Result;
use crate::fragment::{Fragment, Packed, put_leaf_value};
use crate::keys::LocalId;

/// Approximate size of the fragment of a small entry.
const PACKED_BYTES: usize = 48;

impl EditApplier<'_> {
    /// Applies the leaves among the children of a resource to its fragment, and writes it once. A `fresh`
    /// fragment is always written.
    pub fn leaves(
        &mut self,
        resource: &ParentResource,
        nodes: &[DataNode],
        operation: Operation,
        fresh: Option<Fragment>,
    ) -> Result<()> {
        let schema = self.schema();
        let leaves = || nodes.iter().filter(|data| is_editable_leaf(schema, data));
        let is_fresh = fresh.is_some();
        if !is_fresh && leaves().next().is_none() {
            return Ok(());
        }
        let mut is_changed = false;
        let mut fragment = match fresh {
            Some(fresh) => fresh,
            None => self.fragment(resource)?.unwrap_or_default(),
        };
        for data in leaves() {
            self.path.steps.push(Step {
                node: data.node,
                keys: Keys::None,
            });
            is_changed |= self.leaf(&mut fragment, resource, data, operation)?;
            self.path.steps.pop();
        }
        if is_fresh {
            self.overlay.put(resource.key.clone(), fragment.encode());
        } else if is_changed {
            self.write_fragment(resource, &fragment);
        }
        Ok(())
    }

    /// Applies one leaf; returns whether the fragment changed.
    fn leaf(
        &mut self,
        fragment: &mut Fragment,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
    ) -> Result<bool> {
        let id = self.compiled.layout.id(data.node);
        let exists = fragment.get(id).is_some();
        match data.operation().unwrap_or(inherited) {
            Operation::None => Ok(false),
            Operation::Remove => Ok(fragment.remove(id)),
            Operation::Delete => {
                if !exists {
                    self.fail_on(
                        data,
                        ErrorTag::DataMissing,
                        "the leaf to delete does not exist",
                    );
                }
                Ok(fragment.remove(id))
            }
            Operation::Create if exists => {
                self.fail_on(
                    data,
                    ErrorTag::DataExists,
                    "the leaf to create exists already",
                );
                Ok(false)
            }
            _ => self.set_leaf(fragment, resource, data, id),
        }
    }

    fn set_leaf(
        &mut self,
        fragment: &mut Fragment,
        resource: &ParentResource,
        data: &DataNode,
        id: LocalId,
    ) -> Result<bool> {
        let packed = match &data.content {
            Content::Value(value) => Packed::Value(value.clone()),
            Content::Any(json) => Packed::Any(json.as_str().into()),
            Content::Bare | Content::Inner(_) => {
                self.fail_on(data, ErrorTag::InvalidValue, "the leaf has no value");
                return Ok(false);
            }
        };
        let node = self.schema().node(data.node);
        let mut is_changed = fragment.get(id) != Some(&packed);
        if is_changed {
            fragment.set(id, packed);
        }
        if !node.cases.is_empty() {
            is_changed |= self.remove_other_case_leaves(fragment, node);
            self.delete_other_case_subtrees(resource, node)?;
        }
        Ok(is_changed)
    }

    /// The fragment of a resource, if it has one.
    pub fn fragment(&self, resource: &ParentResource) -> Result<Option<Fragment>> {
        let keys = resource
            .node
            .map_or(0, |node| self.schema().node(node).keys().len());
        let stored = self.state().snapshot.get(&resource.key)?;
        stored
            .map(|value| Fragment::decode(&value, keys))
            .transpose()
    }

    /// Writes the fragment of a resource; a non-presence container without leaves has none.
    pub fn write_fragment(&mut self, resource: &ParentResource, fragment: &Fragment) {
        let needs_none = resource
            .node
            .is_none_or(|node| self.schema().node(node).is_np_container());
        if fragment.leaves.is_empty() && needs_none {
            self.delete(resource.key.clone());
        } else {
            self.overlay.put(resource.key.clone(), fragment.encode());
        }
        self.touch(resource, TouchExtent::Within);
    }

    /// The encoded fragment of a new node. None if its leaves have annotations or cases, or are not in
    /// storage order.
    pub fn packed(&self, node: &Node, data: &DataNode) -> Option<Vec<u8>> {
        let (schema, layout) = (self.schema(), &self.compiled.layout);
        let mut bytes = Vec::with_capacity(PACKED_BYTES);
        for &key in node.keys() {
            put_leaf_value(&mut bytes, layout.id(key), data.child(key)?.value()?);
        }
        let mut last = None;
        let leaves = data.children().iter();
        for leaf in leaves.filter(|leaf| is_editable_leaf(schema, leaf)) {
            let id = layout.id(leaf.node);
            let is_plain = leaf.annotations.is_empty() && schema.node(leaf.node).cases.is_empty();
            if !is_plain || last.is_some_and(|last| last >= id) {
                return None;
            }
            put_leaf_value(&mut bytes, id, leaf.value()?);
            last = Some(id);
        }
        Some(bytes)
    }

    /// The key leaves of an entry, in the order of the `key` statement.
    pub fn key_leaves(&self, node: &Node, data: &DataNode) -> Vec<(LocalId, Packed)> {
        let leaf = |&key| {
            let value = data.child(key)?.value()?.clone();
            Some((self.compiled.layout.id(key), Packed::Value(value)))
        };
        node.keys().iter().filter_map(leaf).collect()
    }
}

/// Whether a node is stored in the fragment of its parent and is not a key.
fn is_editable_leaf(schema: &Schema, data: &DataNode) -> bool {
    match &schema.node(data.node).kind {
        NodeKind::Leaf(value) => !value.is_key,
        NodeKind::AnyData | NodeKind::AnyXml => true,
        _ => false,
    }
}
