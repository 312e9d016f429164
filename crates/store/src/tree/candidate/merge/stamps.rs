//! Merges stamps: resources that both the candidate and running changed.

use espalier_keyspace::KeyRange;

use super::merging::{BaseCoverage, Merger};
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::stamp::{self, StampRecord, stamp_key};

impl Merger<'_> {
    /// The stamps of the candidate, incremented by the versions of running.
    pub fn incremented_stamps(&self) -> Result<Changes> {
        let mut stamps = Changes::default();
        let tree = self.running.stored.tree.prefix(Subspace::Tree);
        let parent_record = self.increment_stamp(&tree, StampRecord::default(), &mut stamps)?;
        for key in self.touched() {
            let Some(trail) = self.running.trail(&key)? else {
                continue;
            };
            let mut parent_record = parent_record;
            for point in &trail {
                parent_record =
                    self.increment_stamp(&key[..point.end], parent_record, &mut stamps)?;
            }
        }
        Ok(stamps)
    }

    /// The keys that running may have changed.
    fn touched(&self) -> Vec<Vec<u8>> {
        let changed = [self.changed.rows(), self.changed.positions()].concat();
        let mut touched: Vec<_> = changed.into_iter().map(|(key, _)| key).collect();
        if self.basis.coverage != BaseCoverage::Complete {
            // The changes of running are incomplete, but only resources with a stamp of the candidate
            // matter.
            let stamps = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Stamp));
            let stamps = self.changes.written_in(&stamps);
            touched.extend(stamps.map(|(key, _)| in_subspace(key, Subspace::Tree)));
        }
        touched
    }

    /// Increments the candidate's stamp of a resource. Returns running's stamp record of the resource,
    /// derived from `parent_record`, that of its parent, if it has none.
    fn increment_stamp(
        &self,
        key: &[u8],
        parent_record: StampRecord,
        stamps: &mut Changes,
    ) -> Result<StampRecord> {
        let running = stamp::record(&self.running, key)?.unwrap_or(StampRecord {
            any: parent_record.whole,
            ..parent_record
        });
        let stamp = stamp_key(key);
        let Some(held) = self.changes.get(&stamp).flatten() else {
            return Ok(running);
        };
        if matches!(self.basis.coverage, BaseCoverage::ChangedKeys(base) if running.any.version <= base)
        {
            return Ok(running);
        }
        let mut record = StampRecord::decode(held)?;
        record.any.version += self.basis.versions_since;
        record.any.time = self.basis.time.after(record.any.time);
        // Applies to resources inside without a stamp of their own: running may have loaded them.
        if running.whole.version > record.whole.version {
            record.whole = running.whole;
        }
        stamps.put(stamp, record.encode());
        Ok(running)
    }
}
