//! Merges the positions of entries in lists ordered by user.
//!
//! Whether an entry exists is decided with its fragment (or value); only its position is decided here.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::NodeId;

use super::merging::Merger;
use super::running_changes::ValuePair;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

impl Merger<'_> {
    /// Merges every position that running changed.
    pub fn merge_positions(&mut self) -> Result<()> {
        for (entry, pair) in self.changed.positions() {
            if !self.is_resolved(&entry) {
                self.merge_position(&entry, &pair)?;
            }
        }
        Ok(())
    }

    /// Merges the position of an entry that running created, moved or deleted.
    fn merge_position(&mut self, entry: &[u8], pair: &ValuePair) -> Result<()> {
        let row = in_subspace(entry, Subspace::Order);
        let mine = self.changes.get(&row).map(|mine| mine.map(<[u8]>::to_vec));
        let Some(running) = pair.running.as_deref() else {
            // If the candidate changed the entry, it is already resolved.
            return Ok(());
        };
        match mine {
            Some(Some(mine)) => {
                let is_conflict = pair.base.as_deref().is_some_and(|base| base != mine);
                if is_conflict && mine != running {
                    self.node_conflict(entry)?;
                    if !self.prefers_running() {
                        return Ok(());
                    }
                }
                // If both sides created the same entry, running's position is used.
                if self.changes.is_cleared(&row) {
                    let running = running.to_vec();
                    self.changes_mut().put(row, running);
                } else {
                    self.changes_mut().forget(&row);
                }
                Ok(())
            }
            _ => match self.running.trail(entry)? {
                Some(trail) if self.is_deleted(entry, &trail) => {
                    self.deleted_by_candidate(entry, &trail, pair)
                }
                _ => Ok(()),
            },
        }
    }

    /// Whether the entries of a node are identified by position: they have no keys (RFC 7950 §7.8.2), or no
    /// position changed.
    pub fn has_position(&self, node: NodeId) -> bool {
        let node = self.running.stored.schema().node(node);
        node.is_positional() && !self.running.is_indexed(node)
    }

    /// Moves an entry of the candidate to the end of its list, because running has another entry at its
    /// position.
    pub fn relocate(&mut self, list: &[u8], entry: &[u8]) -> Result<()> {
        let end = Position::between(self.last_position(list)?.as_ref(), None)
            .ok_or_else(|| Error::corrupt("a list has no further positions"))?;
        let mut to = list.to_vec();
        end.put(&mut to);
        let range = KeyRange::prefix(entry);
        let written: Vec<_> = self
            .changes
            .written_in(&range)
            .filter_map(|(key, value)| {
                let key = [&to, &key[entry.len()..]].concat();
                value.map(|value| (key, value.to_vec()))
            })
            .collect();
        let changes = self.changes_mut();
        changes.discard_range(&range);
        for (key, value) in written {
            changes.put(key, value);
        }
        Ok(())
    }

    /// The last position of a list in running or the candidate.
    fn last_position(&self, list: &[u8]) -> Result<Option<Position>> {
        let range = KeyRange::strictly_below(list);
        let mut last = None;
        for side in [&self.candidate() as &dyn Snapshot, &self.running] {
            let mut cursor = side.scan(&range, Direction::Backward)?;
            if let Some((key, _)) = cursor.next()? {
                last = last.max(Some(Position::take(&mut &key[list.len()..])?));
            }
        }
        Ok(last)
    }
}
