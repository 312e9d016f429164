//! Merges the fragments and leaf-list entries that running changed.

use espalier_keyspace::{KeyRange, Snapshot};
use espalier_yang::NodeId;

use super::changed::Pair;
use super::leaves::Three;
use super::resolve::PLACES;
use super::run::Merging;
use crate::error::Result;
use crate::tree::locate::in_subspace;
use crate::tree::trail::Waypoint;

impl Merging<'_> {
    /// Merges every key of the tree that running changed.
    pub fn keys(&mut self) -> Result<()> {
        for (key, pair) in self.changed.rows() {
            if self.is_settled(&key) {
                continue;
            }
            if let Some(trail) = self.running.trail(&key)? {
                self.key(&key, &trail, &pair)?;
            }
        }
        Ok(())
    }

    fn key(&mut self, key: &[u8], trail: &[Waypoint], pair: &Pair) -> Result<()> {
        let mine = self.changes.get(key).map(|mine| mine.map(<[u8]>::to_vec));
        match mine {
            Some(mine) => self.both(key, trail, pair, mine.as_deref()),
            None if self.is_deleted(key, trail) => self.deleted_by_candidate(key, trail, pair),
            None => self.changed_by_running(key, trail, pair),
        }
    }

    /// Both sides wrote the key.
    fn both(
        &mut self,
        key: &[u8],
        trail: &[Waypoint],
        pair: &Pair,
        mine: Option<&[u8]>,
    ) -> Result<()> {
        let running = pair.running.as_deref();
        if mine == running {
            self.take(key, running);
            return Ok(());
        }
        if mine.is_none() && self.is_in_gone(key, trail) {
            return self.deleted_by_candidate(key, trail, pair);
        }
        let own = trail.last();
        let node = own.map(|point| point.node);
        if mine == pair.base.as_deref() {
            return self.rewritten_alike(key, node, running);
        }
        if let Some(own) = own {
            let schema = self.running.stored.schema().node(own.node);
            if self.has_position(own.node) && pair.base.is_none() && mine.is_some() {
                return self.relocate(&key[..own.list], key);
            }
            if schema.is_leaf_list() {
                return Ok(());
            }
            if self.exists_by_itself(own.node) {
                match (pair.base.is_some(), running.is_some(), mine.is_some()) {
                    (true, true, true) => {}
                    (true, false, true) => return self.deleted_by_running(key),
                    (true, true, false) => return self.deleted_by_candidate(key, trail, pair),
                    _ => return self.created_by_both(key),
                }
            }
        }
        self.fragment(key, node, pair, mine)
    }

    /// Merges a fragment leaf by leaf.
    fn fragment(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        pair: &Pair,
        mine: Option<&[u8]>,
    ) -> Result<()> {
        let running = pair.running.as_deref();
        let states = Three {
            base: pair.base.as_deref(),
            running,
            candidate: mine,
        };
        let merged = self.leaves(key, node, states)?;
        let needs_none = node.is_none_or(|node| !self.exists_by_itself(node));
        let merged = (!merged.leaves.is_empty() || !needs_none).then(|| merged.encode());
        match merged {
            merged if merged.as_deref() == running => self.take(key, running),
            Some(merged) => self.changing().put(key.to_vec(), merged),
            None => self.changing().delete(key.to_vec()),
        }
        Ok(())
    }

    /// The candidate rewrote the key with its base value: only running changed it.
    fn rewritten_alike(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        running: Option<&[u8]>,
    ) -> Result<()> {
        if running.is_some() || !node.is_some_and(|node| self.stands_by_itself(node)) {
            self.take(key, running);
            return Ok(());
        }
        if self.differs_below(key)? {
            return self.deleted_by_running(key);
        }
        self.leave(key);
        self.settle(key);
        Ok(())
    }

    /// Whether the candidate writes anything in a node that differs from the base.
    fn differs_below(&self, key: &[u8]) -> Result<bool> {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            for (other, value) in self.changes.written_in(&range) {
                if value.is_some() && self.base.get(other)?.as_deref() != value {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Uses the value of running for a key.
    fn take(&mut self, key: &[u8], running: Option<&[u8]>) {
        match running {
            _ if !self.changes.is_cleared(key) => self.changing().forget(key),
            Some(running) => {
                let running = running.to_vec();
                self.changing().put(key.to_vec(), running);
            }
            None => self.changing().delete(key.to_vec()),
        }
    }

    /// Both sides created an entry or presence container with different leaves.
    fn created_by_both(&mut self, key: &[u8]) -> Result<()> {
        self.node_conflict(key)?;
        if self.prefers_running() {
            self.leave(key);
        } else {
            self.hide(key)?;
        }
        self.settle(key);
        Ok(())
    }

    /// Running deleted an entry or presence container that the candidate changed.
    fn deleted_by_running(&mut self, key: &[u8]) -> Result<()> {
        self.node_conflict(key)?;
        if self.prefers_running() {
            self.leave(key);
        } else {
            self.restore(key)?;
        }
        self.settle(key);
        Ok(())
    }

    /// The candidate deleted a node that running changed, or one of its ancestors.
    pub fn deleted_by_candidate(
        &mut self,
        key: &[u8],
        trail: &[Waypoint],
        pair: &Pair,
    ) -> Result<()> {
        if pair.running.is_none() {
            return Ok(());
        }
        let deleted = trail
            .iter()
            .find(|point| self.is_gone(&key[..point.end], point.node));
        let Some(deleted) = deleted else {
            return self.lacked_by_candidate(key, trail, pair);
        };
        let node = &key[..deleted.end];
        self.node_conflict(node)?;
        if self.prefers_running() {
            self.leave(node);
        } else {
            // Content that running added after the base is deleted too.
            self.hide(node)?;
        }
        self.settle(node);
        Ok(())
    }

    /// Whether the candidate deleted a key or an enclosing entry or presence container.
    pub fn is_deleted(&self, key: &[u8], trail: &[Waypoint]) -> bool {
        self.changes.is_cleared(key) || self.is_in_gone(key, trail)
    }

    /// Whether the candidate deleted an entry or presence container that is or contains a key.
    fn is_in_gone(&self, key: &[u8], trail: &[Waypoint]) -> bool {
        trail
            .iter()
            .any(|point| self.is_gone(&key[..point.end], point.node))
    }

    /// Whether the candidate deleted a node and wrote nothing in it again.
    fn is_gone(&self, key: &[u8], node: NodeId) -> bool {
        let is_deleted = self.changes.get(key) == Some(None) && self.stands_by_itself(node);
        (is_deleted || self.changes.is_cleared(key)) && !self.writes_below(key)
    }

    /// The candidate rewrote everything around a key without the key. In a non-presence container this
    /// deletes its leaves.
    fn lacked_by_candidate(&mut self, key: &[u8], trail: &[Waypoint], pair: &Pair) -> Result<()> {
        if pair.base.is_none() {
            self.node_conflict(key)?;
            if !self.prefers_running() {
                self.settle(key);
            } else if let Some(running) = pair.running.clone() {
                self.changing().put(key.to_vec(), running);
            }
            return Ok(());
        }
        let states = Three {
            base: pair.base.as_deref(),
            running: pair.running.as_deref(),
            candidate: None,
        };
        let merged = self.leaves(key, trail.last().map(|point| point.node), states)?;
        if !merged.leaves.is_empty() {
            self.changing().put(key.to_vec(), merged.encode());
        }
        Ok(())
    }

    /// Only running changed the key. If running deleted an entry, the candidate may have changed its
    /// content or moved it.
    fn changed_by_running(&mut self, key: &[u8], trail: &[Waypoint], pair: &Pair) -> Result<()> {
        let stands_by_itself = trail
            .last()
            .is_some_and(|point| self.stands_by_itself(point.node));
        if pair.running.is_none() && stands_by_itself && self.writes_node(key) {
            return self.deleted_by_running(key);
        }
        Ok(())
    }
}
