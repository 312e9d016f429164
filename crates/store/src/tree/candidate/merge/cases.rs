//! Choices: running and the candidate may each have created nodes of another case.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::{Keys, NodeId, NodeKind};

use super::conflict::{Conflict, Held};
use super::run::Merging;
use crate::error::Result;
use crate::fragment::Fragment;
use crate::keys::put_local_id;
use crate::subspace::Subspace;
use crate::tree::edit::rivals;

impl Merging<'_> {
    /// Resolves where both created nodes of different cases of one choice.
    pub fn cases(&mut self) -> Result<()> {
        let tree = self.running.stored.tree.prefix(Subspace::Tree);
        for (key, pair) in self.changed.rows() {
            let Some(running) = &pair.running else {
                continue;
            };
            let Some(trail) = self.running.trail(&key)? else {
                continue;
            };
            let mut parent = (tree.len(), None);
            for point in &trail {
                let (end, node) = (parent.0, point.node);
                self.created_in_case(&key[..end], parent.1, node)?;
                parent = (point.end, Some(point.node));
            }
            let is_fragment = trail
                .last()
                .is_none_or(|point| !self.running.stored.schema().node(point.node).is_leaf_list());
            if is_fragment {
                self.leaves_in_cases(&key, parent.1, running, pair.base.as_deref())?;
            }
        }
        Ok(())
    }

    fn leaves_in_cases(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        running: &[u8],
        base: Option<&[u8]>,
    ) -> Result<()> {
        let layout = self.running.stored.layout();
        let base = base.map_or(Ok(Fragment::default()), |base| Fragment::decode(base, 0))?;
        for (id, packed) in Fragment::decode(running, 0)?.leaves {
            if base.get(id) == Some(&packed) {
                continue;
            }
            if let Some(leaf) = layout.child(node, id) {
                self.created_in_case(key, node, leaf)?;
            }
        }
        Ok(())
    }

    /// Looks for nodes of other cases that the candidate created beside a node of running, in the
    /// node with key `around`.
    fn created_in_case(
        &mut self,
        around: &[u8],
        parent: Option<NodeId>,
        node: NodeId,
    ) -> Result<()> {
        let schema = self.running.stored.schema();
        let node = schema.node(node);
        if node.cases.is_empty() || !self.has(around, node.id)? {
            return Ok(());
        }
        for rival in rivals(schema, node) {
            if !self.is_created_by_candidate(around, rival)? {
                continue;
            }
            let path = self.path_of(around)?.child(rival, Keys::None);
            self.conflicts.push(Conflict {
                path: path.to_instance_identifier(schema),
                base: Held::Absent,
                running: Held::Absent,
                candidate: Held::Node,
            });
            let loser = if self.prefers_running() {
                rival
            } else {
                node.id
            };
            self.remove(around, parent, loser)?;
        }
        Ok(())
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        matches!(
            self.running.stored.schema().node(node).kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        )
    }

    fn key_of(&self, around: &[u8], node: NodeId) -> Vec<u8> {
        let mut key = around.to_vec();
        put_local_id(&mut key, self.running.stored.layout().id(node));
        key
    }

    /// Whether the merged state has a node.
    fn has(&self, around: &[u8], node: NodeId) -> Result<bool> {
        if !self.is_leaf(node) {
            return self.has_below(&self.key_of(around, node));
        }
        let id = self.running.stored.layout().id(node);
        let candidate = self.candidate();
        let stored = candidate.value(around)?;
        let fragment = stored
            .map(|value| Fragment::decode(&value, 0))
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

    fn is_created_by_candidate(&self, around: &[u8], node: NodeId) -> Result<bool> {
        if !self.is_leaf(node) {
            return Ok(self.writes_below(&self.key_of(around, node)));
        }
        Ok(self.changes.has_written(around) && self.has(around, node)?)
    }

    /// Takes a node out of the merged state.
    fn remove(&mut self, around: &[u8], parent: Option<NodeId>, node: NodeId) -> Result<()> {
        if !self.is_leaf(node) {
            let key = self.key_of(around, node);
            self.leave(&key);
            return self.hide(&key);
        }
        let keys = parent.map_or(0, |parent| {
            self.running.stored.schema().node(parent).keys().len()
        });
        let Some(stored) = self
            .candidate()
            .value(around)?
            .map(|value| value.into_owned())
        else {
            return Ok(());
        };
        let mut fragment = Fragment::decode(&stored, keys)?;
        fragment.remove(self.running.stored.layout().id(node));
        let needs_none = parent.is_none_or(|parent| !self.exists_by_itself(parent));
        if fragment.leaves.is_empty() && needs_none {
            self.changing().delete(around.to_vec());
        } else {
            self.changing().put(around.to_vec(), fragment.encode());
        }
        Ok(())
    }
}
