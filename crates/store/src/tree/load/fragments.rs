//! Writes closed nodes as keys and values.

use std::borrow::Cow;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, NodeKind, Step, Value};

use super::options::LoadMode;
use super::sink::{Frame, Loader};
use crate::error::Result;
use crate::fragment::{Fragment, put_leaf, put_leaf_value, put_value};
use crate::keys::{put_key_value, put_local_id};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::edit::siblings_in_other_cases;
use crate::tree::locate::{in_subspace, order_key};
use crate::tree::too_big::{is_too_big, too_big};

impl Loader<'_, '_> {
    /// Completes the key of the innermost frame: that of its parent, its local id, and its key values or
    /// position.
    pub fn set_key(&mut self) -> Result<()> {
        let Some((frame, around)) = self.frames.split_last_mut() else {
            return Ok(());
        };
        let (Some(node), Some(around)) = (frame.node, around.last_mut()) else {
            return Ok(());
        };
        frame.key.clear();
        frame.key.extend_from_slice(&around.key);
        put_local_id(&mut frame.key, self.compiled.layout.id(node));
        frame.has_key = true;
        frame.is_new = around.is_new;
        let node = self.compiled.schema.node(node);
        if node.is_positional() {
            self.put_position(node)?;
        } else {
            frame
                .keys
                .iter()
                .flatten()
                .for_each(|value| put_key_value(&mut frame.key, value));
        }
        self.check_existing(node)
    }

    /// Completes the key of an entry in a list with a stored order: its existing position, or a new last
    /// one.
    fn put_position(&mut self, node: &Node) -> Result<()> {
        let depth = self.frames.len() - 1;
        let list = self.frames[depth].key.clone();
        let keys: Vec<Value> = self.frames[depth].keys.iter().flatten().cloned().collect();
        let position = self.position(node, &list, &keys, depth - 1)?;
        self.frames[depth].key.extend_from_slice(&position);
        Ok(())
    }

    /// The position of an entry in a list of the frame at `around`.
    fn position(
        &mut self,
        node: &Node,
        list: &[u8],
        keys: &[Value],
        around: usize,
    ) -> Result<Vec<u8>> {
        let is_indexed = node.is_config && !keys.is_empty();
        let order_key = order_key(list, keys);
        if !self.frames[around].is_new
            && is_indexed
            && let Some(stored) = self.writer.get(&order_key)?
        {
            return Ok(stored.into_owned());
        }
        let last = match self.frames[around].positions.remove(&node.id) {
            Some(last) => Some(last),
            None if self.frames[around].is_new => None,
            None => self.last_position(list)?,
        };
        let next = Position::between(last.as_ref(), None).unwrap_or_else(|| Position::at(i64::MAX));
        let mut bytes = Vec::with_capacity(8);
        next.put(&mut bytes);
        self.frames[around].positions.insert(node.id, next);
        if is_indexed {
            self.put(&order_key, &bytes)?;
        }
        Ok(bytes)
    }

    fn last_position(&self, list: &[u8]) -> Result<Option<Position>> {
        let range = KeyRange::strictly_below(list);
        let mut cursor = self.base.scan(&range, Direction::Backward)?;
        let Some((key, _)) = cursor.next()? else {
            return Ok(None);
        };
        Position::take(&mut &key[list.len()..]).map(Some)
    }

    /// Checks whether anything is stored in the frame whose key was just set.
    fn check_existing(&mut self, node: &Node) -> Result<()> {
        let depth = self.frames.len() - 1;
        if self.frames[depth].is_new {
            return Ok(());
        }
        let range = KeyRange::prefix(&self.frames[depth].key);
        let is_stored = self
            .base
            .scan(&range, Direction::Forward)?
            .next()?
            .is_some();
        let is_top = depth == 1;
        if is_stored && is_top && self.mode == LoadMode::Create {
            let keys = self.frames[depth].keys.iter().flatten().cloned().collect();
            return Err(self.exists(node.id, keys).into());
        }
        self.delete_other_cases(depth - 1, node)?;
        self.frames[depth].is_new = !is_stored;
        Ok(())
    }

    /// The error of a top-level node that exists already.
    fn exists(&self, node: NodeId, values: Vec<Value>) -> DataError {
        let keys = if values.is_empty() {
            Keys::None
        } else {
            Keys::Values(values)
        };
        let path = InstancePath::root().child(node, keys);
        let path = path.to_instance_identifier(&self.compiled.schema);
        DataError::new(ErrorTag::DataExists, "the node exists already").at(path)
    }

    /// Writes the fragment of a closed frame, merged with the stored one.
    pub fn write(&mut self, mut frame: Frame) -> Result<Frame> {
        let node = frame.node.map(|node| self.compiled.schema.node(node));
        let needs_none = node.is_none_or(Node::is_np_container);
        if frame.leaves.is_empty() && needs_none {
            return Ok(frame);
        }
        if !frame.is_new {
            return self.merge(frame, node);
        }
        let mut value = Vec::with_capacity(64);
        let keys = node.map(Node::keys).unwrap_or_default();
        for (&key, key_value) in keys.iter().zip(&frame.keys) {
            if let Some(key_value) = key_value {
                put_leaf_value(&mut value, self.compiled.layout.id(key), key_value);
            }
        }
        frame.leaves.sort_by_key(|(id, _)| *id);
        for (id, packed) in &frame.leaves {
            put_leaf(&mut value, *id, packed);
        }
        self.put_frame(&frame, &value)?;
        Ok(frame)
    }

    /// Writes the fragment of a closed frame.
    fn put_frame(&mut self, frame: &Frame, value: &[u8]) -> Result<()> {
        if is_too_big(&frame.key, value) {
            let path = path_of(self.frames.iter().chain([frame]));
            return Err(too_big(self.compiled, path, &frame.key, value).into());
        }
        self.put(&frame.key, value)
    }

    fn merge(&mut self, mut frame: Frame, node: Option<&Node>) -> Result<Frame> {
        let keys = node.map(Node::keys).unwrap_or_default();
        let stored = self.writer.get(&frame.key)?.map(Cow::into_owned);
        let mut fragment = match &stored {
            Some(stored) => Fragment::decode(stored, keys.len())?,
            None => {
                let leaf = |(&key, value): (&NodeId, &Option<Value>)| {
                    let value = value.clone()?;
                    let id = self.compiled.layout.id(key);
                    Some((id, crate::fragment::Packed::Value(value)))
                };
                let leaves: Vec<_> = keys.iter().zip(&frame.keys).filter_map(leaf).collect();
                Fragment {
                    keys: leaves.len(),
                    leaves,
                }
            }
        };
        for (id, packed) in frame.leaves.drain(..) {
            let leaf = self.compiled.layout.child(frame.node, id);
            if let Some(leaf) = leaf.filter(|_| self.creates(node))
                && fragment.get(id).is_some()
            {
                return Err(self.exists(leaf, Vec::new()).into());
            }
            if let Some(leaf) = leaf
                .map(|leaf| self.compiled.schema.node(leaf))
                .filter(|leaf| !leaf.cases.is_empty())
            {
                for other_case in siblings_in_other_cases(&self.compiled.schema, leaf) {
                    fragment.remove(self.compiled.layout.id(other_case));
                }
                self.delete_other_case_subtrees(&frame.key, leaf)?;
            }
            fragment.set(id, packed);
        }
        self.put_frame(&frame, &fragment.encode())?;
        Ok(frame)
    }

    /// Whether the children of a node (none: the datastore) must not exist before.
    fn creates(&self, node: Option<&Node>) -> bool {
        node.is_none() && self.mode == LoadMode::Create
    }

    /// Writes one entry of a leaf-list in the innermost frame.
    pub fn write_entry(&mut self, id: NodeId, value: &Value) -> Result<()> {
        let depth = self.frames.len() - 1;
        let node = self.compiled.schema.node(id);
        let mut key = self.frames[depth].key.clone();
        put_local_id(&mut key, self.compiled.layout.id(id));
        if !self.frames[depth].is_new {
            self.delete_other_cases(depth, node)?;
        }
        if node.is_positional() {
            let position = self.position(node, &key, std::slice::from_ref(value), depth)?;
            key.extend_from_slice(&position);
        } else {
            put_key_value(&mut key, value);
        }
        let is_state = node.is_positional() && !node.is_config;
        if depth == 0 && self.creates(None) && !is_state && self.base.get(&key)?.is_some() {
            return Err(self.exists(id, vec![value.clone()]).into());
        }
        let mut bytes = Vec::with_capacity(16);
        put_value(&mut bytes, value);
        if is_too_big(&key, &bytes) {
            let path = path_of(self.frames.iter()).child(id, Keys::None);
            return Err(too_big(self.compiled, path, &key, &bytes).into());
        }
        self.put(&key, &bytes)
    }

    /// Deletes nodes of other cases than that of `node` in the frame at a depth.
    fn delete_other_cases(&mut self, depth: usize, node: &Node) -> Result<()> {
        if node.cases.is_empty() {
            return Ok(());
        }
        let around = self.frames[depth].key.clone();
        self.delete_other_case_subtrees(&around, node)?;
        let Some(stored) = self.writer.get(&around)?.map(Cow::into_owned) else {
            return Ok(());
        };
        let holder = self.frames[depth].node;
        let holder = holder.map(|node| self.compiled.schema.node(node));
        let keys = holder.map_or(0, |node| node.keys().len());
        let mut fragment = Fragment::decode(&stored, keys)?;
        let mut is_changed = false;
        for other_case in siblings_in_other_cases(&self.compiled.schema, node) {
            is_changed |= fragment.remove(self.compiled.layout.id(other_case));
        }
        match is_changed {
            true if fragment.leaves.is_empty() && holder.is_none_or(Node::is_np_container) => {
                Ok(self.writer.delete(&around)?)
            }
            true => self.put(&around, &fragment.encode()),
            false => Ok(()),
        }
    }

    fn delete_other_case_subtrees(&mut self, around: &[u8], node: &Node) -> Result<()> {
        let compiled = self.compiled;
        for other_case in siblings_in_other_cases(&compiled.schema, node) {
            let is_leaf = matches!(
                compiled.schema.node(other_case).kind,
                NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
            );
            if !is_leaf {
                let mut key = around.to_vec();
                put_local_id(&mut key, compiled.layout.id(other_case));
                self.delete_subtree(&key)?;
            }
        }
        Ok(())
    }

    fn delete_subtree(&mut self, key: &[u8]) -> Result<()> {
        for subspace in [Subspace::Tree, Subspace::Order] {
            let range = KeyRange::prefix(&in_subspace(key, subspace));
            self.writer.delete_range(&range)?;
        }
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.writer.put(key, value)?)
    }
}

/// The path of open frames, outermost first.
fn path_of<'f>(frames: impl Iterator<Item = &'f Frame>) -> InstancePath {
    let steps = frames.filter_map(|frame| {
        let values: Option<Vec<Value>> = frame.keys.iter().cloned().collect();
        let values = values.filter(|values| !values.is_empty());
        Some(Step {
            node: frame.node?,
            keys: values.map_or(Keys::None, Keys::Values),
        })
    });
    InstancePath {
        steps: steps.collect(),
    }
}
