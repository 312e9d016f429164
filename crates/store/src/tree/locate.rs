//! Maps an instance path to its location in the key space.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema, Step, Value};

use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::{TreeId, put_key_value, put_local_id};
use crate::node_numbers::Layout;
use crate::position::Position;
use crate::subspace::Subspace;

/// The kind of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocationKind {
    /// The datastore itself; the key is the tree's prefix.
    Root,
    /// A container or list entry; the key is its fragment's.
    Inner,
    /// All entries of a list or leaf-list; the key is the common prefix of theirs.
    AllEntries,
    /// One leaf-list entry; the key is its own.
    Entry,
    /// A leaf, `anydata` or `anyxml`; the key is that of the enclosing fragment.
    Leaf,
}

/// The location of an existing or possible data node in the key space.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub key: Vec<u8>,
    pub node: Option<NodeId>,
    pub kind: LocationKind,
    /// The lengths of the keys of the enclosing resources, the datastore first; includes the key itself if
    /// it is that of a resource.
    pub boundaries: Vec<usize>,
}

/// A snapshot of a tree with its schema.
#[derive(Clone, Copy)]
pub(crate) struct TreeState<'a> {
    pub snapshot: &'a dyn Snapshot,
    pub compiled: &'a Compiled,
    pub tree: TreeId,
}

impl<'a> TreeState<'a> {
    pub fn new(snapshot: &'a dyn Snapshot, compiled: &'a Compiled, tree: TreeId) -> Self {
        Self {
            snapshot,
            compiled,
            tree,
        }
    }

    /// The schema.
    pub fn schema(&self) -> &'a Schema {
        &self.compiled.schema
    }

    /// The local ids of the schema nodes.
    pub fn layout(&self) -> &'a Layout {
        &self.compiled.layout
    }

    /// The location of a path; `None` if an entry on the path has no key because it does not exist (entries
    /// of lists ordered by user have no key until they are created).
    pub fn locate(&self, path: &InstancePath) -> Result<Option<Location>> {
        let mut place = self.root();
        for step in &path.steps {
            place = match self.step(place, step)? {
                Some(place) => place,
                None => return Ok(None),
            };
        }
        Ok(Some(place))
    }

    /// The datastore itself.
    pub fn root(&self) -> Location {
        let key = self.tree.prefix(Subspace::Tree);
        let boundaries = vec![key.len()];
        Location {
            key,
            node: None,
            kind: LocationKind::Root,
            boundaries,
        }
    }

    /// The location of a child.
    pub fn step(&self, from: Location, step: &Step) -> Result<Option<Location>> {
        let Location {
            mut key,
            mut boundaries,
            kind,
            node: parent,
        } = from;
        let node = self.schema().node(step.node);
        if node.parent != parent || !matches!(kind, LocationKind::Root | LocationKind::Inner) {
            return Err(Error::corrupt("a path does not follow the schema"));
        }
        let kind = match (&node.kind, &step.keys) {
            (NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml, _) => LocationKind::Leaf,
            (NodeKind::List(_) | NodeKind::LeafList(_), Keys::None) => LocationKind::AllEntries,
            (NodeKind::LeafList(_), _) => LocationKind::Entry,
            _ => LocationKind::Inner,
        };
        if kind != LocationKind::Leaf {
            put_local_id(&mut key, self.layout().id(step.node));
            if !self.put_entry(&mut key, step.node, &step.keys)? {
                return Ok(None);
            }
        }
        if kind == LocationKind::Inner {
            boundaries.push(key.len());
        }
        Ok(Some(Location {
            key,
            node: Some(step.node),
            kind,
            boundaries,
        }))
    }

    /// Appends the key part that identifies an entry in its list; false if it has none.
    pub fn put_entry(&self, key: &mut Vec<u8>, node: NodeId, keys: &Keys) -> Result<bool> {
        match keys {
            Keys::None => Ok(true),
            Keys::Values(values) if self.schema().node(node).is_positional() => {
                let Some(position) = self.position(key, values)? else {
                    return Ok(false);
                };
                key.extend_from_slice(&position);
                Ok(true)
            }
            Keys::Values(values) => {
                values.iter().for_each(|value| put_key_value(key, value));
                Ok(true)
            }
            Keys::Position(index) => {
                let Some(entry) = self.entry_at(key, *index)? else {
                    return Ok(false);
                };
                *key = entry;
                Ok(true)
            }
        }
    }

    /// The encoded position of an entry ordered by user; `list` is the key of the whole list.
    pub fn position(&self, list: &[u8], keys: &[Value]) -> Result<Option<Vec<u8>>> {
        let found = self.snapshot.get(&order_key(list, keys))?;
        Ok(found.map(std::borrow::Cow::into_owned))
    }

    /// The key of the entry at an index, from 1, of a list kept in order.
    fn entry_at(&self, list: &[u8], index: u64) -> Result<Option<Vec<u8>>> {
        let range = KeyRange::strictly_below(list);
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        for _ in 1..index {
            let Some((key, _)) = cursor.next()? else {
                return Ok(None);
            };
            let entry = entry_prefix(list, key)?.to_vec();
            if let Some(end) = KeyRange::prefix(&entry).end {
                cursor.seek(&end)?;
            }
        }
        let Some((key, _)) = cursor.next()? else {
            return Ok(None);
        };
        Ok(Some(entry_prefix(list, key)?.to_vec()))
    }

    /// Whether any key lies in a range.
    pub fn any(&self, range: &KeyRange) -> Result<bool> {
        Ok(self
            .snapshot
            .scan(range, Direction::Forward)?
            .next()?
            .is_some())
    }
}

/// The entry's key: the start of a key in a list kept in order.
pub(crate) fn entry_prefix<'k>(list: &[u8], key: &'k [u8]) -> Result<&'k [u8]> {
    let mut rest = &key[list.len()..];
    Position::skip(&mut rest)?;
    Ok(&key[..key.len() - rest.len()])
}

/// Separates the list's key from the key values in the order index. No position begins with it, so the
/// index of a list is never inside that of one of its entries.
const ORDER_INDEX: u8 = 0x01;

/// The order-index key of an entry of a list or leaf-list ordered by user.
pub(crate) fn order_key(list: &[u8], keys: &[Value]) -> Vec<u8> {
    let mut encoded = Vec::new();
    keys.iter()
        .for_each(|value| put_key_value(&mut encoded, value));
    order_key_of(list, &encoded)
}

/// As [`order_key`], with encoded keys.
pub(crate) fn order_key_of(list: &[u8], keys: &[u8]) -> Vec<u8> {
    let mut key = in_subspace(list, Subspace::Order);
    key.push(ORDER_INDEX);
    key.extend_from_slice(keys);
    key
}

/// Whether an order-index key belongs to an entry of this list.
pub(crate) fn is_order_index(list: &[u8], key: &[u8]) -> bool {
    key.get(list.len()) == Some(&ORDER_INDEX)
}

/// The same key in another subspace.
pub(crate) fn in_subspace(key: &[u8], subspace: Subspace) -> Vec<u8> {
    let mut key = key.to_vec();
    key[0] = subspace as u8;
    key
}
