//! Document order (XPath 1.0 §5): siblings in schema order, entries in the order of the storage.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::evaluator::CONTINUE;
use super::paths::Order;
use super::{Evaluator, Item, Leaf};
use crate::instances::Instances;
use crate::schema::NodeId;
use crate::value::Value;

/// The position of a node among its siblings.
#[derive(Clone, Debug)]
struct Rank {
    node: NodeId,
    /// The position of an entry in a list whose order is stored.
    position: u64,
    /// The keys of an entry of a list ordered by keys, or the value of an entry of a leaf-list ordered by value.
    keys: SmallVec<[Value; 1]>,
}

impl Rank {
    fn of(node: NodeId) -> Self {
        Self {
            node,
            position: 0,
            keys: SmallVec::new(),
        }
    }

    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let by_position = (self.node, self.position).cmp(&(other.node, other.position));
        by_position.then_with(|| {
            let pairs = self.keys.iter().zip(&other.keys);
            pairs.fold(std::cmp::Ordering::Equal, |order, (mine, theirs)| {
                order.then_with(|| mine.compare(theirs))
            })
        })
    }
}

/// The positions of entries read so far.
struct EntryPositions<T: Instances> {
    entries: FxHashMap<(T::Inner, NodeId), FxHashMap<T::Inner, u64>>,
    values: FxHashMap<(T::Inner, NodeId), FxHashMap<Value, u64>>,
}

impl<T: Instances> Evaluator<'_, T> {
    /// Sorts nodes into document order and removes duplicates.
    pub(super) fn sort(&self, items: &mut Vec<Item<T>>, order: Order) -> Result<(), T::Error> {
        let is_of_one_node = |items: &[Item<T>]| {
            let mut pairs = items.windows(2);
            pairs.all(|pair| pair[0].node(self.data) == pair[1].node(self.data))
        };
        match order {
            Order::Document => return Ok(()),
            Order::Reverse => {
                items.reverse();
                return Ok(());
            }
            Order::OfOneNode if is_of_one_node(items) => return Ok(()),
            _ if items.len() < 2 => return Ok(()),
            _ => {}
        }
        let mut positions = EntryPositions {
            entries: FxHashMap::default(),
            values: FxHashMap::default(),
        };
        let mut ranked = Vec::with_capacity(items.len());
        for item in items.drain(..) {
            self.count_visit()?;
            ranked.push((self.ranks(&item, &mut positions)?, item));
        }
        ranked.sort_by(|(left, _), (right, _)| {
            let mut pairs = left.iter().zip(right);
            let differing = pairs
                .by_ref()
                .map(|(left, right)| left.compare(right))
                .find(|order| order.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        });
        items.extend(ranked.into_iter().map(|(_, item)| item));
        items.dedup();
        Ok(())
    }

    /// The ranks of a node and its ancestors, from the root down.
    fn ranks(
        &self,
        item: &Item<T>,
        positions: &mut EntryPositions<T>,
    ) -> Result<Vec<Rank>, T::Error> {
        let mut ranks = Vec::new();
        let mut place = match item {
            Item::Inner(place) => place.clone(),
            Item::Leaf(leaf) | Item::Text(leaf) => {
                if matches!(item, Item::Text(_)) {
                    ranks.push(Rank::of(leaf.node));
                }
                ranks.push(self.leaf_rank(leaf, positions)?);
                leaf.holder.clone()
            }
        };
        while let (Some(node), Some(parent)) = (self.data.node(&place), self.data.parent(&place)) {
            ranks.push(self.inner_rank(&place, node, &parent, positions)?);
            place = parent;
        }
        ranks.reverse();
        Ok(ranks)
    }

    fn inner_rank(
        &self,
        place: &T::Inner,
        id: NodeId,
        parent: &T::Inner,
        positions: &mut EntryPositions<T>,
    ) -> Result<Rank, T::Error> {
        let mut rank = Rank::of(id);
        let node = self.schema().node(id);
        if !node.is_list() {
            return Ok(rank);
        }
        if !node.is_positional() {
            for &key in node.keys() {
                rank.keys.extend(self.data.leaf(place, key)?);
            }
            return Ok(rank);
        }
        let at = (parent.clone(), id);
        if !positions.entries.contains_key(&at) {
            let mut found = FxHashMap::default();
            self.data.entries(parent, id, &mut |entry| {
                self.count_visit()?;
                let position = found.len() as u64;
                found.insert(entry, position);
                Ok(CONTINUE)
            })?;
            positions.entries.insert(at.clone(), found);
        }
        let found = positions.entries.get(&at).and_then(|all| all.get(place));
        rank.position = found.copied().unwrap_or(u64::MAX);
        Ok(rank)
    }

    fn leaf_rank(
        &self,
        leaf: &Leaf<T>,
        positions: &mut EntryPositions<T>,
    ) -> Result<Rank, T::Error> {
        let mut rank = Rank::of(leaf.node);
        let node = self.schema().node(leaf.node);
        if !node.is_leaf_list() {
            return Ok(rank);
        }
        rank.position = leaf.index;
        if !node.is_config {
            return Ok(rank);
        }
        if !node.is_positional() {
            rank.keys.push(leaf.value.clone());
            return Ok(rank);
        }
        let at = (leaf.holder.clone(), leaf.node);
        if !positions.values.contains_key(&at) {
            let mut found = FxHashMap::default();
            let _ = self.values_in(&leaf.holder, leaf.node, &mut |value, _| {
                self.count_visit()?;
                let position = found.len() as u64;
                found.insert(value, position);
                Ok(CONTINUE)
            })?;
            positions.values.insert(at.clone(), found);
        }
        let found = positions.values.get(&at);
        let position = found.and_then(|all| all.get(&leaf.value));
        rank.position = position.copied().unwrap_or(u64::MAX);
        Ok(rank)
    }
}
