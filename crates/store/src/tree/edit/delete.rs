//! Deleting subtrees.

use espalier_keyspace::KeyRange;
use espalier_yang::data::Operation;
use espalier_yang::schema::Node;
use espalier_yang::{ErrorTag, InstancePath, Keys};

use super::apply::{Applying, Around, Touch};
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::locate::{Place, Shape, in_subspace, order_key};

const MISSING: &str = "the node to delete does not exist";

impl Applying<'_> {
    /// Deletes the resource of a path.
    pub fn delete_path(&mut self, path: &InstancePath, operation: Operation) -> Result<()> {
        let place = self.state().locate(path)?;
        let Some(place) = place else {
            self.missing(operation);
            return Ok(());
        };
        match place.shape {
            Shape::Root => self.clear_all(),
            Shape::Leaf => self.delete_leaf(&place, path, operation)?,
            Shape::Whole | Shape::Inner | Shape::Entry => {
                let range = KeyRange::prefix(&place.key);
                if !self.state().any(&range)? {
                    self.missing(operation);
                    return Ok(());
                }
                self.clear(&place.key)?;
                self.forget_position(path)?;
                self.touch_around(&place, path);
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
        place: &Place,
        path: &InstancePath,
        operation: Operation,
    ) -> Result<()> {
        let Some(leaf) = place.node else {
            return Ok(());
        };
        let node = self.schema().node(leaf).parent;
        if self
            .schema()
            .node(leaf)
            .as_value()
            .is_some_and(|value| value.is_key)
        {
            self.fail(
                ErrorTag::OperationNotSupported,
                "a key of a list entry cannot be deleted; delete the entry",
            );
            return Ok(());
        }
        let around = Around {
            key: place.key.clone(),
            node,
            boundaries: place.boundaries.clone(),
            is_new: false,
        };
        let id = self.compiled.layout.id(leaf);
        let fragment = self.fragment(&around)?;
        match fragment.filter(|fragment| fragment.get(id).is_some()) {
            Some(mut fragment) => {
                fragment.remove(id);
                self.write_fragment(&around, &fragment);
            }
            None => {
                self.path = path.clone();
                self.missing(operation);
            }
        }
        Ok(())
    }

    /// Takes a deleted entry out of the order index.
    fn forget_position(&mut self, path: &InstancePath) -> Result<()> {
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
            self.overlay.delete(order_key(&list.key, values));
        }
        Ok(())
    }

    fn touch_around(&mut self, place: &Place, path: &InstancePath) {
        let own = usize::from(place.shape == Shape::Inner);
        let boundaries = place.boundaries[..place.boundaries.len() - own].to_vec();
        let node = path.parent().and_then(|parent| parent.target());
        let around = Around {
            key: place.key.clone(),
            node,
            boundaries,
            is_new: false,
        };
        self.touch(&around, Touch::Within);
    }

    /// Deletes a container or list entry that an edit names.
    pub fn delete_inner(
        &mut self,
        around: &Around,
        key: &[u8],
        exists: bool,
        operation: Operation,
    ) -> Result<()> {
        if exists {
            self.clear(key)?;
            self.touch(around, Touch::Within);
        } else {
            self.missing(operation);
        }
        Ok(())
    }

    /// Deletes the keys at and below a key of the tree, with their order index and stamps.
    pub fn clear(&mut self, key: &[u8]) -> Result<()> {
        self.overlay.delete_range(&KeyRange::prefix(key));
        for subspace in [Subspace::Order, Subspace::Stamp] {
            let range = KeyRange::prefix(&in_subspace(key, subspace));
            if self.state().any(&range)? {
                self.overlay.delete_range(&range);
            }
        }
        Ok(())
    }

    /// Deletes everything in the datastore.
    pub fn clear_all(&mut self) {
        for subspace in [Subspace::Tree, Subspace::Order, Subspace::Stamp] {
            self.overlay
                .delete_range(&KeyRange::prefix(&self.tree.prefix(subspace)));
        }
        self.touched.clear();
        self.touched
            .insert(self.tree.prefix(Subspace::Tree), Touch::Whole);
    }

    /// Whether the node that an edit names in a list means every entry of it.
    pub fn is_whole_list(&self, node: &Node, has_keys: bool, operation: Operation) -> bool {
        let deletes = matches!(operation, Operation::Delete | Operation::Remove);
        deletes && !has_keys && (node.is_list() || node.is_leaf_list())
    }
}
