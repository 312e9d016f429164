//! Three-way merge of the leaves of one fragment.

use espalier_keyspace::Snapshot;
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Value};

use super::conflict::{Conflict, ConflictContent, Resolution};
use super::merging::Merger;
use crate::error::Result;
use crate::fragment::{Fragment, Packed};
use crate::keys::LocalId;
use crate::tree::locate::TreeState;

/// A value in the three states of a merge.
#[derive(Clone, Copy)]
pub(super) struct ThreeWay<T> {
    pub base: T,
    pub running: T,
    pub candidate: T,
}

impl Merger<'_> {
    /// Merges the leaves of three states of one fragment of `node`, whose path ends at `key`.
    pub fn merge_leaves(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        states: ThreeWay<Option<&[u8]>>,
    ) -> Result<Fragment> {
        let schema = self.running.stored.schema();
        let keys = node.map_or(0, |node| schema.node(node).keys().len());
        let decode = |bytes: Option<&[u8]>| {
            bytes.map_or(Ok(Fragment::default()), |bytes| {
                Fragment::decode(bytes, keys)
            })
        };
        let base = decode(states.base)?;
        let running = decode(states.running)?;
        let mut merged = decode(states.candidate)?;
        if merged.leaves.is_empty() {
            merged.keys = running.keys;
        }
        let mut ids: Vec<LocalId> = [&base, &running, &merged]
            .iter()
            .flat_map(|fragment| fragment.leaves.iter().map(|(id, _)| *id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let (was, is) = (base.get(id), running.get(id));
            let mine = merged.get(id).cloned();
            if was == is || mine.as_ref() == is {
                continue;
            }
            let is_mine = mine.as_ref() != was;
            if is_mine {
                let three = ThreeWay {
                    base: was,
                    running: is,
                    candidate: mine.as_ref(),
                };
                self.leaf_conflict(key, node, id, three)?;
            }
            if !is_mine || self.resolution == Resolution::PreferRunning {
                match is {
                    Some(packed) => merged.set(id, packed.clone()),
                    None => {
                        merged.remove(id);
                    }
                }
            }
        }
        Ok(merged)
    }

    fn leaf_conflict(
        &mut self,
        key: &[u8],
        node: Option<NodeId>,
        id: LocalId,
        three: ThreeWay<Option<&Packed>>,
    ) -> Result<()> {
        let state = self.running.stored;
        let Some(leaf) = state.layout().child(node, id) else {
            return Ok(());
        };
        let path = self.path_of(key)?.child(leaf, Keys::None);
        let of = state.schema().node(leaf).as_value();
        let is_secret = of.is_some_and(|of| of.value_type.has_secret_values());
        let held = |packed: Option<&Packed>| match packed {
            None => ConflictContent::Absent,
            Some(_) if is_secret => ConflictContent::Node,
            Some(packed) => held_value(packed),
        };
        self.conflicts.push(Conflict {
            path: path.to_instance_identifier(state.schema()),
            base: held(three.base),
            running: held(three.running),
            candidate: held(three.candidate),
        });
        Ok(())
    }

    /// The instance path of a key, from a side that has all entries on the path.
    pub fn path_of(&self, key: &[u8]) -> Result<InstancePath> {
        let Some(trail) = self.running.trail(key)? else {
            return Ok(InstancePath::root());
        };
        let candidate = self.candidate();
        for side in [&candidate as &dyn Snapshot, &self.running, &self.base] {
            let state = TreeState {
                snapshot: side,
                ..self.running.stored
            };
            if let Ok(path) = state.path_of(key, &trail) {
                return Ok(path);
            }
        }
        // No side has all entries on the path: the path of the schema nodes only.
        let mut path = InstancePath::root();
        for point in trail {
            path = path.child(point.node, Keys::None);
        }
        Ok(path)
    }

    /// Whether a node is a list entry or presence container, which exists without content.
    pub fn exists_by_itself(&self, node: NodeId) -> bool {
        let node = self.running.stored.schema().node(node);
        match node.kind {
            NodeKind::List(_) => true,
            NodeKind::Container { .. } => !node.is_np_container(),
            _ => false,
        }
    }

    /// Whether a node is a list entry, a presence container, or a leaf-list entry with a row in the order
    /// index.
    pub fn exists_by_itself_or_is_indexed(&self, node: NodeId) -> bool {
        let is_placed = self
            .running
            .is_indexed(self.running.stored.schema().node(node));
        is_placed || self.exists_by_itself(node)
    }
}

/// A value for display.
fn held_value(packed: &Packed) -> ConflictContent {
    ConflictContent::Value(match packed {
        Packed::Any(json) => json.to_string(),
        Packed::Value(Value::String(text) | Value::Identity(text)) => format!("“{text}”"),
        Packed::Value(value) => value.to_string(),
    })
}
