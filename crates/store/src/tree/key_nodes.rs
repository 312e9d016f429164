//! Maps a key of the tree to the schema nodes on its path.

use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Step};
use smallvec::SmallVec;

use super::locate::TreeState;
use super::read::skip_entry;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, take_entry_value};
use crate::keys::take_local_id;
use crate::subspace::Subspace;

/// A schema node on the path of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyNode {
    /// The container, list or leaf-list.
    pub node: NodeId,
    /// The length of the key up to the node's local id: for entries, the key of the whole list.
    pub list: usize,
    /// The length of the key of the container, list entry or leaf-list entry.
    pub end: usize,
}

/// The nodes on the path of a key, outermost first.
pub(crate) type KeyNodes = SmallVec<[KeyNode; 8]>;

impl TreeState<'_> {
    /// The nodes on the path of a key of [`Subspace::Tree`]; none if one of them is no longer in the
    /// schema. Empty for the datastore's own key.
    pub fn trail(&self, key: &[u8]) -> Result<Option<KeyNodes>> {
        let mut at = self.tree.prefix(Subspace::Tree).len();
        let mut trail = KeyNodes::new();
        while at < key.len() {
            let mut rest = &key[at..];
            let parent = trail.last().map(|point: &KeyNode| point.node);
            let Some(node) = self.layout().child(parent, take_local_id(&mut rest)?) else {
                return Ok(None);
            };
            let list = key.len() - rest.len();
            skip_entry(self.schema().node(node), &mut rest)?;
            at = key.len() - rest.len();
            trail.push(KeyNode {
                node,
                list,
                end: at,
            });
        }
        Ok(Some(trail))
    }

    /// The instance path of a key. Key values are read from the fragments, because the key may contain them
    /// shortened.
    pub fn path_of(&self, key: &[u8], trail: &[KeyNode]) -> Result<InstancePath> {
        let mut path = InstancePath::root();
        for point in trail {
            let keys = self.keys_of(key, point)?;
            path.steps.push(Step {
                node: point.node,
                keys,
            });
        }
        Ok(path)
    }

    /// As [`Self::path_of`], but without the positions of entries that have no keys: these change when
    /// other entries change.
    pub fn named_path_of(&self, key: &[u8], trail: &[KeyNode]) -> Result<InstancePath> {
        let mut path = InstancePath::root();
        for point in trail {
            let keys = match self.has_only_position(point) {
                true => Keys::None,
                false => self.keys_of(key, point)?,
            };
            path.steps.push(Step {
                node: point.node,
                keys,
            });
        }
        Ok(path)
    }

    /// Whether an entry is identified only by its position.
    fn has_only_position(&self, point: &KeyNode) -> bool {
        let node = self.schema().node(point.node);
        match &node.kind {
            NodeKind::List(list) => list.keys.is_empty(),
            NodeKind::LeafList(_) => node.is_positional() && !node.is_config,
            _ => false,
        }
    }

    fn keys_of(&self, key: &[u8], point: &KeyNode) -> Result<Keys> {
        let node = self.schema().node(point.node);
        let entry = &key[..point.end];
        match &node.kind {
            _ if self.has_only_position(point) => self.index_of(key, point),
            NodeKind::List(list) => {
                let stored = self.snapshot.get(entry)?.ok_or_else(missing)?;
                let fragment = Fragment::decode(&stored, list.keys.len())?;
                fragment.key_values().map(Keys::Values)
            }
            NodeKind::LeafList(_) => {
                let stored = self.snapshot.get(entry)?.ok_or_else(missing)?;
                Ok(Keys::Values(vec![take_entry_value(&stored)?]))
            }
            _ => Ok(Keys::None),
        }
    }

    /// The index of an entry in its list, from 1.
    fn index_of(&self, key: &[u8], point: &KeyNode) -> Result<Keys> {
        let range = espalier_keyspace::KeyRange {
            start: key[..point.list].to_vec(),
            end: Some(key[..point.end].to_vec()),
        };
        let mut cursor = self
            .snapshot
            .scan(&range, espalier_keyspace::Direction::Forward)?;
        let (mut index, mut last) = (1, Vec::new());
        while let Some((other, _)) = cursor.next()? {
            let entry = super::locate::entry_prefix(&key[..point.list], other)?;
            if entry != last {
                index += 1;
                last = entry.to_vec();
            }
        }
        Ok(Keys::Position(index))
    }
}

fn missing() -> Error {
    Error::corrupt("an entry on the path of a key is missing")
}
