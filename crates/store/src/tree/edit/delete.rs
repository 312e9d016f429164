//! Deletes subtrees.

use std::ops::Bound;

use espalier_keyspace::KeyRange;
use espalier_yang::data::{DataNode, Operation};
use espalier_yang::schema::Node;
use espalier_yang::{ErrorTag, InstancePath, Keys, NodeId};

use super::apply::{EditApplier, ParentResource, TouchExtent, TouchedResources};
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::locate::{Location, LocationKind, in_subspace, order_key};

const MISSING: &str = "the node to delete does not exist";

impl EditApplier<'_> {
    /// Deletes the resource at a path.
    pub fn delete_path(&mut self, path: &InstancePath, operation: Operation) -> Result<()> {
        let place = self.state().locate(path)?;
        let Some(place) = place else {
            self.missing(operation);
            return Ok(());
        };
        match place.kind {
            LocationKind::Root => self.clear_all(),
            LocationKind::Leaf => self.delete_leaf(&place, path, operation)?,
            LocationKind::AllEntries | LocationKind::Inner | LocationKind::Entry => {
                let range = KeyRange::prefix(&place.key);
                if !self.state().any(&range)? {
                    self.missing(operation);
                    return Ok(());
                }
                self.clear(&place.key)?;
                self.delete_position(path)?;
                self.touch_around(&place, path);
                self.touch_emptied(place.node, &place.key);
            }
        }
        Ok(())
    }

    fn missing(&mut self, operation: Operation) {
        if operation == Operation::Delete {
            self.fail(ErrorTag::DataMissing, MISSING);
        }
    }

    fn delete_leaf(
        &mut self,
        place: &Location,
        path: &InstancePath,
        operation: Operation,
    ) -> Result<()> {
        let Some(leaf) = place.node else {
            return Ok(());
        };
        let node = self.schema().node(leaf).parent;
        let value = self.schema().node(leaf).as_value();
        let resource = ParentResource {
            key: place.key.clone(),
            node,
            boundaries: place.boundaries.clone(),
            is_new: false,
        };
        let id = self.compiled.layout.id(leaf);
        let fragment = self.fragment(&resource)?;
        match fragment.filter(|fragment| fragment.get(id).is_some()) {
            Some(_) if value.is_some_and(|value| value.is_key) => self.fail(
                ErrorTag::OperationNotSupported,
                "a key of a list entry cannot be deleted; delete the entry",
            ),
            Some(mut fragment) => {
                fragment.remove(id);
                self.write_fragment(&resource, &fragment);
            }
            None => {
                self.path = path.clone();
                self.missing(operation);
            }
        }
        Ok(())
    }

    /// Deletes the order-index row of a deleted entry.
    fn delete_position(&mut self, path: &InstancePath) -> Result<()> {
        let Some(step) = path.steps.last() else {
            return Ok(());
        };
        let Keys::Values(values) = &step.keys else {
            return Ok(());
        };
        if !self.schema().node(step.node).is_positional() {
            return Ok(());
        }
        let mut list = path.clone();
        if let Some(last) = list.steps.last_mut() {
            last.keys = Keys::None;
        }
        if let Some(list) = self.state().locate(&list)? {
            self.delete(order_key(&list.key, values));
        }
        Ok(())
    }

    fn touch_around(&mut self, place: &Location, path: &InstancePath) {
        let own = usize::from(place.kind == LocationKind::Inner);
        let boundaries = place.boundaries[..place.boundaries.len() - own].to_vec();
        let node = path.parent().and_then(|parent| parent.target());
        let resource = ParentResource {
            key: place.key.clone(),
            node,
            boundaries,
            is_new: false,
        };
        self.touch(&resource, TouchExtent::Within);
    }

    /// Deletes a container or list entry of an edit.
    pub fn delete_inner(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        key: &[u8],
        exists: bool,
        operation: Operation,
    ) -> Result<()> {
        if exists {
            self.clear(key)?;
            self.touch(resource, TouchExtent::Within);
        } else if operation == Operation::Delete {
            self.fail_on(data, ErrorTag::DataMissing, MISSING);
        }
        Ok(())
    }

    /// Records that a non-presence container was emptied: it is still a resource.
    pub fn touch_emptied(&mut self, node: Option<NodeId>, key: &[u8]) {
        if node.is_some_and(|node| self.schema().node(node).is_np_container()) {
            self.touched.insert(key.to_vec(), TouchExtent::Whole);
        }
    }

    /// Deletes the keys at and below a key of the tree, with their order index and stamps.
    pub fn clear(&mut self, key: &[u8]) -> Result<()> {
        self.clear_cached_keys();
        self.take_touched(key);
        self.overlay.delete_range(&KeyRange::prefix(key));
        for subspace in [Subspace::Order, Subspace::Stamp] {
            let range = KeyRange::prefix(&in_subspace(key, subspace));
            if self.state().any(&range)? {
                self.overlay.delete_range(&range);
            }
        }
        Ok(())
    }

    /// Removes and returns the touched resources at and below a key.
    pub fn take_touched(&mut self, key: &[u8]) -> Vec<(Vec<u8>, TouchExtent)> {
        let below = self.touched.range(Bound::Included(key), Bound::Unbounded);
        let taken: Vec<_> = below
            .take_while(|(other, _)| other.starts_with(key))
            .map(|(other, touch)| (other.to_vec(), *touch))
            .collect();
        for (other, _) in &taken {
            self.touched.remove(other);
        }
        self.last_touched.clear();
        taken
    }

    /// Deletes everything in the datastore.
    pub fn clear_all(&mut self) {
        self.clear_cached_keys();
        for subspace in [Subspace::Tree, Subspace::Order, Subspace::Stamp] {
            self.overlay
                .delete_range(&KeyRange::prefix(&self.tree.prefix(subspace)));
        }
        self.touched = TouchedResources::default();
        self.touched
            .insert(self.tree.prefix(Subspace::Tree), TouchExtent::Whole);
    }

    /// Whether a node of an edit stands for every entry of its list.
    pub fn is_whole_list(&self, node: &Node, has_keys: bool, operation: Operation) -> bool {
        let deletes = operation.deletes();
        deletes && !has_keys && (node.is_list() || node.is_leaf_list())
    }
}
