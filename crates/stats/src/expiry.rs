//! Removal of expired buckets, also of metrics that are no longer written to.
//!
//! It runs in steps. Each step checks a limited number of metrics and removes a limited number of rows in one
//! commit, so that other users of the engine are not blocked, however much there is to remove.

use espalier_keyspace::{Batch, ConflictRetry, Direction, KeyRange, Snapshot, retry_conflicts};

use crate::layout::{self, BucketKind};
use crate::limits::{EXPIRY_METRICS, EXPIRY_ROWS};
use crate::packed::{Codec, Recent};
use crate::stats::{ActiveSettings, Stats};
use crate::{Granularity, Metric, Result};

/// The result of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// The number of removed rows: of buckets, or of parts of large ones.
    pub rows: u64,
    /// The metric at which the next step starts; `None` if all are done.
    pub next: Option<Metric>,
}

impl Stats {
    /// Removes all expired buckets, and returns the number of removed rows. (Writing to a metric also removes
    /// its expired buckets, and reads skip them.) Calls `rest` between steps, which may give time to others.
    pub fn expire(&self, rest: impl Fn()) -> Result<u64> {
        let mut rows = 0;
        let mut from = None;
        loop {
            let step = self.expire_step(from.as_ref())?;
            rows += step.rows;
            match step.next {
                Some(next) => from = Some(next),
                None => return Ok(rows),
            }
            rest();
        }
    }

    /// One step of [`Self::expire`], starting at a metric or at the first one. Commits nothing if there is
    /// nothing to remove. If a writer changes the recent buckets of a metric meanwhile, the step is repeated.
    pub fn expire_step(&self, from: Option<&Metric>) -> Result<Expired> {
        let active = self.active();
        if active.settings.retention.is_empty() {
            return Ok(Expired::default());
        }
        retry_conflicts(ConflictRetry::new(), |_| {
            self.try_expire_step(&active, from)
        })
    }

    fn try_expire_step(&self, active: &ActiveSettings, from: Option<&Metric>) -> Result<Expired> {
        let snapshot = self.driver.snapshot()?;
        let mut step = ExpiryStep {
            stats: self,
            active,
            snapshot: &*snapshot,
            batch: Batch::new(),
            rows: 0,
        };
        let next = step.metrics(from)?;
        let ExpiryStep {
            mut batch, rows, ..
        } = step;
        drop(snapshot);
        // Also if nothing has expired yet: a process that opens the store later needs to see that time has
        // passed.
        let trusted = self.trusted_time_to_store(active);
        if let Some(trusted) = trusted {
            batch.put(self.layout.clock(), trusted.encode());
        }
        if rows > 0 || trusted.is_some() {
            self.driver.commit(batch)?;
        }
        if let Some(trusted) = trusted {
            self.retention_clock.set_stored(trusted);
        }
        Ok(Expired { rows, next })
    }
}

struct ExpiryStep<'a> {
    stats: &'a Stats,
    active: &'a ActiveSettings,
    snapshot: &'a dyn Snapshot,
    batch: Batch,
    rows: u64,
}

impl ExpiryStep<'_> {
    /// Checks metrics; returns the one at which to continue.
    fn metrics(&mut self, from: Option<&Metric>) -> Result<Option<Metric>> {
        let mut range = self.stats.layout.metrics("");
        if let Some(from) = from {
            range.start = self.stats.layout.metric(from);
        }
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        for _ in 0..EXPIRY_METRICS {
            let Some((_, row)) = cursor.next()? else {
                return Ok(None);
            };
            let metric = Metric::decode(row)?;
            if self.metric(&metric)? == Remaining::More {
                return Ok(Some(metric));
            }
        }
        let next = cursor.next()?;
        next.map(|(_, row)| Metric::decode(row)).transpose()
    }

    fn metric(&mut self, metric: &Metric) -> Result<Remaining> {
        let mut kept = Vec::new();
        for &granularity in self.active.settings.retention.keys() {
            let now = self.stats.retention_now();
            if let Some(kept_from) = self.active.kept_from(granularity, now)? {
                kept.push((granularity, kept_from));
            }
        }
        for (granularity, kept_from) in &kept {
            for range in self.expired_ranges(metric, *granularity, *kept_from) {
                if self.remove(range)? == Remaining::More {
                    return Ok(Remaining::More);
                }
            }
        }
        self.remove_recent(metric, &kept)?;
        Ok(Remaining::Nothing)
    }

    /// Removes expired buckets from the row of recent buckets.
    fn remove_recent(&mut self, metric: &Metric, kept: &[(Granularity, i64)]) -> Result<()> {
        let key = self.stats.layout.recent(metric);
        let Some(stored) = self.snapshot.get(&key)? else {
            return Ok(());
        };
        let codec = &mut Codec::default();
        let mut recent = Recent::decode(&stored, codec)?;
        let mut is_changed = false;
        for (granularity, kept_from) in kept {
            is_changed |= recent.remove_before(*granularity, *kept_from)?;
        }
        if is_changed {
            self.rows += 1;
            self.batch.require(key.clone(), Some(stored.into_owned()));
            self.batch.put(key, recent.encode(codec)?);
        }
        Ok(())
    }

    /// Removes the rows of a range, within the limit of the step.
    fn remove(&mut self, mut range: KeyRange) -> Result<Remaining> {
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        let before = self.rows;
        let mut remaining = Remaining::Nothing;
        while let Some((key, _)) = cursor.next()? {
            if self.rows == EXPIRY_ROWS {
                range.end = Some(key.to_vec());
                remaining = Remaining::More;
                break;
            }
            self.rows += 1;
        }
        if self.rows > before {
            self.batch.delete_range(range);
        }
        Ok(remaining)
    }

    /// The rows whose buckets of a granularity have all expired, except for the recent row.
    fn expired_ranges(
        &self,
        metric: &Metric,
        granularity: Granularity,
        start: i64,
    ) -> [KeyRange; 3] {
        let layout = &self.stats.layout;
        let [numbers, sketches] = BucketKind::ALL.map(|kind| {
            let buckets = layout.buckets(kind, metric, granularity);
            let end = layout::bucket(&buckets, start);
            KeyRange::new(buckets, end)
        });
        let blocks = layout.blocks(metric, granularity);
        let end = layout::block(&blocks, layout::block_number(granularity, start));
        [numbers, sketches, KeyRange::new(blocks, end)]
    }
}

/// Whether there is more to remove than one step may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remaining {
    Nothing,
    More,
}
