//! A consistent reading of a datastore.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{InstancePath, Schema, Sink};

use super::locate::{Place, Shape, State, entry_prefix};
use super::read::read;
use super::selection::Selection;
use super::stamp::{self, Stamp};
use crate::error::{Error, Result};
use crate::fragment::Fragment;
use crate::keys::{TreeId, skip_key_values};
use crate::store::Compiled;
use crate::subspace::Subspace;

/// A datastore as it was at one moment, whatever is committed meanwhile. Holding one for long
/// keeps the engine from reusing space.
pub struct View {
    snapshot: Box<dyn Snapshot + Send>,
    compiled: Arc<Compiled>,
    tree: TreeId,
}

impl View {
    pub(super) fn new(
        snapshot: Box<dyn Snapshot + Send>,
        compiled: Arc<Compiled>,
        tree: TreeId,
    ) -> Self {
        Self {
            snapshot,
            compiled,
            tree,
        }
    }

    pub(super) fn into_snapshot(self) -> Box<dyn Snapshot + Send> {
        self.snapshot
    }

    pub(crate) fn state(&self) -> State<'_> {
        State {
            snapshot: &*self.snapshot,
            compiled: &self.compiled,
            tree: self.tree,
        }
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The number of the last commit to this datastore; 0 where there was none.
    pub fn version(&self) -> Result<u64> {
        Ok(self.stamp(&InstancePath::root())?.version)
    }

    /// Whether a data node exists. A container without presence exists where the node around it
    /// does (RFC 7950 §7.5.1); a whole list, where it has an entry.
    pub fn exists(&self, path: &InstancePath) -> Result<bool> {
        let Some(place) = self.state().locate(path)? else {
            return Ok(false);
        };
        match (place.shape, place.node) {
            (Shape::Inner, Some(node)) if self.schema().node(node).is_np_container() => {
                match path.parent() {
                    Some(parent) => self.exists(&parent),
                    None => Ok(true),
                }
            }
            _ => self.has_content(path),
        }
    }

    /// Whether something is stored at a path or below: as [`Self::exists`], but a container without
    /// presence has to hold something.
    pub fn has_content(&self, path: &InstancePath) -> Result<bool> {
        let state = self.state();
        let Some(place) = state.locate(path)? else {
            return Ok(false);
        };
        match place.shape {
            Shape::Root => Ok(true),
            Shape::Inner => state.any(&KeyRange::prefix(&place.key)),
            Shape::Whole => state.any(&KeyRange::below(&place.key)),
            Shape::Entry => Ok(self.snapshot.get(&place.key)?.is_some()),
            Shape::Leaf => self.has_leaf(&place),
        }
    }

    fn has_leaf(&self, place: &Place) -> Result<bool> {
        let Some(node) = place.node else {
            return Ok(false);
        };
        match self.snapshot.get(&place.key)? {
            Some(value) => {
                let id = self.compiled.layout.id(node);
                Ok(Fragment::decode(&value, 0)?.get(id).is_some())
            }
            None => Ok(false),
        }
    }

    /// The last change of a resource or of something in it. Kept for containers, list entries and
    /// the datastore; for others, that of the container or entry around them.
    pub fn stamp(&self, path: &InstancePath) -> Result<Stamp> {
        let Some(place) = self.state().locate(path)? else {
            return Ok(Stamp::default());
        };
        stamp::find(&*self.snapshot, &place.key, &place.boundaries)
    }

    /// Sends a resource as events: the target itself, not the nodes around it. The datastore sends
    /// every top-level node; a whole list, its entries. False where the target does not exist.
    pub fn read(
        &self,
        path: &InstancePath,
        selection: &Selection,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        read(self.state(), path, selection, sink)
    }

    /// How many entries a list or leaf-list has; linear in that number.
    pub fn count(&self, path: &InstancePath) -> Result<u64> {
        let Some(place) = self.state().locate(path)? else {
            return Ok(0);
        };
        let (Shape::Whole, Some(node)) = (place.shape, place.node) else {
            return Err(Error::corrupt("only lists and leaf-lists are counted"));
        };
        let node = self.schema().node(node);
        let parts = if node.is_list() { node.keys().len() } else { 1 };
        let range = KeyRange::below(&place.key);
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        let (mut count, mut end) = (0, Vec::new());
        while let Some((key, _)) = cursor.next()? {
            if !end.is_empty() && key < end.as_slice() {
                cursor.seek(&end)?;
                end.clear();
                continue;
            }
            count += 1;
            let length = if node.is_positional() {
                entry_prefix(&place.key, key)?.len()
            } else {
                let mut rest = &key[place.key.len()..];
                skip_key_values(&mut rest, parts)?;
                key.len() - rest.len()
            };
            end = KeyRange::prefix(&key[..length]).end.unwrap_or_default();
        }
        Ok(count)
    }

    /// How many keys the datastore takes; linear in that number.
    pub fn keys(&self) -> Result<u64> {
        let range = KeyRange::prefix(&self.tree.prefix(Subspace::Tree));
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        let mut count = 0;
        while cursor.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
