//! Merges the fragments and leaf-list entries that running changed.

use espalier_keyspace::{KeyRange, Snapshot};
use espalier_yang::NodeId;

use super::leaves::ThreeWay;
use super::merging::Merger;
use super::resolve::SUBSPACES;
use super::running_changes::ValuePair;
use crate::error::Result;
use crate::tree::key_nodes::KeyNode;
use crate::tree::locate::in_subspace;

impl Merger<'_> {
    /// Merges every key of the tree that running changed.
    pub fn merge_keys(&mut self) -> Result<()> {
        for (key, pair) in self.changed.rows() {
            if self.is_resolved(&key) {
                continue;
            }
            if let Some(trail) = self.running.trail(&key)? {
                self.merge_key(&key, &trail, &pair)?;
            }
        }
        Ok(())
    }

    fn merge_key(&mut self, key: &[u8], trail: &[KeyNode], pair: &ValuePair) -> Result<()> {
        let mine = self.changes.get(key).map(|mine| mine.map(<[u8]>::to_vec));
        match mine {
            Some(mine) => self.changed_by_both(key, trail, pair, mine.as_deref()),
            None if self.is_deleted(key, trail) => self.deleted_by_candidate(key, trail, pair),
            None => self.changed_by_running(key, trail, pair),
        }
    }

    /// Both sides wrote the key.
    fn changed_by_both(
        &mut self,
        key: &[u8],
        trail: &[KeyNode],
        pair: &ValuePair,
        mine: Option<&[u8]>,
    ) -> Result<()> {
        let running = pair.running.as_deref();
        if mine == running {
            self.take_running(key, running);
            return Ok(());
        }
        if mine.is_none() && self.is_in_deleted_node(key, trail) {
            return self.deleted_by_candidate(key, trail, pair);
        }
        let own = trail.last();
        let node = own.map(|point| point.node);
        if mine == pair.base.as_deref() {
            return self.rewritten_unchanged(key, node, running);
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
        self.merge_fragment(key, node, pair, mine)
    }

    /// Merges a fragment leaf by leaf.
    fn merge_fragment(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        pair: &ValuePair,
        mine: Option<&[u8]>,
    ) -> Result<()> {
        let running = pair.running.as_deref();
        let states = ThreeWay {
            base: pair.base.as_deref(),
            running,
            candidate: mine,
        };
        let merged = self.merge_leaves(key, node, states)?;
        let needs_none = node.is_none_or(|node| !self.exists_by_itself(node));
        let merged = (!merged.leaves.is_empty() || !needs_none).then(|| merged.encode());
        match merged {
            merged if merged.as_deref() == running => self.take_running(key, running),
            Some(merged) => self.changes_mut().put(key.to_vec(), merged),
            None => self.changes_mut().delete(key.to_vec()),
        }
        Ok(())
    }

    /// The candidate rewrote the key with its base value: only running changed it.
    fn rewritten_unchanged(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        running: Option<&[u8]>,
    ) -> Result<()> {
        if running.is_some() || !node.is_some_and(|node| self.exists_by_itself_or_is_indexed(node))
        {
            self.take_running(key, running);
            return Ok(());
        }
        if self.differs_below(key)? {
            return self.deleted_by_running(key);
        }
        self.use_running(key);
        self.mark_resolved(key);
        Ok(())
    }

    /// Whether the candidate writes anything in a node that differs from the base.
    fn differs_below(&self, key: &[u8]) -> Result<bool> {
        for place in SUBSPACES {
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
    fn take_running(&mut self, key: &[u8], running: Option<&[u8]>) {
        match running {
            _ if !self.changes.is_cleared(key) => self.changes_mut().forget(key),
            Some(running) => {
                let running = running.to_vec();
                self.changes_mut().put(key.to_vec(), running);
            }
            None => self.changes_mut().delete(key.to_vec()),
        }
    }

    /// Both sides created an entry or presence container with different leaves.
    fn created_by_both(&mut self, key: &[u8]) -> Result<()> {
        self.node_conflict(key)?;
        if self.prefers_running() {
            self.use_running(key);
        } else {
            self.hide_running(key)?;
        }
        self.mark_resolved(key);
        Ok(())
    }

    /// Running deleted an entry or presence container that the candidate changed.
    fn deleted_by_running(&mut self, key: &[u8]) -> Result<()> {
        self.node_conflict(key)?;
        if self.prefers_running() {
            self.use_running(key);
        } else {
            self.restore_base(key)?;
        }
        self.mark_resolved(key);
        Ok(())
    }

    /// The candidate deleted a node that running changed, or one of its ancestors.
    pub fn deleted_by_candidate(
        &mut self,
        key: &[u8],
        trail: &[KeyNode],
        pair: &ValuePair,
    ) -> Result<()> {
        if pair.running.is_none() {
            return Ok(());
        }
        let deleted = trail
            .iter()
            .find(|point| self.is_deleted_node(&key[..point.end], point.node));
        let Some(deleted) = deleted else {
            return self.omitted_by_candidate(key, trail, pair);
        };
        let node = &key[..deleted.end];
        self.node_conflict(node)?;
        if self.prefers_running() {
            self.use_running(node);
        } else {
            // Content that running added after the base is deleted too.
            self.hide_running(node)?;
        }
        self.mark_resolved(node);
        Ok(())
    }

    /// Whether the candidate deleted a key or an enclosing entry or presence container.
    pub fn is_deleted(&self, key: &[u8], trail: &[KeyNode]) -> bool {
        self.changes.is_cleared(key) || self.is_in_deleted_node(key, trail)
    }

    /// Whether the candidate deleted an entry or presence container that is or contains a key.
    fn is_in_deleted_node(&self, key: &[u8], trail: &[KeyNode]) -> bool {
        trail
            .iter()
            .any(|point| self.is_deleted_node(&key[..point.end], point.node))
    }

    /// Whether the candidate deleted a node and wrote nothing in it again.
    fn is_deleted_node(&self, key: &[u8], node: NodeId) -> bool {
        let is_deleted =
            self.changes.get(key) == Some(None) && self.exists_by_itself_or_is_indexed(node);
        (is_deleted || self.changes.is_cleared(key)) && !self.writes_below(key)
    }

    /// The candidate rewrote everything around a key without the key. In a non-presence container this
    /// deletes its leaves.
    fn omitted_by_candidate(
        &mut self,
        key: &[u8],
        trail: &[KeyNode],
        pair: &ValuePair,
    ) -> Result<()> {
        if pair.base.is_none() {
            self.node_conflict(key)?;
            // The rows below may be changes of running too, each with its own conflict.
            self.mark_row_resolved(key);
            if self.prefers_running()
                && let Some(running) = pair.running.clone()
            {
                self.changes_mut().put(key.to_vec(), running);
            }
            return Ok(());
        }
        let states = ThreeWay {
            base: pair.base.as_deref(),
            running: pair.running.as_deref(),
            candidate: None,
        };
        let merged = self.merge_leaves(key, trail.last().map(|point| point.node), states)?;
        if !merged.leaves.is_empty() {
            self.changes_mut().put(key.to_vec(), merged.encode());
        }
        Ok(())
    }

    /// Only running changed the key. If running deleted an entry, the candidate may have changed its
    /// content or moved it.
    fn changed_by_running(
        &mut self,
        key: &[u8],
        trail: &[KeyNode],
        pair: &ValuePair,
    ) -> Result<()> {
        let exists_by_itself_or_is_indexed = trail
            .last()
            .is_some_and(|point| self.exists_by_itself_or_is_indexed(point.node));
        if pair.running.is_none() && exists_by_itself_or_is_indexed && self.writes_node(key) {
            return self.deleted_by_running(key);
        }
        Ok(())
    }
}
