//! A state of the tree in which entries of lists ordered by user are keyed by their list keys.
//!
//! In the store, such an entry has two keys: its own, which contains its position, and one in the order
//! index, which maps its list keys to the position. A merge cannot use positions: one entry has different
//! positions in the merged states, and one position belongs to different entries. The merge therefore reads
//! every state through this view. A *named* key contains the list keys in place of the position, as in
//! sorted lists, and the order-index key of an entry is the named key of the entry in [`Subspace::Order`]:
//! the position is one more value of the entry, next to its leaves and content.
//!
//! State data with a position but no row in the order index (RFC 7950 §7.8.2: lists without keys) keeps
//! its positions in named keys.

use std::borrow::Cow;

use espalier_keyspace::{
    Cursor, Direction, ErrorKind, KeyRange, Result as EngineResult, Snapshot, Version,
};
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, NodeKind};

use super::row_cursor::RowCursor;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Packed, take_entry_value};
use crate::keys::{put_key_value, put_local_id, skip_key_values, take_local_id};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::key_nodes::{KeyNode, KeyNodes};
use crate::tree::locate::{TreeState, in_subspace, order_key};
use crate::tree::skip_entry;

/// How a merge identifies entries ordered by user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryIdentity {
    /// By position, as stored. Correct only if no side changed a position; costs nothing.
    ByPosition,
    /// By their list keys.
    ByKeys,
}

/// A state read by named keys.
#[derive(Clone, Copy)]
pub(super) struct NamedState<'a> {
    /// The stored state.
    pub stored: TreeState<'a>,
    pub identity: EntryIdentity,
}

/// A prefix of a key that ends at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boundary {
    pub length: usize,
    /// The node; none for the datastore.
    pub node: Option<NodeId>,
    /// Whether the prefix ends before the part that identifies the entries of the node.
    pub is_list_prefix: bool,
}

/// Returns the position of a named entry.
type Lookup<'l> = &'l dyn Fn(&[u8]) -> Result<Option<Vec<u8>>>;

impl<'a> NamedState<'a> {
    /// Whether the entries of a node have rows in the order index, and list keys instead of positions in
    /// named keys.
    pub fn is_indexed(&self, node: &Node) -> bool {
        let has_keys = match &node.kind {
            NodeKind::List(list) => !list.keys.is_empty(),
            _ => true,
        };
        self.identity == EntryIdentity::ByKeys && node.is_config && node.is_positional() && has_keys
    }

    fn child(&self, parent: Option<NodeId>, rest: &mut &[u8]) -> Result<Option<&'a Node>> {
        let id = take_local_id(rest)?;
        let node = self.stored.layout().child(parent, id);
        Ok(node.map(|node| self.stored.schema().node(node)))
    }

    fn root_length(&self) -> usize {
        self.stored.tree.prefix(Subspace::Tree).len()
    }

    /// Skips the part of a named key that identifies an entry.
    fn skip_named(&self, node: &Node, rest: &mut &[u8]) -> Result<()> {
        if self.is_indexed(node) {
            return skip_key_values(rest, node.keys().len().max(1));
        }
        skip_entry(node, rest)
    }

    /// The nodes on the path of a named key; none if one of them is no longer in the schema.
    pub fn trail(&self, named: &[u8]) -> Result<Option<KeyNodes>> {
        let mut trail = KeyNodes::new();
        let mut at = self.root_length();
        while at < named.len() {
            let mut rest = &named[at..];
            let parent = trail.last().map(|point: &KeyNode| point.node);
            let Some(node) = self.child(parent, &mut rest)? else {
                return Ok(None);
            };
            let list = named.len() - rest.len();
            self.skip_named(node, &mut rest)?;
            at = named.len() - rest.len();
            trail.push(KeyNode {
                node: node.id,
                list,
                end: at,
            });
        }
        Ok(Some(trail))
    }

    /// The named key of the list that contains a named entry.
    pub fn list_of<'k>(&self, entry: &'k [u8]) -> Result<Option<&'k [u8]>> {
        let trail = self.trail(entry)?;
        let own = trail.and_then(|trail| trail.last().copied());
        Ok(own.map(|own| &entry[..own.list]))
    }

    /// The nodes on the path of a stored or named key, as far as it can be decoded; the datastore first.
    pub fn boundaries(&self, key: &[u8], identity: EntryIdentity) -> Vec<Boundary> {
        let of = Self { identity, ..*self };
        let mut at = of.root_length();
        let mut boundaries = vec![Boundary {
            length: at,
            node: None,
            is_list_prefix: false,
        }];
        while at < key.len() {
            let mut rest = &key[at..];
            let parent = boundaries.last().and_then(|boundary| boundary.node);
            let Ok(Some(node)) = of.child(parent, &mut rest) else {
                break;
            };
            let is_entries = node.is_list() || node.is_leaf_list();
            let mut push = |rest: &[u8], is_list_prefix| {
                boundaries.push(Boundary {
                    length: key.len() - rest.len(),
                    node: Some(node.id),
                    is_list_prefix,
                });
            };
            if is_entries {
                push(rest, true);
            }
            let list = key.len() - rest.len();
            if node.is_positional() && crate::tree::is_order_index(&key[..list], key) {
                break;
            }
            if of.skip_named(node, &mut rest).is_err() {
                break;
            }
            push(rest, false);
            at = key.len() - rest.len();
        }
        boundaries
    }

    /// The parts of a range that lie in the children of the node that encloses it.
    pub fn children_in(&self, range: &KeyRange, boundary: &Boundary) -> Vec<KeyRange> {
        let layout = self.stored.layout();
        let children = layout.children(boundary.node).map(|child| {
            let mut key = range.start[..boundary.length].to_vec();
            put_local_id(&mut key, layout.id(child));
            KeyRange::prefix(&key).intersection(range)
        });
        children.filter(|part| !part.is_empty()).collect()
    }

    /// The named key of a stored key; none if an entry on the path does not exist.
    pub fn name(&self, stored: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.identity == EntryIdentity::ByPosition {
            return Ok(Some(stored.to_vec()));
        }
        let mut at = self.root_length();
        let mut named = stored[..at.min(stored.len())].to_vec();
        let mut parent = None;
        while at < stored.len() {
            let mut rest = &stored[at..];
            let Some(node) = self.child(parent, &mut rest)? else {
                return Ok(None);
            };
            let list = stored.len() - rest.len();
            named.extend_from_slice(&stored[at..list]);
            if rest.is_empty() {
                break;
            }
            if crate::tree::is_order_index(&stored[..list], stored) && node.is_positional() {
                // The list keys follow the byte that marks the index.
                let keys = if self.is_indexed(node) { 1 } else { 0 };
                named.extend_from_slice(&rest[keys..]);
                return Ok(Some(named));
            }
            let is_indexed = self.is_indexed(node);
            match is_indexed {
                true => Position::skip(&mut rest)?,
                false => skip_entry(node, &mut rest)?,
            }
            let end = stored.len() - rest.len();
            if is_indexed {
                let entry = in_subspace(&stored[..end], Subspace::Tree);
                let Some(value) = self.stored.snapshot.get(&entry)? else {
                    return Ok(None);
                };
                named.extend_from_slice(&list_keys(node, &value)?);
            } else {
                named.extend_from_slice(&stored[list..end]);
            }
            at = end;
            parent = Some(node.id);
        }
        Ok(Some(named))
    }

    /// The stored key of a named key; none if an entry on the path does not exist.
    pub fn stored_key(&self, named: &[u8]) -> Result<Option<Vec<u8>>> {
        self.stored_key_with(named, &|entry| self.position(entry))
    }

    /// The position of a named entry.
    pub fn position(&self, entry: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(row) = self.stored_key(&in_subspace(entry, Subspace::Order))? else {
            return Ok(None);
        };
        let found = self.stored.snapshot.get(&row)?;
        Ok(found.map(Cow::into_owned))
    }

    /// The stored key of a named key, with the positions that `lookup` returns.
    pub fn stored_key_with(&self, named: &[u8], lookup: Lookup<'_>) -> Result<Option<Vec<u8>>> {
        if self.identity == EntryIdentity::ByPosition {
            return Ok(Some(named.to_vec()));
        }
        let is_order = named[0] == Subspace::Order as u8;
        let mut at = self.root_length();
        let mut stored = named[..at.min(named.len())].to_vec();
        let mut parent = None;
        while at < named.len() {
            let mut rest = &named[at..];
            let Some(node) = self.child(parent, &mut rest)? else {
                return Ok(None);
            };
            let list = named.len() - rest.len();
            stored.extend_from_slice(&named[at..list]);
            if rest.is_empty() {
                break;
            }
            if !self.is_indexed(node) {
                if node.is_positional() && crate::tree::is_order_index(&named[..list], named) {
                    stored.extend_from_slice(rest);
                    break;
                }
                skip_entry(node, &mut rest)?;
                at = named.len() - rest.len();
                stored.extend_from_slice(&named[list..at]);
                parent = Some(node.id);
                continue;
            }
            self.skip_named(node, &mut rest)?;
            at = named.len() - rest.len();
            if is_order && rest.is_empty() {
                stored = order_key(&stored, &[]);
                stored.extend_from_slice(&named[list..]);
                break;
            }
            let Some(position) = lookup(&in_subspace(&named[..at], Subspace::Tree))? else {
                return Ok(None);
            };
            stored.extend_from_slice(&position);
            parent = Some(node.id);
        }
        Ok(Some(stored))
    }

    /// The prefixes of the stored keys at and below a named key.
    pub fn stored_prefixes(&self, named: &[u8]) -> Result<Vec<Vec<u8>>> {
        let Some(own) = self.stored_key(named)? else {
            return Ok(Vec::new());
        };
        let mut places = vec![own];
        if self.identity == EntryIdentity::ByKeys
            && named[0] == Subspace::Order as u8
            && let Some(inner) = self.stored_key(&in_subspace(named, Subspace::Tree))?
        {
            let inner = in_subspace(&inner, Subspace::Order);
            if inner != places[0] {
                places.push(inner);
            }
        }
        Ok(places)
    }

    /// Whether any key is at or below a named key.
    pub fn any(&self, named: &[u8]) -> Result<bool> {
        for place in self.stored_prefixes(named)? {
            if self.stored.any(&KeyRange::prefix(&place))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rows of a range of named keys, in order.
    pub fn rows(&self, range: &KeyRange) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let boundaries = self.boundaries(&range.start, self.identity);
        let boundary = boundaries
            .iter()
            .rev()
            .find(|boundary| is_within(range, &range.start[..boundary.length]));
        let length = boundary.map_or(self.root_length(), |boundary| boundary.length);
        let mut rows = Vec::new();
        for place in self.stored_prefixes(&range.start[..length])? {
            let all = KeyRange::prefix(&place);
            let mut cursor = self.stored.snapshot.scan(&all, Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                let named = self.name(key)?.filter(|named| range.contains(named));
                if let Some(named) = named {
                    rows.push((named, value.to_vec()));
                }
            }
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

/// Whether every key of a range starts with a prefix.
pub(super) fn is_within(range: &KeyRange, prefix: &[u8]) -> bool {
    let whole = KeyRange::prefix(prefix);
    range.start.starts_with(prefix)
        && match (&range.end, &whole.end) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(end), Some(last)) => end <= last,
        }
}

/// The list keys of an entry, encoded as in keys.
pub(super) fn list_keys(node: &Node, value: &[u8]) -> Result<Vec<u8>> {
    let mut keys = Vec::new();
    if node.is_leaf_list() {
        put_key_value(&mut keys, &take_entry_value(value)?);
        return Ok(keys);
    }
    let count = node.keys().len();
    for (_, packed) in Fragment::decode(value, count)?.leaves.iter().take(count) {
        match packed {
            Packed::Value(value) => put_key_value(&mut keys, value),
            Packed::Any(_) => return Err(Error::corrupt("a key of a list entry holds anydata")),
        }
    }
    Ok(keys)
}

impl Snapshot for NamedState<'_> {
    fn version(&self) -> Version {
        self.stored.snapshot.version()
    }

    fn get(&self, key: &[u8]) -> EngineResult<Option<Cow<'_, [u8]>>> {
        match self.stored_key(key).map_err(engine_error)? {
            Some(place) => self.stored.snapshot.get(&place),
            None => Ok(None),
        }
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> EngineResult<Box<dyn Cursor + '_>> {
        if self.identity == EntryIdentity::ByPosition {
            return self.stored.snapshot.scan(range, direction);
        }
        let rows = self.rows(range).map_err(engine_error)?;
        Ok(Box::new(RowCursor::new(rows, direction)))
    }
}

/// Converts an error to one of the engine, as [`Snapshot`] requires.
fn engine_error(error: Error) -> espalier_keyspace::Error {
    match error {
        Error::Engine(error) => error,
        other => espalier_keyspace::Error::new(ErrorKind::Corrupt, other.to_string()),
    }
}
