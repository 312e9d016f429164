//! Reads two trees as one, with one tree layered over the other.
//!
//! Keys of one node are equal in both trees, except for entries of lists and leaf-lists with a stored
//! order: their keys contain positions, which each tree assigns itself. The order of the tree below wins.
//! An entry that both trees have keeps its position below; an entry that only the tree above has follows
//! all of those, with its position moved by [`Union::shift`]. Entries of keyless lists cannot be matched,
//! so all of them are included.

use std::borrow::Cow;

use espalier_keyspace::{Direction, KeyRange, Result as EngineResult, Snapshot};
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, NodeKind, Schema};

use super::cursor::{RenamedCursor, UnionCursor};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Reader, take_entry_value};
use crate::keys::{TreeId, take_local_id};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::{in_subspace, is_order_index, order_key};
use crate::tree::read::skip_entry;

/// The distance between the positions of two layers, larger than any list.
const SHIFT: i64 = 1 << 56;

/// Maximum number of layers over one tree, so that their positions stay distinct.
pub(super) const LAYERS_MAX: usize = 100;

/// One of the two trees.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub snapshot: &'a dyn Snapshot,
    pub tree: TreeId,
}

/// Two trees of one schema, read as a third.
#[derive(Clone, Copy)]
pub(super) struct Union<'a> {
    pub compiled: &'a Compiled,
    pub below: Layer<'a>,
    pub above: Layer<'a>,
    /// The tree whose keys the union has. All three belong to one anchor.
    pub tree: TreeId,
    /// The offset of positions that only the tree above has.
    pub shift: i64,
}

/// An entry that both trees have, or the datastore; keys below it are translated relative to it.
#[derive(Clone, Debug)]
pub(super) struct SharedRoot {
    /// Its key in the union.
    pub union_key: Vec<u8>,
    /// Its key in the tree above.
    pub above: Vec<u8>,
    /// Its node; none for the datastore.
    pub node: Option<NodeId>,
}

/// An entry of a list with a stored order, on the path of a key.
pub(super) struct Entry {
    pub node: NodeId,
    /// The length of the key of the whole list.
    pub list: usize,
    /// The length of the key of the entry.
    pub end: usize,
}

/// The shift of a layer by its number, from 1.
pub(super) fn shift_of(layer: usize) -> i64 {
    SHIFT * layer.min(LAYERS_MAX) as i64
}

impl<'a> Union<'a> {
    pub fn schema(&self) -> &'a Schema {
        &self.compiled.schema
    }

    /// The same key in another of the trees, without translating positions.
    pub fn in_tree(self, key: &[u8], tree: TreeId) -> Vec<u8> {
        let mut key = key.to_vec();
        self.set_tree(&mut key, tree);
        key
    }

    /// Sets the datastore of a key.
    pub fn set_tree(self, key: &mut [u8], tree: TreeId) {
        let at = self.prefix_length() - 1;
        if let Some(byte) = key.get_mut(at) {
            *byte = tree.datastore;
        }
    }

    /// The length of the common prefix of all keys of a tree.
    pub fn prefix_length(self) -> usize {
        self.tree.prefix(Subspace::Tree).len()
    }

    /// The datastore, as a root.
    pub fn root(self) -> SharedRoot {
        SharedRoot {
            union_key: self.tree.prefix(Subspace::Tree),
            above: self.above.tree.prefix(Subspace::Tree),
            node: None,
        }
    }

    /// The value of a key of the union.
    pub fn get(self, key: &[u8]) -> EngineResult<Option<Cow<'a, [u8]>>> {
        match self.subspace_of(key) {
            Some(Subspace::Tree) => self.get_merged(key).map_err(engine),
            Some(Subspace::Order) => self.get_position(key).map_err(engine),
            _ => self.above.snapshot.get(key),
        }
    }

    /// Scans a range. Only data is merged; for other ranges, the rows of the tree above are returned.
    pub fn scan(
        self,
        range: &KeyRange,
        direction: Direction,
    ) -> EngineResult<Box<dyn espalier_keyspace::Cursor + 'a>> {
        let data = KeyRange::prefix(&self.tree.prefix(Subspace::Tree));
        let within = range.intersection(&data);
        if within.is_empty() {
            return self.above.snapshot.scan(range, direction);
        }
        let cursor = UnionCursor::open(self, self.root(), within.clone(), direction);
        let cursor = cursor.map_err(engine)?;
        if cursor.has_nothing_above() {
            return Ok(Box::new(RenamedCursor::open(self, within, direction)?));
        }
        Ok(Box::new(cursor))
    }

    /// The subspace of the union's tree that contains a key.
    fn subspace_of(self, key: &[u8]) -> Option<Subspace> {
        let parts = [Subspace::Tree, Subspace::Order];
        parts
            .into_iter()
            .find(|&part| key.starts_with(&self.tree.prefix(part)))
    }

    fn get_merged(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        let below = self
            .below
            .snapshot
            .get(&self.in_tree(key, self.below.tree))?;
        let above = match self.above_key(key)? {
            Some(above) => self.above.snapshot.get(&above)?,
            None => None,
        };
        match (below, above) {
            (Some(below), Some(above)) => Ok(Some(Cow::Owned(self.merge_at(key, &below, &above)?))),
            (below, above) => Ok(below.or(above)),
        }
    }

    /// The position of an entry, by its key in the order index.
    fn get_position(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        let below = self
            .below
            .snapshot
            .get(&self.in_tree(key, self.below.tree))?;
        if below.is_some() {
            return Ok(below);
        }
        let Some(above) = self.above_key(key)? else {
            return Ok(None);
        };
        let Some(position) = self.above.snapshot.get(&above)? else {
            return Ok(None);
        };
        Ok(Some(Cow::Owned(self.shifted(&position)?)))
    }

    /// An encoded position of the tree above, as in the union.
    pub fn shifted(self, position: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Position::take(&mut &*position)?
            .moved_by(self.shift)
            .put(&mut bytes);
        Ok(bytes)
    }

    /// Merges the values of one key in both trees; the tree above wins.
    pub fn merge_at(self, key: &[u8], below: &[u8], above: &[u8]) -> Result<Vec<u8>> {
        match self.node_of(key)?.map(|node| self.schema().node(node)) {
            Some(node) if node.is_leaf_list() => Ok(above.to_vec()),
            node => {
                let keys = node.map_or(0, |node| node.keys().len());
                let mut merged = Fragment::decode(below, keys)?;
                for leaf in Reader::new(above) {
                    let (id, packed) = leaf?;
                    merged.set(id, packed);
                }
                Ok(merged.encode())
            }
        }
    }

    /// The node of a key; none for the datastore, and if the schema no longer has it.
    fn node_of(self, key: &[u8]) -> Result<Option<NodeId>> {
        let mut at = self.prefix_length();
        let mut node = None;
        while at < key.len() {
            let mut rest = &key[at..];
            let child = self.compiled.layout.child(node, take_local_id(&mut rest)?);
            let Some(child) = child else { return Ok(None) };
            skip_entry(self.schema().node(child), &mut rest)?;
            at = key.len() - rest.len();
            node = Some(child);
        }
        Ok(node)
    }

    /// The first entry with a position on the path of `key`, starting at the node `parent` whose key is the
    /// first `at` bytes; none if there is no such entry, or the key ends (or is not a key) before it.
    pub fn first_entry(self, parent: Option<NodeId>, key: &[u8], at: usize) -> Option<Entry> {
        let (mut parent, mut at) = (parent, at);
        while at < key.len() {
            let mut rest = &key[at..];
            let id = take_local_id(&mut rest).ok()?;
            let child = self.compiled.layout.child(parent, id)?;
            if !self.compiled.contains_order(child) {
                return None;
            }
            let node = self.schema().node(child);
            let list = key.len() - rest.len();
            if node.is_positional() && is_order_index(&key[..list], key) {
                return None;
            }
            skip_entry(node, &mut rest).ok()?;
            at = key.len() - rest.len();
            if node.is_positional() {
                let (node, end) = (child, at);
                return Some(Entry { node, list, end });
            }
            parent = Some(child);
        }
        None
    }

    /// The key in the tree above for `key` of the union; none if it cannot exist there. For keys of data
    /// and of the order index.
    pub fn above_key(self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let prefix = self.prefix_length();
        let mut above = self.in_tree(&key[..prefix], self.above.tree);
        let (mut parent, mut at) = (None, prefix);
        while let Some(entry) = self.first_entry(parent, key, at) {
            above.extend_from_slice(&key[at..entry.list]);
            match self.above_position(key, &entry, &above)? {
                Some(position) => above.extend_from_slice(&position),
                None => return Ok(None),
            }
            (parent, at) = (Some(entry.node), entry.end);
        }
        above.extend_from_slice(&key[at..]);
        Ok(Some(above))
    }

    /// The position in the tree above of an entry on the path of `key`; `list` is the key of its list
    /// there.
    fn above_position(self, key: &[u8], entry: &Entry, list: &[u8]) -> Result<Option<Vec<u8>>> {
        let position = Position::take(&mut &key[entry.list..entry.end])?;
        if self.is_above_only(&position) {
            let mut bytes = Vec::new();
            position.moved_by(-self.shift).put(&mut bytes);
            return Ok(Some(bytes));
        }
        let below = self.in_tree(&key[..entry.end], self.below.tree);
        self.position_of_same(self.below, entry.node, &below, self.above, list)
    }

    /// Whether a position of the union belongs to an entry that only the tree above has.
    fn is_above_only(self, position: &Position) -> bool {
        self.is_above_only_integer(position.whole())
    }

    /// As [`Self::is_above_only`], for the integer part of a position.
    pub fn is_above_only_integer(self, whole: i64) -> bool {
        whole >= self.shift - SHIFT / 2
    }

    /// The root of an entry on the path of `key`, if both trees have it. `root` encloses it.
    pub fn in_both(
        self,
        root: &SharedRoot,
        key: &[u8],
        entry: &Entry,
    ) -> Result<Option<SharedRoot>> {
        if self.is_above_only(&Position::take(&mut &key[entry.list..entry.end])?) {
            return Ok(None);
        }
        let mut above = root.above.clone();
        above.extend_from_slice(&key[root.union_key.len()..entry.list]);
        let Some(position) = self.above_position(key, entry, &above)? else {
            return Ok(None);
        };
        above.extend_from_slice(&position);
        let union_key = key[..entry.end].to_vec();
        let node = Some(entry.node);
        Ok(Some(SharedRoot {
            union_key,
            above,
            node,
        }))
    }

    /// Whether the tree below has an entry of the tree above, on the path of `above`; `list` is the key of
    /// its list in the union.
    pub fn is_below(self, above: &[u8], entry: &Entry, list: &[u8]) -> Result<bool> {
        let list = self.in_tree(list, self.below.tree);
        let key = &above[..entry.end];
        let found = self.position_of_same(self.above, entry.node, key, self.below, &list)?;
        Ok(found.is_some())
    }

    /// The position in the list `list` of one tree of the entry that has `key` in the other.
    fn position_of_same(
        self,
        of: Layer<'_>,
        node: NodeId,
        key: &[u8],
        other: Layer<'_>,
        list: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let node = self.schema().node(node);
        if !has_index(node) {
            return Ok(None);
        }
        let Some(value) = of.snapshot.get(&in_subspace(key, Subspace::Tree))? else {
            return Ok(None);
        };
        let values = match &node.kind {
            NodeKind::LeafList(_) => vec![take_entry_value(&value)?],
            _ => Fragment::decode(&value, node.keys().len())?.key_values()?,
        };
        let found = other.snapshot.get(&order_key(list, &values))?;
        Ok(found.map(Cow::into_owned))
    }
}

/// Whether entries of a node with a stored order have an index by value.
fn has_index(node: &Node) -> bool {
    match &node.kind {
        NodeKind::List(list) => !list.keys.is_empty(),
        NodeKind::LeafList(_) => node.is_config,
        _ => false,
    }
}

/// Converts an error to one of the engine, as [`Snapshot`] requires.
pub(super) fn engine(error: Error) -> espalier_keyspace::Error {
    match error {
        Error::Engine(error) => error,
        other => {
            let kind = espalier_keyspace::ErrorKind::Corrupt;
            espalier_keyspace::Error::new(kind, other.to_string())
        }
    }
}
