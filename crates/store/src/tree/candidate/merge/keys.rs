//! Fragments and leaf-list entries that running changed.

use espalier_keyspace::KeyRange;
use espalier_yang::NodeId;

use super::changed::Pair;
use super::leaves::Three;
use super::run::Merging;
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::stamp::{StampRecord, stamp_key};
use crate::tree::trail::Waypoint;

impl Merging<'_> {
    /// Merges every key of the tree that running changed.
    pub fn keys(&mut self) -> Result<()> {
        let tree = self.basis.running.tree.prefix(Subspace::Tree);
        for key in self.changed.below(&tree) {
            if self.is_settled(&key) {
                continue;
            }
            let Some(trail) = self.basis.running.trail(&key)? else {
                continue;
            };
            let pair = self.changed.keys[&key].clone();
            self.key(&key, &trail, &pair)?;
        }
        Ok(())
    }

    fn key(&mut self, key: &[u8], trail: &[Waypoint], pair: &Pair) -> Result<()> {
        let (at, moved_from) = self.place_in_candidate(key, trail)?;
        let mine = self.changes.get(&at).map(|mine| mine.map(<[u8]>::to_vec));
        let is_cleared = self.changes.is_cleared(&at) || moved_from;
        match mine {
            Some(mine) => self.both(key, &at, trail, pair, mine.as_deref()),
            None if is_cleared => self.deleted_by_candidate(key, &at, trail, pair, moved_from),
            None => self.changed_by_running(key, trail, pair),
        }
    }

    /// Where the candidate has what running has at a key: elsewhere, where it moved an entry on
    /// the way.
    fn place_in_candidate(&self, key: &[u8], trail: &[Waypoint]) -> Result<(Vec<u8>, bool)> {
        for point in trail {
            let node = self.basis.running.schema().node(point.node);
            if !node.is_positional() || !node.is_config {
                continue;
            }
            let (list, entry) = (&key[..point.list], &key[..point.end]);
            if let Some(moved) = self.moved_by_candidate(list, entry)? {
                return Ok(([&moved, &key[point.end..]].concat(), true));
            }
        }
        Ok((key.to_vec(), false))
    }

    /// Both have written the key.
    fn both(
        &mut self,
        key: &[u8],
        at: &[u8],
        trail: &[Waypoint],
        pair: &Pair,
        mine: Option<&[u8]>,
    ) -> Result<()> {
        let running = pair.running.as_deref();
        if mine == running {
            self.take(at, key == at, running);
            return Ok(());
        }
        let own = trail.last();
        let node = own.map(|point| point.node);
        if mine == pair.base.as_deref() {
            return self.rewritten_alike(key, at, node, running);
        }
        if let Some(own) = own {
            let schema = self.basis.running.schema();
            let is_value = schema.node(own.node).is_leaf_list();
            let is_index_less = schema.node(own.node).is_positional()
                && self
                    .index_of(&key[..own.list], mine.or(running).unwrap_or_default())?
                    .is_none();
            if is_index_less && pair.base.is_none() && mine.is_some() && running.is_some() {
                return self.relocate(&key[..own.list], key, None);
            }
            if is_value {
                return Ok(());
            }
            if self.exists_by_itself(own.node) {
                match (pair.base.is_some(), running.is_some(), mine.is_some()) {
                    (true, true, true) => {}
                    (true, false, true) => return self.deleted_by_running(key),
                    (true, true, false) => {
                        return self.deleted_by_candidate(key, at, trail, pair, key != at);
                    }
                    _ => return self.created_by_both(key, at),
                }
            }
        }
        let states = Three {
            base: pair.base.as_deref(),
            running,
            candidate: mine,
        };
        let merged = self.leaves(at, node, states)?;
        let needs_none = node.is_none_or(|node| !self.exists_by_itself(node));
        let merged = (!merged.leaves.is_empty() || !needs_none).then(|| merged.encode());
        if merged.as_deref() == running {
            self.take(at, key == at, running);
            return Ok(());
        }
        match merged {
            Some(merged) => self.changing().put(at.to_vec(), merged),
            None => self.changing().delete(at.to_vec()),
        }
        Ok(())
    }

    /// The candidate wrote the key anew with what it held: running alone changed it.
    fn rewritten_alike(
        &mut self,
        key: &[u8],
        at: &[u8],
        node: Option<NodeId>,
        running: Option<&[u8]>,
    ) -> Result<()> {
        let exists_by_itself = node.is_some_and(|node| self.exists_by_itself(node));
        if running.is_some() || !exists_by_itself {
            self.take(at, key == at, running);
            return Ok(());
        }
        if self.differs_below(at, key)? {
            return self.deleted_by_running(key);
        }
        self.leave(at);
        self.settle(key);
        Ok(())
    }

    /// Whether the candidate writes anything at or below a key that the base does not have there.
    fn differs_below(&self, at: &[u8], key: &[u8]) -> Result<bool> {
        let range = KeyRange::prefix(at);
        for (other, value) in self.changes.written_in(&range) {
            let before = [key, &other[at.len()..]].concat();
            if value.is_some() && self.basis.base.value(&before)?.as_deref() != value {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what running has at a key.
    pub fn take(&mut self, at: &[u8], is_in_place: bool, running: Option<&[u8]>) {
        let is_below = is_in_place && !self.changes.is_cleared(at);
        match running {
            _ if is_below => self.changing().forget(at),
            Some(running) => {
                let running = running.to_vec();
                self.changing().put(at.to_vec(), running);
            }
            None => self.changing().delete(at.to_vec()),
        }
    }

    /// Both created an entry or a container with presence, and gave it different leaves.
    fn created_by_both(&mut self, key: &[u8], at: &[u8]) -> Result<()> {
        self.node_conflict([at, key, at])?;
        if self.prefers_running() {
            self.leave(at);
        } else {
            self.hide(key)?;
        }
        self.settle(key);
        Ok(())
    }

    /// Running deleted an entry or a container with presence that the candidate changed.
    fn deleted_by_running(&mut self, key: &[u8]) -> Result<()> {
        self.node_conflict([key, key, key])?;
        if self.prefers_running() {
            self.leave(key);
        } else {
            self.restore(key)?;
            self.restore_index(key)?;
        }
        self.settle(key);
        Ok(())
    }

    /// Puts the place of a restored entry back into the order index.
    fn restore_index(&mut self, key: &[u8]) -> Result<()> {
        let Some(trail) = self.basis.running.trail(key)? else {
            return Ok(());
        };
        let Some(own) = trail.last() else {
            return Ok(());
        };
        let list = &key[..own.list];
        if !self.basis.running.schema().node(own.node).is_positional() {
            return Ok(());
        }
        let Some(stored) = self.basis.base.value(key)? else {
            return Ok(());
        };
        if let Some(index) = self.index_of(list, &stored)? {
            let position = key[list.len()..].to_vec();
            self.changing().put(index, position);
        }
        Ok(())
    }

    /// The candidate deleted what running changed, or something around it.
    fn deleted_by_candidate(
        &mut self,
        key: &[u8],
        at: &[u8],
        trail: &[Waypoint],
        pair: &Pair,
        is_moved: bool,
    ) -> Result<()> {
        let Some(running) = pair.running.clone() else {
            return Ok(());
        };
        if is_moved && pair.base.is_none() {
            // Running added something to an entry that the candidate moved.
            self.changing().put(at.to_vec(), running);
            return Ok(());
        }
        let shift = at.len() as isize - key.len() as isize;
        let deleted = trail.iter().find(|point| {
            let end = (point.end as isize + shift).max(0) as usize;
            at.get(..end).is_some_and(|node| {
                (self.changes.is_cleared(node) || is_moved) && !self.writes_below(node)
            })
        });
        let Some(deleted) = deleted.copied() else {
            return self.lacked_by_candidate(key, at, trail, pair);
        };
        let node = key[..deleted.end].to_vec();
        self.node_conflict([&node, &node, &at[..(deleted.end as isize + shift) as usize]])?;
        if self.prefers_running() {
            self.leave(&node);
            let list = &key[..deleted.list];
            if let Some(stored) = self.basis.running.snapshot.get(&node)?
                && deleted.end > deleted.list
                && self
                    .basis
                    .running
                    .schema()
                    .node(deleted.node)
                    .is_positional()
                && let Some(index) = self.index_of(list, &stored)?
            {
                self.changing().forget_range(&KeyRange::prefix(&index));
            }
        }
        self.settle(&node);
        Ok(())
    }

    /// The candidate wrote everything around a key anew, and left the key out: as if it had
    /// deleted the leaves, where it is a container's without presence.
    fn lacked_by_candidate(
        &mut self,
        key: &[u8],
        at: &[u8],
        trail: &[Waypoint],
        pair: &Pair,
    ) -> Result<()> {
        let node = trail.last().map(|point| point.node);
        if pair.base.is_none() {
            if !node.is_some_and(|node| self.basis.running.schema().node(node).is_leaf_list()) {
                self.node_conflict([key, key, at])?;
                if !self.prefers_running() {
                    self.settle(key);
                    return Ok(());
                }
            }
            if let Some(running) = pair.running.clone() {
                self.changing().put(at.to_vec(), running);
            }
            return Ok(());
        }
        let states = Three {
            base: pair.base.as_deref(),
            running: pair.running.as_deref(),
            candidate: None,
        };
        let merged = self.leaves(at, node, states)?;
        if !merged.leaves.is_empty() {
            self.changing().put(at.to_vec(), merged.encode());
        }
        Ok(())
    }

    /// Running alone changed the key; where it deleted an entry, the candidate may have changed
    /// something in it.
    fn changed_by_running(&mut self, key: &[u8], trail: &[Waypoint], pair: &Pair) -> Result<()> {
        let is_deleted = pair.running.is_none();
        let exists_by_itself = trail
            .last()
            .is_some_and(|point| self.exists_by_itself(point.node));
        let order = in_subspace(key, Subspace::Order);
        if is_deleted && exists_by_itself && (self.writes_below(key) || self.writes_below(&order)) {
            return self.deleted_by_running(key);
        }
        Ok(())
    }

    /// The stamps of what the candidate changed, where running changed something in it too: they
    /// count on with the versions of running.
    pub fn stamps(&mut self) -> Result<Changes> {
        let mut stamps = Changes::default();
        let tree = self.basis.running.tree.prefix(Subspace::Tree);
        self.count_on(&tree, &mut stamps)?;
        for key in self.changed.below(&tree) {
            let Some(trail) = self.basis.running.trail(&key)? else {
                continue;
            };
            for point in &trail {
                self.count_on(&key[..point.end], &mut stamps)?;
            }
        }
        Ok(stamps)
    }

    fn count_on(&self, key: &[u8], stamps: &mut Changes) -> Result<()> {
        let stamp = stamp_key(key);
        let Some(Some(held)) = self.changes.get(&stamp) else {
            return Ok(());
        };
        let mut record = StampRecord::decode(held)?;
        record.any.version += self.basis.moved;
        record.any.time = record.any.time.max(self.basis.time);
        stamps.put(stamp, record.encode());
        Ok(())
    }
}
