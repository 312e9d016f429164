//! Indexes and counts, so that validation need not scan lists.
//!
//! | range | key after the tree's prefix | value |
//! |---|---|---|
//! | index | the local ids from the root to a leaf or leaf-list, `ff`, `00`, a value, the key of the node that contains it | empty |
//! | index | the local ids to a leaf in a list, `ff`, `01`, the key of the list, a value, the rest of the entry | empty |
//! | index | the local ids to a leaf in a list, `ff`, `02`, the key of the list | the sum of the leaf and that of its absolute values, 16 bytes each |
//! | index | the local ids to a list, `ff`, 1 + the number of a `unique`, its values, the entry | empty |
//! | index | `ff` | the definition of these indexes |
//! | count | the key of a list or leaf-list | the number of its entries |
//!
//! Keys are without the prefix of the tree. The [`ValidationPlan`] of the schema defines the indexed leaves: leafrefs
//! and their targets, and leaves that expressions compare.
//!
//! [`ValidationPlan`]: espalier_yang::validate::ValidationPlan

use std::collections::BTreeMap;

use espalier_keyspace::Snapshot;
use espalier_yang::instances::Sum;
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, NodeKind, Value};

use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Packed, put_varint, take_entry_value, take_varint};
use crate::keys::{TreeId, put_key_value, put_local_id};
use crate::subspace::Subspace;
use crate::tree::change::KeyChange;
use crate::tree::key_nodes::KeyNodes;
use crate::tree::locate::{TreeState, in_subspace};

/// Ends the local ids; none begins with it.
const END_OF_IDS: u8 = 0xff;

/// An index of values, not of a `unique`.
const VALUES: u8 = 0;

/// An ordered index of the values of a leaf, for each list. (A `unique` belongs to a list, not to a leaf.)
const ORDERED: u8 = 1;

// Stored, because reading 100,000 entries takes 60 to 240 ms: docs/decisions/0022.
/// The sums of a leaf.
const SUM: u8 = 2;

/// The key of the count of a list.
pub(super) fn count_key(list: &[u8]) -> Vec<u8> {
    in_subspace(list, Subspace::Count)
}

fn node_prefix(state: &TreeState<'_>, node: NodeId) -> Vec<u8> {
    let mut path: Vec<NodeId> =
        std::iter::successors(Some(node), |&node| state.schema().node(node).parent).collect();
    path.reverse();
    let mut key = state.tree.prefix(Subspace::Index);
    for node in path {
        put_local_id(&mut key, state.layout().id(node));
    }
    key.push(END_OF_IDS);
    key
}

/// The prefix of the index keys of a leaf or leaf-list, up to the value.
pub(super) fn values_prefix(state: &TreeState<'_>, node: NodeId) -> Vec<u8> {
    let mut key = node_prefix(state, node);
    key.push(VALUES);
    key
}

/// The prefix of the ordered index of a leaf in the list with this key, up to the value.
pub(super) fn ordered_prefix(state: &TreeState<'_>, leaf: NodeId, list: &[u8]) -> Vec<u8> {
    list_index_key(state, leaf, ORDERED, list)
}

/// The key of the sum of a leaf in the list with this key.
pub(super) fn sum_key(state: &TreeState<'_>, leaf: NodeId, list: &[u8]) -> Vec<u8> {
    list_index_key(state, leaf, SUM, list)
}

fn list_index_key(state: &TreeState<'_>, leaf: NodeId, kind: u8, list: &[u8]) -> Vec<u8> {
    let mut key = node_prefix(state, leaf);
    key.push(kind);
    key.extend_from_slice(&list[state.tree.prefix(Subspace::Tree).len()..]);
    key
}

/// Encodes a sum.
pub(super) fn encode_sum(sum: Sum) -> Vec<u8> {
    [sum.total.to_be_bytes(), sum.absolute.to_be_bytes()].concat()
}

/// Decodes a sum.
pub(super) fn decode_sum(bytes: &[u8]) -> Result<Sum> {
    let corrupt = || Error::corrupt("a sum is not 32 bytes long");
    let (total, absolute) = bytes.split_first_chunk::<16>().ok_or_else(corrupt)?;
    Ok(Sum {
        total: i128::from_be_bytes(*total),
        absolute: u128::from_be_bytes(absolute.try_into().map_err(|_| corrupt())?),
    })
}

/// The prefix of the index keys of a `unique`, up to the values.
pub(super) fn unique_prefix(state: &TreeState<'_>, list: NodeId, unique: usize) -> Vec<u8> {
    let mut key = node_prefix(state, list);
    key.push((unique as u8).saturating_add(1));
    key
}

/// The key of the index definition.
pub(in crate::tree) fn definition_key(tree: TreeId) -> Vec<u8> {
    let mut key = tree.prefix(Subspace::Index);
    key.push(END_OF_IDS);
    key
}

/// Differences of sums, by key.
pub(super) type SumDifferences = BTreeMap<Vec<u8>, SumDifference>;

/// The difference of a sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SumDifference {
    total: i128,
    absolute: i128,
}

impl SumDifference {
    /// Adds or subtracts a value.
    fn add(&mut self, value: Sum, is_present: bool) {
        let absolute = i128::try_from(value.absolute).unwrap_or(i128::MAX);
        let sign = if is_present { 1 } else { -1 };
        self.total = self.total.saturating_add(sign * value.total);
        self.absolute = self.absolute.saturating_add(sign * absolute);
    }

    /// Adds another difference.
    pub fn merge(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.absolute = self.absolute.saturating_add(other.absolute);
    }

    /// The sum after the difference.
    pub fn apply(self, sum: Sum) -> Sum {
        Sum {
            total: sum.total.saturating_add(self.total),
            absolute: sum.absolute.saturating_add_signed(self.absolute),
        }
    }
}

/// Differences of counts, by key.
pub(super) type CountDifferences = BTreeMap<Vec<u8>, i64>;

/// The updates of indexes and counts for changes of the data.
#[derive(Default)]
pub(super) struct Updates {
    /// Index entries by key, and whether they exist now.
    entries: BTreeMap<Vec<u8>, bool>,
    counts: CountDifferences,
    sums: SumDifferences,
    /// Entries whose values of a `unique` may differ: list, number of the `unique`, key; with their old
    /// index key.
    uniques: BTreeMap<(NodeId, usize, Vec<u8>), Option<Vec<u8>>>,
}

impl Updates {
    /// Records a change of a tree key.
    pub fn record(
        &mut self,
        state: &TreeState<'_>,
        change: &KeyChange<'_>,
        trail: &KeyNodes,
    ) -> Result<()> {
        let plan = state.compiled.plan();
        let last = trail.last();
        let node = last.map(|point| state.schema().node(point.node));
        if let (Some(point), Some(node)) = (last, node)
            && plan.is_counted(node.id)
            && change.old.is_some() != change.new.is_some()
        {
            let key = count_key(&change.key[..point.list]);
            let difference = if change.new.is_some() { 1 } else { -1 };
            *self.counts.entry(key).or_default() += difference;
        }
        match node {
            Some(node) if node.is_leaf_list() => self.record_value(state, change, trail, node),
            _ => self.record_fragment(state, change, trail),
        }
    }

    fn record_value(
        &mut self,
        state: &TreeState<'_>,
        change: &KeyChange<'_>,
        trail: &KeyNodes,
        node: &Node,
    ) -> Result<()> {
        if !state.compiled.plan().is_indexed(node.id) {
            return Ok(());
        }
        let holder = trail.len().checked_sub(2).map(|above| trail[above].end);
        let holder = holder.unwrap_or_else(|| state.tree.prefix(Subspace::Tree).len());
        for (value, is_present) in [(change.old, false), (change.new, true)] {
            if let Some(value) = value {
                let value = take_entry_value(value)?;
                self.put_value(state, node.id, &value, &change.key[..holder], is_present);
            }
        }
        Ok(())
    }

    fn record_fragment(
        &mut self,
        state: &TreeState<'_>,
        change: &KeyChange<'_>,
        trail: &KeyNodes,
    ) -> Result<()> {
        let plan = state.compiled.plan();
        let node = trail.last().map(|point| point.node);
        if !plan.has_indexed_leaves(node) {
            return Ok(());
        }
        let leaves = |value: Option<&[u8]>| match value {
            Some(value) => Fragment::decode(value, 0),
            None => Ok(Fragment::default()),
        };
        let (old, new) = (leaves(change.old)?, leaves(change.new)?);
        for (leaves, others, is_present) in [(&old, &new, false), (&new, &old, true)] {
            for (id, packed) in &leaves.leaves {
                let Some(leaf) = state.layout().child(node, *id) else {
                    continue;
                };
                if others.get(*id) == Some(packed) {
                    continue;
                }
                let Packed::Value(value) = packed else {
                    continue;
                };
                if plan.is_indexed(leaf) {
                    self.put_value(state, leaf, value, change.key, is_present);
                }
                if let Some(point) = trail.last() {
                    let list = &change.key[..point.list];
                    self.put_aggregates(state, (leaf, value), list, change.key, is_present);
                }
            }
        }
        Ok(())
    }

    /// Records the old `unique` index keys of the entries that a tree key belongs to, before it changes.
    /// None if the entries are new.
    pub fn record_old_uniques(
        &mut self,
        before: Option<&TreeState<'_>>,
        state: &TreeState<'_>,
        key: &[u8],
        trail: &KeyNodes,
    ) -> Result<()> {
        let node = trail.last().map(|point| point.node);
        if !state.compiled.plan().has_indexed_leaves(node) {
            return Ok(());
        }
        for (depth, point) in trail.iter().enumerate() {
            let Some(list) = state.schema().node(point.node).as_list() else {
                continue;
            };
            let is_near = |node: NodeId| !state.schema().node(node).is_list();
            if !trail[depth + 1..].iter().all(|point| is_near(point.node)) {
                continue;
            }
            for unique in 0..list.unique.len() {
                let entry = (point.node, unique, key[..point.end].to_vec());
                if let std::collections::btree_map::Entry::Vacant(slot) = self.uniques.entry(entry)
                {
                    let before = match before {
                        Some(before) => unique_key(before, point.node, unique, &key[..point.end])?,
                        None => None,
                    };
                    slot.insert(before);
                }
            }
        }
        Ok(())
    }

    /// Records a value of a leaf for the ordered index and the sum of its list.
    fn put_aggregates(
        &mut self,
        state: &TreeState<'_>,
        (leaf, value): (NodeId, &Value),
        list: &[u8],
        entry: &[u8],
        is_present: bool,
    ) {
        let plan = state.compiled.plan();
        if plan.is_ordered(leaf) {
            let mut key = ordered_prefix(state, leaf, list);
            put_key_value(&mut key, value);
            key.extend_from_slice(&entry[list.len()..]);
            *self.entries.entry(key).or_default() |= is_present;
        }
        if plan.is_summed(leaf)
            && let Some(value) = Sum::of(value)
        {
            let sum = self.sums.entry(sum_key(state, leaf, list)).or_default();
            sum.add(value, is_present);
        }
    }

    fn put_value(
        &mut self,
        state: &TreeState<'_>,
        leaf: NodeId,
        value: &Value,
        holder: &[u8],
        is_present: bool,
    ) {
        let mut key = values_prefix(state, leaf);
        put_key_value(&mut key, value);
        key.extend_from_slice(&holder[state.tree.prefix(Subspace::Tree).len()..]);
        // A value that is removed from one position of its list and added at another still exists.
        *self.entries.entry(key).or_default() |= is_present;
    }

    /// Computes the remaining updates and passes every key with its new value to `put`.
    pub fn finish(
        mut self,
        new: &TreeState<'_>,
        put: &mut dyn FnMut(Vec<u8>, Option<Vec<u8>>) -> Result<()>,
    ) -> Result<()> {
        self.resolve_uniques(new)?;
        for (key, is_present) in self.entries {
            put(key, is_present.then(Vec::new))?;
        }
        for (key, difference) in self.sums {
            let stored = new.snapshot.get(&key)?;
            let sum = stored.map_or(Ok(Sum::default()), |sum| decode_sum(&sum))?;
            let sum = difference.apply(sum);
            put(key, (sum != Sum::default()).then(|| encode_sum(sum)))?;
        }
        for (key, difference) in self.counts {
            let stored = new.snapshot.get(&key)?;
            let count = stored.map_or(Ok(0), |count| take_varint(&mut &*count))?;
            let count = count.saturating_add_signed(difference);
            let mut value = Vec::new();
            put_varint(&mut value, count);
            put(key, (count > 0).then_some(value))?;
        }
        Ok(())
    }

    fn resolve_uniques(&mut self, new: &TreeState<'_>) -> Result<()> {
        for ((list, unique, entry), before) in std::mem::take(&mut self.uniques) {
            let after = unique_key(new, list, unique, &entry)?;
            if before != after {
                self.entries.extend(before.map(|key| (key, false)));
                self.entries.extend(after.map(|key| (key, true)));
            }
        }
        Ok(())
    }

    /// The index keys that must exist for the recorded changes, and the differences of counts and sums.
    pub fn expected(
        mut self,
        new: &TreeState<'_>,
    ) -> Result<(
        impl Iterator<Item = Vec<u8>>,
        CountDifferences,
        SumDifferences,
    )> {
        self.resolve_uniques(new)?;
        let entries = self.entries.into_iter();
        let keys = entries.filter_map(|(key, is_present)| is_present.then_some(key));
        Ok((keys, self.counts, self.sums))
    }

    /// Approximate number of keys to write.
    pub fn len(&self) -> usize {
        self.entries.len() + self.counts.len() + self.sums.len() + self.uniques.len()
    }
}

/// The index key of an entry for a `unique`, if it has all values. Defaults count even if they are not in
/// use: lookups compare the values again.
fn unique_key(
    state: &TreeState<'_>,
    list: NodeId,
    unique: usize,
    entry: &[u8],
) -> Result<Option<Vec<u8>>> {
    let schema = state.schema();
    let leaves = schema.node(list).as_list().map(|list| &list.unique[unique]);
    if state.snapshot.get(entry)?.is_none() {
        return Ok(None);
    }
    let mut key = unique_prefix(state, list, unique);
    for &leaf in leaves.into_iter().flatten() {
        let holder = holder_key(state, list, leaf, entry);
        let value = stored_leaf(state, &holder, leaf)?;
        let default = match &schema.node(leaf).kind {
            NodeKind::Leaf(leaf) => leaf.defaults.first().cloned(),
            _ => None,
        };
        match value.or(default) {
            Some(value) => put_key_value(&mut key, &value),
            None => return Ok(None),
        }
    }
    key.extend_from_slice(&entry[state.tree.prefix(Subspace::Tree).len()..]);
    Ok(Some(key))
}

/// The key of the container in an entry that contains a leaf.
fn holder_key(state: &TreeState<'_>, list: NodeId, leaf: NodeId, entry: &[u8]) -> Vec<u8> {
    let above = |&node: &NodeId| state.schema().node(node).parent;
    let path = std::iter::successors(state.schema().node(leaf).parent, above);
    let mut containers: Vec<NodeId> = path.take_while(|&node| node != list).collect();
    containers.reverse();
    let mut key = entry.to_vec();
    for container in containers {
        put_local_id(&mut key, state.layout().id(container));
    }
    key
}

fn stored_leaf(state: &TreeState<'_>, holder: &[u8], leaf: NodeId) -> Result<Option<Value>> {
    let Some(value) = state.snapshot.get(holder)? else {
        return Ok(None);
    };
    let id = state.layout().id(leaf);
    let packed = crate::fragment::Reader::new(&value).find(id)?;
    Ok(packed.and_then(|packed| match packed {
        Packed::Value(value) => Some(value),
        Packed::Any(_) => None,
    }))
}

/// Whether a state has the indexes that the rules of a schema need.
pub(in crate::tree) fn are_indexes_current(
    compiled: &Compiled,
    tree: TreeId,
    snapshot: &dyn Snapshot,
) -> Result<bool> {
    let definition = compiled.index_definition();
    if definition.is_empty() {
        return Ok(true);
    }
    let stored = snapshot.get(&definition_key(tree))?;
    Ok(stored.as_deref() == Some(definition))
}
