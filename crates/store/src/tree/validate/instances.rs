//! The data of a datastore, as an interface for XPath and validation.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::rc::Rc;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::instances::{Side, Sum, Visit};
use espalier_yang::{Indexed, InstancePath, Instances, NodeId, Schema, Value};

use super::index;
use crate::error::{Error, Result};
use crate::fragment::{Packed, Reader, take_entry_value, take_varint};
use crate::keys::{put_key_value, put_local_id, skip_key_values};
use crate::subspace::Subspace;
use crate::tree::key_nodes::KeyNode;
use crate::tree::locate::{TreeState, order_key};
use crate::tree::read::skip_entry;

/// Number of cached fragments: an expression mostly reads a few leaves of a few entries.
const FRAGMENTS_CACHED: usize = 4;

/// A container, list entry or the root, by its key. Valid in every state of the tree.
#[derive(Clone)]
pub(crate) struct NodeRef(Rc<Inner>);

struct Inner {
    key: Box<[u8]>,
    node: Option<NodeId>,
    parent: Option<NodeRef>,
}

impl NodeRef {
    fn new(key: Vec<u8>, node: Option<NodeId>, parent: Option<Self>) -> Self {
        Self(Rc::new(Inner {
            key: key.into(),
            node,
            parent,
        }))
    }

    /// The key in [`Subspace::Tree`].
    pub fn key(&self) -> &[u8] {
        &self.0.key
    }

    /// The schema node; none for the root.
    pub fn node(&self) -> Option<NodeId> {
        self.0.node
    }
}

impl PartialEq for NodeRef {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.0.key == other.0.key
    }
}

impl Eq for NodeRef {}

impl Hash for NodeRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl fmt::Debug for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({:02x?})", self.key())
    }
}

/// Whether a state has indexes and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexes {
    /// It has them.
    Current,
    /// It has none, or not those of these rules.
    Missing,
}

/// Visits the key and the value of an entry.
pub(in crate::tree) type VisitPair<'v> = dyn FnMut(&[u8], &[u8]) -> Visit<Error> + 'v;

type CachedFragment<'a> = (NodeRef, Option<Cow<'a, [u8]>>);

/// One state of a datastore.
pub(crate) struct StoreInstances<'a> {
    state: TreeState<'a>,
    indexes: Indexes,
    root: NodeRef,
    fragments: RefCell<(usize, [Option<CachedFragment<'a>>; FRAGMENTS_CACHED])>,
}

impl<'a> StoreInstances<'a> {
    pub fn new(state: TreeState<'a>, indexes: Indexes) -> Self {
        Self {
            state,
            indexes,
            root: NodeRef::new(state.tree.prefix(Subspace::Tree), None, None),
            fragments: RefCell::default(),
        }
    }

    /// The node at the end of a path of schema nodes along a key.
    pub fn node_ref_of(&self, key: &[u8], trail: &[KeyNode]) -> NodeRef {
        trail.iter().fold(self.root.clone(), |parent, point| {
            NodeRef::new(key[..point.end].to_vec(), Some(point.node), Some(parent))
        })
    }

    /// The node with a key of the tree; none if the schema no longer has it.
    pub fn node_ref_at(&self, key: &[u8]) -> Result<Option<NodeRef>> {
        let trail = self.state.trail(key)?;
        Ok(trail.map(|trail| self.node_ref_of(key, &trail)))
    }

    /// Reads the fragment of a node.
    fn fragment<R>(
        &self,
        place: &NodeRef,
        read: impl FnOnce(Option<&[u8]>) -> Result<R>,
    ) -> Result<R> {
        if let Some((_, value)) = self
            .fragments
            .borrow()
            .1
            .iter()
            .flatten()
            .find(|(other, _)| other == place)
        {
            return read(value.as_deref());
        }
        let value = self.state.snapshot.get(place.key())?;
        let result = read(value.as_deref());
        let (next, slots) = &mut *self.fragments.borrow_mut();
        slots[*next] = Some((place.clone(), value));
        *next = (*next + 1) % FRAGMENTS_CACHED;
        result
    }

    fn list_key(&self, parent: &NodeRef, list: NodeId) -> Vec<u8> {
        let mut key = Vec::with_capacity(parent.key().len() + 24);
        key.extend_from_slice(parent.key());
        put_local_id(&mut key, self.state.layout().id(list));
        key
    }

    /// Visits the keys of the entries of a list or leaf-list, each with its value.
    fn scan(&self, list: &[u8], node: NodeId, visit: &mut VisitPair<'_>) -> Result<()> {
        let range = KeyRange::strictly_below(list);
        self.scan_entries(list, node, &range, Direction::Forward, visit)
    }

    /// The entry of a list with this key.
    pub fn entry_at(&self, parent: &NodeRef, list: NodeId, key: &[u8]) -> NodeRef {
        NodeRef::new(key.to_vec(), Some(list), Some(parent.clone()))
    }

    /// As [`Self::scan`], for a range of keys. Backward, the value is that of a key inside the entry.
    pub fn scan_entries(
        &self,
        list: &[u8],
        node: NodeId,
        range: &KeyRange,
        direction: Direction,
        visit: &mut VisitPair<'_>,
    ) -> Result<()> {
        let node = self.schema().node(node);
        let mut cursor = self.state.snapshot.scan(range, direction)?;
        let mut entry: Vec<u8> = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            if !entry.is_empty() && key.starts_with(&entry) {
                match (direction, KeyRange::prefix(&entry).end) {
                    (Direction::Forward, Some(end)) => cursor.seek(&end)?,
                    (Direction::Forward, None) => break,
                    // The key of the entry itself comes last.
                    (Direction::Backward, _) if key.len() > entry.len() => cursor.seek(&entry)?,
                    (Direction::Backward, _) => {}
                }
                continue;
            }
            let mut rest = &key[list.len()..];
            skip_entry(node, &mut rest)?;
            entry.clear();
            entry.extend_from_slice(&key[..key.len() - rest.len()]);
            if visit(&entry, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn entry_key(
        &self,
        mut list: Vec<u8>,
        node: NodeId,
        keys: &[Value],
    ) -> Result<Option<Vec<u8>>> {
        let node = self.schema().node(node);
        if node.is_positional() {
            let position = self.state.snapshot.get(&order_key(&list, keys))?;
            let Some(position) = position else {
                return Ok(None);
            };
            list.extend_from_slice(&position);
        } else {
            keys.iter()
                .for_each(|value| put_key_value(&mut list, value));
        }
        Ok(Some(list))
    }

    fn is_positional_state(&self, node: NodeId) -> bool {
        let node = self.schema().node(node);
        node.is_positional() && !node.is_config
    }

    /// Visits the nodes in an index range.
    fn visit_index(
        &self,
        prefix: Vec<u8>,
        within: &NodeRef,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        let tree = self.root.key().len();
        let mut start = prefix.clone();
        start.extend_from_slice(&within.key()[tree..]);
        let range = KeyRange::prefix(&start);
        let mut cursor = self.state.snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let place = [self.root.key(), &key[prefix.len()..]].concat();
            if let Some(place) = self.node_ref_at(&place)?
                && visit(place)?.is_break()
            {
                break;
            }
        }
        Ok(Indexed::Yes)
    }
}

impl Instances for StoreInstances<'_> {
    type Inner = NodeRef;
    type Error = Error;

    fn schema(&self) -> &Schema {
        self.state.schema()
    }

    fn root(&self) -> NodeRef {
        self.root.clone()
    }

    fn node(&self, inner: &NodeRef) -> Option<NodeId> {
        inner.node()
    }

    fn parent(&self, inner: &NodeRef) -> Option<NodeRef> {
        inner.0.parent.clone()
    }

    fn path(&self, inner: &NodeRef) -> Result<InstancePath> {
        let trail = self.state.trail(inner.key())?.unwrap_or_default();
        self.state.path_of(inner.key(), &trail)
    }

    fn is_stored(&self, inner: &NodeRef) -> Result<bool> {
        let Some(node) = inner.node() else {
            return Ok(true);
        };
        if self.schema().node(node).is_np_container() {
            return self.state.any(&KeyRange::prefix(inner.key()));
        }
        self.fragment(inner, |value| Ok(value.is_some()))
    }

    fn container(&self, parent: &NodeRef, node: NodeId) -> NodeRef {
        let key = self.list_key(parent, node);
        NodeRef::new(key, Some(node), Some(parent.clone()))
    }

    fn leaf(&self, parent: &NodeRef, node: NodeId) -> Result<Option<Value>> {
        let id = self.state.layout().id(node);
        self.fragment(parent, |value| {
            let Some(value) = value else {
                return Ok(None);
            };
            Ok(Reader::new(value).find(id)?.map(|packed| match packed {
                Packed::Value(value) => value,
                Packed::Any(_) => Value::Empty,
            }))
        })
    }

    fn entries(
        &self,
        parent: &NodeRef,
        list: NodeId,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<()> {
        let key = self.list_key(parent, list);
        self.scan(&key, list, &mut |entry, _| {
            let place = NodeRef::new(entry.to_vec(), Some(list), Some(parent.clone()));
            visit(place)
        })
    }

    fn entry(&self, parent: &NodeRef, list: NodeId, keys: &[Value]) -> Result<Option<NodeRef>> {
        let Some(key) = self.entry_key(self.list_key(parent, list), list, keys)? else {
            return Ok(None);
        };
        let place = NodeRef::new(key, Some(list), Some(parent.clone()));
        Ok(self.is_stored(&place)?.then_some(place))
    }

    fn values(
        &self,
        parent: &NodeRef,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<Error>,
    ) -> Result<()> {
        let key = self.list_key(parent, leaf_list);
        self.scan(&key, leaf_list, &mut |_, value| {
            visit(take_entry_value(value)?)
        })
    }

    fn has_value(&self, parent: &NodeRef, leaf_list: NodeId, value: &Value) -> Result<bool> {
        if self.is_positional_state(leaf_list) {
            let mut is_found = false;
            self.values(parent, leaf_list, &mut |other| {
                is_found = other == *value;
                Ok(match is_found {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            })?;
            return Ok(is_found);
        }
        let list = self.list_key(parent, leaf_list);
        match self.entry_key(list, leaf_list, std::slice::from_ref(value))? {
            Some(key) => Ok(self.state.snapshot.get(&key)?.is_some()),
            None => Ok(false),
        }
    }

    fn count(&self, parent: &NodeRef, node: NodeId) -> Result<u64> {
        let list = self.list_key(parent, node);
        if self.indexes == Indexes::Current && self.state.compiled.plan().is_counted(node) {
            let count = self.state.snapshot.get(&index::count_key(&list))?;
            return count.map_or(Ok(0), |count| take_varint(&mut &*count));
        }
        let mut count = 0;
        self.scan(&list, node, &mut |_, _| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    fn find(
        &self,
        within: &NodeRef,
        node: NodeId,
        value: &Value,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        if self.indexes == Indexes::Missing || !self.state.compiled.plan().is_indexed(node) {
            return Ok(Indexed::No);
        }
        let mut prefix = index::values_prefix(&self.state, node);
        put_key_value(&mut prefix, value);
        self.visit_index(prefix, within, visit)
    }

    fn nodes_with_value(
        &self,
        node: NodeId,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        if self.indexes == Indexes::Missing || !self.state.compiled.plan().is_indexed(node) {
            return Ok(Indexed::No);
        }
        let prefix = index::values_prefix(&self.state, node);
        let range = KeyRange::prefix(&prefix);
        let mut cursor = self.state.snapshot.scan(&range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let mut place = &key[prefix.len()..];
            skip_key_values(&mut place, 1)?;
            if let Some(place) = self.node_ref_at(&[self.root.key(), place].concat())?
                && visit(place)?.is_break()
            {
                break;
            }
        }
        Ok(Indexed::Yes)
    }

    fn adjacent_entries(
        &self,
        entry: &NodeRef,
        side: Side,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        let (Some(node), Some(parent)) = (entry.node(), self.parent(entry)) else {
            return Ok(Indexed::No);
        };
        let list = self.list_key(&parent, node);
        let mut range = KeyRange::strictly_below(&list);
        let direction = match side {
            Side::Before => {
                range.end = Some(entry.key().to_vec());
                Direction::Backward
            }
            Side::After => {
                range.start = KeyRange::prefix(entry.key()).end.unwrap_or(range.start);
                Direction::Forward
            }
        };
        self.scan_entries(&list, node, &range, direction, &mut |entry, _| {
            visit(NodeRef::new(
                entry.to_vec(),
                Some(node),
                Some(parent.clone()),
            ))
        })?;
        Ok(Indexed::Yes)
    }

    fn sum(&self, parent: &NodeRef, list: NodeId, leaf: NodeId) -> Result<Option<Sum>> {
        if self.indexes == Indexes::Missing || !self.state.compiled.plan().is_summed(leaf) {
            return Ok(None);
        }
        let key = index::sum_key(&self.state, leaf, &self.list_key(parent, list));
        let stored = self.state.snapshot.get(&key)?;
        stored
            .map_or(Ok(Sum::default()), |sum| index::decode_sum(&sum))
            .map(Some)
    }

    fn extremes(
        &self,
        parent: &NodeRef,
        list: NodeId,
        leaf: NodeId,
    ) -> Result<Option<Option<(Value, Value)>>> {
        if self.indexes == Indexes::Missing || !self.state.compiled.plan().is_ordered(leaf) {
            return Ok(None);
        }
        let list_key = self.list_key(parent, list);
        let prefix = index::ordered_prefix(&self.state, leaf, &list_key);
        let range = KeyRange::prefix(&prefix);
        let mut values = [None, None];
        for (direction, value) in [Direction::Forward, Direction::Backward]
            .into_iter()
            .zip(&mut values)
        {
            let mut cursor = self.state.snapshot.scan(&range, direction)?;
            let Some((key, _)) = cursor.next()? else {
                return Ok(Some(None));
            };
            let mut entry = &key[prefix.len()..];
            skip_key_values(&mut entry, 1)?;
            let entry = NodeRef::new(
                [&list_key, entry].concat(),
                Some(list),
                Some(parent.clone()),
            );
            *value = self.leaf(&entry, leaf)?;
        }
        let [Some(least), Some(most)] = values else {
            return Err(Error::corrupt(
                "the index of values in order names an entry without a value",
            ));
        };
        Ok(Some(Some((least, most))))
    }

    /// Keys sort in the order of entries.
    fn compare_entries(&self, left: &NodeRef, right: &NodeRef) -> Option<Ordering> {
        Some(left.key().cmp(right.key()))
    }

    fn find_entries(
        &self,
        parent: &NodeRef,
        list: NodeId,
        unique: usize,
        values: &[Value],
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        if self.indexes == Indexes::Missing {
            return Ok(Indexed::No);
        }
        let mut prefix = index::unique_prefix(&self.state, list, unique);
        values
            .iter()
            .for_each(|value| put_key_value(&mut prefix, value));
        let place = self.list_key(parent, list);
        let within = NodeRef::new(place, Some(list), Some(parent.clone()));
        self.visit_index(prefix, &within, visit)
    }
}
