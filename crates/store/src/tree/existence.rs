//! Existence and count of data nodes.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::InstancePath;

use super::locate::{Location, LocationKind, TreeState, entry_prefix};
use crate::error::{Error, Result};
use crate::fragment::Fragment;
use crate::keys::skip_key_values;

impl TreeState<'_> {
    /// Whether a data node exists. A non-presence container exists if its parent does (RFC 7950 §7.5.1), a
    /// whole list if it has an entry.
    pub fn exists(&self, path: &InstancePath) -> Result<bool> {
        let Some(place) = self.locate(path)? else {
            return Ok(false);
        };
        match (place.kind, place.node) {
            (LocationKind::Root, _) => Ok(true),
            (LocationKind::Inner, Some(node)) if self.schema().node(node).is_np_container() => {
                match path.parent() {
                    Some(parent) => self.exists(&parent),
                    None => Ok(true),
                }
            }
            _ => self.has_content(path),
        }
    }

    /// Whether data is stored at a path or below.
    pub fn has_content(&self, path: &InstancePath) -> Result<bool> {
        let Some(place) = self.locate(path)? else {
            return Ok(false);
        };
        match place.kind {
            LocationKind::Root | LocationKind::Inner => self.any(&KeyRange::prefix(&place.key)),
            LocationKind::AllEntries => self.any(&KeyRange::strictly_below(&place.key)),
            LocationKind::Entry => Ok(self.snapshot.get(&place.key)?.is_some()),
            LocationKind::Leaf => self.has_leaf(&place),
        }
    }

    fn has_leaf(&self, place: &Location) -> Result<bool> {
        let Some(node) = place.node else {
            return Ok(false);
        };
        match self.snapshot.get(&place.key)? {
            Some(value) => {
                let id = self.layout().id(node);
                Ok(Fragment::decode(&value, 0)?.get(id).is_some())
            }
            None => Ok(false),
        }
    }

    /// The number of entries of a list or leaf-list; linear in that number.
    pub fn count(&self, path: &InstancePath) -> Result<u64> {
        let Some(place) = self.locate(path)? else {
            return Ok(0);
        };
        let (LocationKind::AllEntries, Some(node)) = (place.kind, place.node) else {
            return Err(Error::corrupt("only lists and leaf-lists can be counted"));
        };
        let node = self.schema().node(node);
        let parts = if node.is_list() { node.keys().len() } else { 1 };
        let range = KeyRange::strictly_below(&place.key);
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
}
