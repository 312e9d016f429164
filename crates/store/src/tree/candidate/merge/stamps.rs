//! The stamps of what the candidate changed, where running changed something in it too.

use super::run::Merging;
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::stamp::{StampRecord, stamp_key};

impl Merging<'_> {
    /// Such stamps count on with the versions of running.
    pub fn stamps(&self) -> Result<Changes> {
        let mut stamps = Changes::default();
        let tree = self.running.stored.tree.prefix(Subspace::Tree);
        self.count_on(&tree, &mut stamps)?;
        let changed = [self.changed.rows(), self.changed.positions()].concat();
        for (key, _) in changed {
            let Some(trail) = self.running.trail(&key)? else {
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
