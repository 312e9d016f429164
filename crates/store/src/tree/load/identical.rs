//! Compares the data before and after a load that replaces everything.
//!
//! Two datastores with the same rows in the same order are the same, whatever the positions of entries that users
//! order: a load assigns new positions to the entries of a document.

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use crate::error::Result;
use crate::tree::datastore::Datastore;
use crate::tree::locate::TreeState;
use crate::tree::tree::Tree;

impl Tree {
    /// Whether two states of this tree have the same data. The comparison ends at the first difference.
    pub(super) fn is_identical(&self, before: &dyn Snapshot, after: &dyn Snapshot) -> Result<bool> {
        // The same data may have another origin.
        if self.datastore() == Datastore::Operational {
            return Ok(false);
        }
        let range = KeyRange::prefix(&self.tree_key());
        let mut old = before.scan(&range, Direction::Forward)?;
        let mut new = after.scan(&range, Direction::Forward)?;
        let state = TreeState::new(before, self.compiled(), self.id());
        loop {
            match (old.next()?, new.next()?) {
                (None, None) => return Ok(true),
                (Some(old), Some(new)) if state.is_same_row(old, new)? => {}
                _ => return Ok(false),
            }
        }
    }
}

impl TreeState<'_> {
    /// Whether two rows are the same but for the positions in their keys.
    fn is_same_row(&self, old: (&[u8], &[u8]), new: (&[u8], &[u8])) -> Result<bool> {
        if old.1 != new.1 {
            return Ok(false);
        }
        if old.0 == new.0 {
            return Ok(true);
        }
        let old = self.without_positions(old.0)?;
        Ok(old.is_some() && old == self.without_positions(new.0)?)
    }

    /// A key without the positions of entries; none if a node of it is not in the schema.
    fn without_positions(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(trail) = self.trail(key)? else {
            return Ok(None);
        };
        let mut kept = Vec::with_capacity(key.len());
        let mut from = 0;
        for point in trail {
            let to = match self.schema().node(point.node).is_positional() {
                true => point.list,
                false => point.end,
            };
            kept.extend_from_slice(&key[from..to]);
            from = point.end;
        }
        kept.extend_from_slice(&key[from..]);
        Ok(Some(kept))
    }
}
