//! Applies edits to an overlay, from the outermost node inwards.

use std::mem;

use espalier_keyspace::KeyRange;
use espalier_yang::data::{DataNode, Operation};
use espalier_yang::schema::Node;
use espalier_yang::{
    DataError, ErrorTag, Errors, InstancePath, Keys, NodeId, NodeKind, Schema, Step,
};

use super::request::{Edit, Insert, Request};
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::fragment::Fragment;
use crate::keys::{TreeId, put_local_id};
use crate::overlay::{KeyMap, Overlay};
use crate::position::Position;
use crate::tree::locate::{Location, LocationKind, TreeState};

/// Approximate size of a step in a key.
const STEP_BYTES: usize = 32;

/// The extent of a change of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tree) enum TouchExtent {
    /// The resource or its content changed.
    Within,
    /// The resource was created, or replaced as a whole.
    Whole,
}

/// Touched resources, by key.
pub(in crate::tree) type TouchedResources = KeyMap<TouchExtent>;

/// Which touched resources are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) enum TouchScope {
    /// Every resource: all are stamped.
    EveryResource,
    /// Only the datastore.
    DatastoreOnly,
}

/// The leaves of a resource whose children are applied.
enum Leaves {
    /// The stored leaves.
    Stored,
    /// Those of a resource that is being created and not yet written.
    New(Fragment),
    /// All leaves are written already.
    Written,
}

/// Applies edits to an overlay. Errors are collected; after the first one, the result is discarded.
pub(in crate::tree) struct EditApplier<'a> {
    pub overlay: &'a mut Overlay,
    pub compiled: &'a Compiled,
    pub tree: TreeId,
    pub errors: Errors,
    /// Touched resources, by key.
    pub touched: TouchedResources,
    /// The path of the current edit, for errors.
    pub path: InstancePath,
    /// The list that an entry was last appended to, and the position of that entry.
    pub last: Option<(Vec<u8>, Position)>,
    /// The position of the next entry, if the edit has one.
    pub placement: Option<Insert>,
    /// Which resources are recorded in `touched`.
    touch_scope: TouchScope,
    /// The last resource found in `touched`.
    pub last_touched: Vec<u8>,
    /// The last container found to exist. Its ancestors exist too.
    last_existing: Vec<u8>,
}

/// The resource whose children are edited.
#[derive(Clone, Debug)]
pub(in crate::tree) struct ParentResource {
    pub key: Vec<u8>,
    pub node: Option<NodeId>,
    pub boundaries: Vec<usize>,
    /// Whether this edit created it, so that it was empty before.
    pub is_new: bool,
}

impl ParentResource {
    /// An existing resource; its key has the length of the last of `boundaries`.
    pub fn at(key: &[u8], node: Option<NodeId>, boundaries: &[usize]) -> Self {
        let length = boundaries.last().copied().unwrap_or_default();
        Self {
            key: key[..length].to_vec(),
            node,
            boundaries: boundaries.to_vec(),
            is_new: false,
        }
    }
}

impl<'a> EditApplier<'a> {
    pub fn new(overlay: &'a mut Overlay, compiled: &'a Compiled, tree: TreeId) -> Self {
        let (errors, touched, path) = (
            Errors::new(),
            TouchedResources::default(),
            InstancePath::root(),
        );
        Self {
            overlay,
            compiled,
            tree,
            errors,
            touched,
            path,
            last: None,
            placement: None,
            touch_scope: TouchScope::EveryResource,
            last_touched: Vec::new(),
            last_existing: Vec::new(),
        }
    }

    /// Sets which resources are recorded.
    pub fn with_touch_scope(self, touch_scope: TouchScope) -> Self {
        Self {
            touch_scope,
            ..self
        }
    }

    /// Applies edits in order. Returns the touched resources.
    ///
    /// # Errors
    /// Every error of the edits.
    pub fn apply_all(mut self, edits: &[Edit]) -> Result<TouchedResources> {
        let mut errors = Errors::new();
        for (number, edit) in edits.iter().enumerate() {
            self.edit(edit)?;
            errors.append(mem::take(&mut self.errors).of_edit(number));
        }
        errors.into_result()?;
        Ok(self.touched)
    }

    /// Clears the cached keys, because keys are deleted or moved.
    pub fn clear_cached_keys(&mut self) {
        self.last = None;
        self.last_touched.clear();
        self.last_existing.clear();
    }

    /// Applies one edit.
    pub fn edit(&mut self, edit: &Edit) -> Result<()> {
        self.path.steps.clone_from(&edit.at.steps);
        self.placement.clone_from(&edit.placement);
        match &edit.request {
            Request::Tree(tree, operation) => self.apply_below(&edit.at, &tree.nodes, *operation),
            Request::Delete => self.delete_path(&edit.at, Operation::Delete),
            Request::Remove => self.delete_path(&edit.at, Operation::Remove),
            Request::ReplaceAll(tree) => {
                self.clear_all();
                self.apply_below(&edit.at, &tree.nodes, Operation::Merge)
            }
        }
    }

    /// The state with all edits so far, in which keys are looked up.
    pub fn state(&self) -> TreeState<'_> {
        TreeState::new(&*self.overlay, self.compiled, self.tree)
    }

    pub fn schema(&self) -> &'a Schema {
        &self.compiled.schema
    }

    fn apply_below(
        &mut self,
        at: &InstancePath,
        nodes: &[DataNode],
        operation: Operation,
    ) -> Result<()> {
        let place = self.state().locate(at)?;
        let Some(place) =
            place.filter(|place| matches!(place.kind, LocationKind::Root | LocationKind::Inner))
        else {
            self.fail(
                ErrorTag::DataMissing,
                "the node to edit below does not exist",
            );
            return Ok(());
        };
        if !self.accepts_children(&place, at)? {
            self.fail(
                ErrorTag::DataMissing,
                "the node to edit below does not exist",
            );
            return Ok(());
        }
        let new_cases = self.empty_case_containers(at, &place)?;
        let resource = ParentResource::at(&place.key, place.node, &place.boundaries);
        self.children(&resource, nodes, operation, Leaves::Stored)?;
        for (resource, key, node) in new_cases {
            if self.state().any(&KeyRange::prefix(&key))? {
                self.delete_other_cases(&resource, self.schema().node(node))?;
            }
        }
        Ok(())
    }

    /// The empty non-presence containers on a path that belong to a case: each with its parent and its key.
    fn empty_case_containers(
        &self,
        path: &InstancePath,
        place: &Location,
    ) -> Result<Vec<(ParentResource, Vec<u8>, NodeId)>> {
        let mut found = Vec::new();
        let mut parent = None;
        for (index, step) in path.steps.iter().enumerate() {
            let node = self.schema().node(step.node);
            if node.is_np_container() && !node.cases.is_empty() {
                let resource = &place.boundaries[..=index];
                let key = place.key[..place.boundaries[index + 1]].to_vec();
                if !self.state().any(&KeyRange::prefix(&key))? {
                    found.push((
                        ParentResource::at(&place.key, parent, resource),
                        key,
                        step.node,
                    ));
                }
            }
            parent = Some(step.node);
        }
        Ok(found)
    }

    /// Whether children can be created at a location: it exists, or is a non-presence container in a
    /// location where they can.
    fn accepts_children(&self, place: &Location, path: &InstancePath) -> Result<bool> {
        let Some(node) = place.node.map(|node| self.schema().node(node)) else {
            return Ok(true);
        };
        if !node.is_np_container() {
            return Ok(self.state().snapshot.get(&place.key)?.is_some());
        }
        let parent = path.parent().unwrap_or_default();
        match self.state().locate(&parent)? {
            Some(resource) => self.accepts_children(&resource, &parent),
            None => Ok(false),
        }
    }

    /// Applies the children of a resource.
    fn children(
        &mut self,
        resource: &ParentResource,
        nodes: &[DataNode],
        operation: Operation,
        leaves: Leaves,
    ) -> Result<()> {
        let first = self.check_cases(nodes, operation);
        if first.is_empty() || !matches!(leaves, Leaves::Stored) {
            return self.children_in_order(resource, nodes, operation, leaves);
        }
        // Creating data of one case deletes the other cases. Deletions in the edit come first, else their
        // targets would be missing.
        let (mut deleted, mut others) = (Vec::new(), Vec::new());
        for (index, data) in nodes.iter().enumerate() {
            match first.contains(&index) {
                true => deleted.push(data.clone()),
                false => others.push(data.clone()),
            }
        }
        self.children_in_order(resource, &deleted, operation, Leaves::Stored)?;
        self.children_in_order(resource, &others, operation, Leaves::Stored)
    }

    /// Applies the children of a resource: its leaves together, then the others in order.
    fn children_in_order(
        &mut self,
        resource: &ParentResource,
        nodes: &[DataNode],
        operation: Operation,
        leaves: Leaves,
    ) -> Result<()> {
        match leaves {
            Leaves::Stored => self.leaves(resource, nodes, operation, None)?,
            Leaves::New(fragment) => self.leaves(resource, nodes, operation, Some(fragment))?,
            Leaves::Written => {}
        }
        for data in nodes {
            let node = self.schema().node(data.node);
            match node.kind {
                NodeKind::LeafList(_) => self.leaf_list_entry(resource, data, operation)?,
                NodeKind::List(_) => self.list_entry(resource, data, operation)?,
                NodeKind::Container { .. } => self.container(resource, data, operation)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The key of a container in a resource, or the key prefix of a list's entries.
    pub fn child_key(&self, resource: &ParentResource, node: NodeId) -> Vec<u8> {
        let mut key = Vec::with_capacity(resource.key.len() + STEP_BYTES);
        key.extend_from_slice(&resource.key);
        put_local_id(&mut key, self.compiled.layout.id(node));
        key
    }

    fn container(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
    ) -> Result<()> {
        let key = self.child_key(resource, data.node);
        self.path.steps.push(Step {
            node: data.node,
            keys: Keys::None,
        });
        let exists = !resource.is_new && self.exists(data.node, &key)?;
        let result = self.apply_inner(resource, data, inherited, key, exists);
        self.path.steps.pop();
        result
    }

    /// Applies a container or list entry with a given key. The fragments of new list entries are written by
    /// the caller's `fragment`.
    pub fn apply_inner(
        &mut self,
        resource: &ParentResource,
        data: &DataNode,
        inherited: Operation,
        key: Vec<u8>,
        exists: bool,
    ) -> Result<()> {
        let operation = data.operation().unwrap_or(inherited);
        let node = self.schema().node(data.node);
        match operation {
            Operation::Delete | Operation::Remove => {
                self.delete_inner(resource, data, &key, exists, operation)?;
                if exists {
                    self.touch_emptied(Some(data.node), &key);
                }
                return Ok(());
            }
            Operation::Create if exists => {
                self.fail_on(data, ErrorTag::DataExists, "the node exists already");
                return Ok(());
            }
            Operation::None if !exists && !node.is_np_container() => {
                self.fail_on(data, ErrorTag::DataMissing, "the node does not exist");
                return Ok(());
            }
            Operation::Replace if exists => self.clear(&key)?,
            _ => {}
        }
        let is_new = !exists || operation == Operation::Replace;
        if operation != Operation::None {
            self.delete_other_cases(resource, node)?;
        }
        // Content created below a container with operation `none` may make the container exist.
        let may_become_existing = operation == Operation::None && !exists && !node.cases.is_empty();
        let mut boundaries = Vec::with_capacity(resource.boundaries.len() + 1);
        boundaries.extend_from_slice(&resource.boundaries);
        boundaries.push(key.len());
        let inside = ParentResource {
            key,
            node: Some(data.node),
            boundaries,
            is_new,
        };
        let leaves = match is_new && operation != Operation::None {
            true => self.create(&inside, node, data),
            false => Leaves::Stored,
        };
        let for_children = match operation {
            Operation::Create | Operation::Replace => Operation::Merge,
            other => other,
        };
        self.children(&inside, data.children(), for_children, leaves)?;
        if may_become_existing && self.state().any(&KeyRange::prefix(&inside.key))? {
            self.delete_other_cases(resource, node)?;
        }
        Ok(())
    }

    /// Creates a node with the keys of an entry; a non-presence container needs no row. Plain leaves are
    /// written at once.
    fn create(&mut self, inside: &ParentResource, node: &Node, data: &DataNode) -> Leaves {
        self.touch(inside, TouchExtent::Whole);
        if node.is_np_container() {
            return Leaves::Stored;
        }
        if let Some(packed) = self.packed(node, data) {
            self.overlay.put(inside.key.clone(), packed);
            return Leaves::Written;
        }
        let leaves = self.key_leaves(node, data);
        Leaves::New(Fragment {
            keys: leaves.len(),
            leaves,
        })
    }

    /// Records that a resource and its ancestors were touched.
    pub fn touch(&mut self, resource: &ParentResource, touch: TouchExtent) {
        let mut touch = touch;
        let mut boundaries = resource.boundaries.as_slice();
        if self.touch_scope == TouchScope::DatastoreOnly && boundaries.len() > 1 {
            (touch, boundaries) = (TouchExtent::Within, &boundaries[..1]);
        }
        for &length in boundaries.iter().rev() {
            let key = &resource.key[..length];
            if touch == TouchExtent::Within && self.last_touched == key {
                return;
            }
            let is_recorded = match touch {
                TouchExtent::Whole => self.touched.insert(key.to_vec(), touch).is_some(),
                TouchExtent::Within => self.touched.contains_key(key),
            };
            if is_recorded {
                // Its ancestors were touched with it.
                self.last_touched.clear();
                self.last_touched.extend_from_slice(key);
                return;
            }
            if touch == TouchExtent::Within {
                self.touched.insert(key.to_vec(), touch);
            }
            touch = TouchExtent::Within;
        }
    }

    /// Whether a key of the tree exists.
    pub fn overlay_has(&mut self, key: &[u8]) -> Result<bool> {
        let found = self.overlay.get_new(key)?;
        Ok(found.is_some())
    }

    /// Whether a container exists; a non-presence container exists if it has content.
    fn exists(&mut self, node: NodeId, key: &[u8]) -> Result<bool> {
        if self.last_existing.starts_with(key) {
            return Ok(true);
        }
        let exists = match self.schema().node(node).is_np_container() {
            true => self.state().any(&KeyRange::prefix(key))?,
            false => self.overlay_has(key)?,
        };
        if exists {
            self.last_existing.clear();
            self.last_existing.extend_from_slice(key);
        }
        Ok(exists)
    }

    /// Deletes one key of the tree; its ancestors may become empty.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.last_existing.clear();
        self.overlay.delete(key);
    }

    /// Records an error at the current path.
    pub fn fail(&mut self, tag: ErrorTag, message: impl Into<String>) {
        let path = self.path.to_instance_identifier(self.schema());
        self.errors.push(DataError::new(tag, message).at(path));
    }

    /// Records an error at the current path and the line of a node.
    pub fn fail_on(&mut self, data: &DataNode, tag: ErrorTag, message: impl Into<String>) {
        self.fail_with(data, DataError::new(tag, message));
    }

    /// Records an error of `data` at the current path.
    pub fn fail_with(&mut self, data: &DataNode, error: DataError) {
        let path = self.path.to_instance_identifier(self.schema());
        self.errors.push(error.at(path).on_line(data.mark.line));
    }
}
