//! Choices: running and the candidate may have created nodes of different cases.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::{Keys, NodeId, NodeKind};

use super::conflict::{Conflict, ConflictContent};
use super::merging::Merger;
use crate::error::Result;
use crate::fragment::Fragment;
use crate::keys::put_local_id;
use crate::subspace::Subspace;
use crate::tree::edit::siblings_in_other_cases;

/// Visits a node of a case: the key and node of its parent, and the node.
type VisitCaseNode<'l, 'm> =
    &'l dyn Fn(&mut Merger<'m>, &[u8], Option<NodeId>, NodeId) -> Result<()>;

impl<'m> Merger<'m> {
    /// Resolves conflicts where both sides created nodes of different cases of a choice.
    pub fn resolve_cases(&mut self) -> Result<()> {
        for (key, pair) in self.changed.rows() {
            if let Some(running) = &pair.running {
                let values = (running.as_slice(), pair.base.as_deref());
                self.nodes_in_cases(&key, values, &Self::created_by_running)?;
            }
        }
        // An entry that running moved and the candidate deleted exists again if running is preferred.
        for (entry, pair) in self.changed.positions() {
            if pair.running.is_some() {
                self.path_in_cases(&entry, &Self::created_by_running)?;
            }
        }
        Ok(())
    }

    /// As [`Self::resolve_cases`], if the changes of running are not available.
    pub fn resolve_candidate_cases(&mut self) -> Result<()> {
        let tree = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Tree));
        let changes = Arc::clone(&self.changes);
        for (key, value) in changes.written_in(&tree) {
            if let Some(value) = value {
                self.nodes_in_cases(key, (value, None), &Self::written_by_candidate)?;
            }
        }
        Ok(())
    }

    /// Visits the nodes on the path of a key. Returns its node, which is `None` at the root; `None` if the schema no
    /// longer has it.
    fn path_in_cases(
        &mut self,
        key: &[u8],
        visit: VisitCaseNode<'_, 'm>,
    ) -> Result<Option<Option<NodeId>>> {
        let Some(trail) = self.running.trail(key)? else {
            return Ok(None);
        };
        let tree = self.running.stored.tree.prefix(Subspace::Tree);
        let mut parent = (tree.len(), None);
        for point in &trail {
            visit(self, &key[..parent.0], parent.1, point.node)?;
            parent = (point.end, Some(point.node));
        }
        Ok(Some(parent.1))
    }

    /// Visits the nodes on the path of a key, and the leaves in its value that are not in `before`.
    fn nodes_in_cases(
        &mut self,
        key: &[u8],
        (value, before): (&[u8], Option<&[u8]>),
        visit: VisitCaseNode<'_, 'm>,
    ) -> Result<()> {
        let Some(node) = self.path_in_cases(key, visit)? else {
            return Ok(());
        };
        let schema = self.running.stored.schema();
        if node.is_some_and(|node| schema.node(node).is_leaf_list()) {
            return Ok(());
        }
        let layout = self.running.stored.layout();
        let before = before.map_or(Ok(Fragment::default()), |before| {
            Fragment::decode(before, 0)
        })?;
        for (id, packed) in Fragment::decode(value, 0)?.leaves {
            if before.get(id) == Some(&packed) {
                continue;
            }
            if let Some(leaf) = layout.child(node, id) {
                visit(self, key, node, leaf)?;
            }
        }
        Ok(())
    }

    /// Finds nodes of other cases that the candidate created, for a node that running created in the node
    /// with key `parent_key`.
    fn created_by_running(
        &mut self,
        parent_key: &[u8],
        parent: Option<NodeId>,
        node: NodeId,
    ) -> Result<()> {
        let schema = self.running.stored.schema();
        let node = schema.node(node);
        if node.cases.is_empty() || !self.has(parent_key, node.id)? {
            return Ok(());
        }
        for other_case in siblings_in_other_cases(schema, node) {
            if self.is_created_by_candidate(parent_key, other_case)? {
                self.resolve_both(parent_key, parent, [node.id, other_case])?;
            }
        }
        Ok(())
    }

    /// Finds nodes of other cases in running, for a node that the candidate created.
    fn written_by_candidate(
        &mut self,
        parent_key: &[u8],
        parent: Option<NodeId>,
        node: NodeId,
    ) -> Result<()> {
        let schema = self.running.stored.schema();
        let node = schema.node(node);
        if node.cases.is_empty() || self.is_in_running(parent_key, node.id)? {
            return Ok(());
        }
        for other_case in siblings_in_other_cases(schema, node) {
            if self.has(parent_key, other_case)? && self.has(parent_key, node.id)? {
                self.resolve_both(parent_key, parent, [other_case, node.id])?;
            }
        }
        Ok(())
    }

    /// Reports the conflict of two cases and removes the losing node.
    fn resolve_both(
        &mut self,
        parent_key: &[u8],
        parent: Option<NodeId>,
        [running, candidate]: [NodeId; 2],
    ) -> Result<()> {
        let path = self.path_of(parent_key)?.child(candidate, Keys::None);
        self.conflicts.push(Conflict {
            path: path.to_instance_identifier(self.running.stored.schema()),
            base: ConflictContent::Absent,
            running: ConflictContent::Absent,
            candidate: ConflictContent::Node,
        });
        let loser = match self.prefers_running() {
            true => candidate,
            false => running,
        };
        self.remove(parent_key, parent, loser)
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        matches!(
            self.running.stored.schema().node(node).kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        )
    }

    fn key_of(&self, parent_key: &[u8], node: NodeId) -> Vec<u8> {
        let mut key = parent_key.to_vec();
        put_local_id(&mut key, self.running.stored.layout().id(node));
        key
    }

    /// Whether the merged state has a node.
    fn has(&self, parent_key: &[u8], node: NodeId) -> Result<bool> {
        if !self.is_leaf(node) {
            return self.has_below(&self.key_of(parent_key, node));
        }
        let candidate = self.candidate();
        self.is_leaf_of(candidate.value(parent_key)?.as_deref(), node)
    }

    /// Whether running has a node.
    fn is_in_running(&self, parent_key: &[u8], node: NodeId) -> Result<bool> {
        if !self.is_leaf(node) {
            return self.running.any(&self.key_of(parent_key, node));
        }
        self.is_leaf_of(self.running.get(parent_key)?.as_deref(), node)
    }

    fn is_leaf_of(&self, fragment: Option<&[u8]>, leaf: NodeId) -> Result<bool> {
        let id = self.running.stored.layout().id(leaf);
        let fragment = fragment
            .map(|value| Fragment::decode(value, 0))
            .transpose()?;
        Ok(fragment.is_some_and(|fragment| fragment.get(id).is_some()))
    }

    /// Whether the merged state has anything at or below a key.
    fn has_below(&self, key: &[u8]) -> Result<bool> {
        if self.writes_below(key) {
            return Ok(true);
        }
        let range = KeyRange::prefix(key);
        if !self.changes.writes_in(&range) && self.changes.cleared_in(&range).is_empty() {
            return self.running.any(key);
        }
        let candidate = self.candidate();
        let mut cursor = candidate.cursor(&range, Direction::Forward)?;
        Ok(cursor.next()?.is_some())
    }

    fn is_created_by_candidate(&self, parent_key: &[u8], node: NodeId) -> Result<bool> {
        if !self.is_leaf(node) {
            return Ok(self.writes_below(&self.key_of(parent_key, node)));
        }
        Ok(self.changes.has_written(parent_key) && self.has(parent_key, node)?)
    }

    /// Removes a node from the merged state.
    fn remove(&mut self, parent_key: &[u8], parent: Option<NodeId>, node: NodeId) -> Result<()> {
        if !self.is_leaf(node) {
            let key = self.key_of(parent_key, node);
            self.use_running(&key);
            return self.hide_running(&key);
        }
        let keys = parent.map_or(0, |parent| {
            self.running.stored.schema().node(parent).keys().len()
        });
        let Some(stored) = self
            .candidate()
            .value(parent_key)?
            .map(|value| value.into_owned())
        else {
            return Ok(());
        };
        let mut fragment = Fragment::decode(&stored, keys)?;
        fragment.remove(self.running.stored.layout().id(node));
        let needs_none = parent.is_none_or(|parent| !self.exists_by_itself(parent));
        if fragment.leaves.is_empty() && needs_none {
            self.changes_mut().delete(parent_key.to_vec());
        } else {
            self.changes_mut()
                .put(parent_key.to_vec(), fragment.encode());
        }
        Ok(())
    }
}
