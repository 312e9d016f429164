//! Removing buckets that are no longer kept: those of metrics that nobody writes to any more too.
//!
//! In steps, each of which looks at so many metrics and removes so many rows in one commit, so that
//! an engine is never held up, however much there is to remove.

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};

use crate::layout::{self, Kind};
use crate::limits::{EXPIRY_METRICS, EXPIRY_ROWS};
use crate::stats::{Rules, Stats};
use crate::{Granularity, Metric, Result};

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// How many rows it removed: of buckets, or of parts of large ones.
    pub rows: u64,
    /// The metric that the next step begins with; none where all have been looked at.
    pub next: Option<Metric>,
}

impl Stats {
    /// Removes all buckets that are no longer kept, and returns how many rows that were. (Writing to
    /// a metric removes its own too, and none of them is read.) Calls `rest` between its steps, which
    /// may give others time.
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

    /// One step of it: from this metric, or from the first. Commits nothing where there is nothing
    /// to remove.
    pub fn expire_step(&self, from: Option<&Metric>) -> Result<Expired> {
        let rules = self.rules();
        if rules.settings.retention.is_empty() {
            return Ok(Expired::default());
        }
        let snapshot = self.driver.snapshot()?;
        let mut step = Step {
            stats: self,
            rules: &rules,
            snapshot: &*snapshot,
            batch: Batch::new(),
            rows: 0,
        };
        let next = step.metrics(from)?;
        let Step {
            mut batch, rows, ..
        } = step;
        drop(snapshot);
        // Also where nothing is too old yet: who opens the store later needs to know that time went by.
        let known = self.time_to_store(&rules);
        if let Some(known) = known {
            batch.put(self.layout.clock(), known.encode());
        }
        if rows > 0 || known.is_some() {
            self.driver.commit(batch)?;
        }
        if let Some(known) = known {
            self.retention_clock.is_stored(known);
        }
        Ok(Expired { rows, next })
    }
}

struct Step<'a> {
    stats: &'a Stats,
    rules: &'a Rules,
    snapshot: &'a dyn Snapshot,
    batch: Batch,
    rows: u64,
}

impl Step<'_> {
    /// Looks at metrics; returns the one with which to go on.
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
            if self.metric(&metric)? == Left::More {
                return Ok(Some(metric));
            }
        }
        let next = cursor.next()?;
        next.map(|(_, row)| Metric::decode(row)).transpose()
    }

    fn metric(&mut self, metric: &Metric) -> Result<Left> {
        for &granularity in self.rules.settings.retention.keys() {
            let now = self.stats.retention_now();
            let Some(kept_from) = self.rules.kept_from(granularity, now)? else {
                continue;
            };
            for kind in Kind::ALL {
                let range = self.before(kind, metric, granularity, kept_from);
                if self.remove(range)? == Left::More {
                    return Ok(Left::More);
                }
            }
        }
        Ok(Left::Nothing)
    }

    /// Removes the rows of a range, as many as are still allowed.
    fn remove(&mut self, mut range: KeyRange) -> Result<Left> {
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        let before = self.rows;
        let mut left = Left::Nothing;
        while let Some((key, _)) = cursor.next()? {
            if self.rows == EXPIRY_ROWS {
                range.end = Some(key.to_vec());
                left = Left::More;
                break;
            }
            self.rows += 1;
        }
        if self.rows > before {
            self.batch.delete_range(range);
        }
        Ok(left)
    }

    fn before(
        &self,
        kind: Kind,
        metric: &Metric,
        granularity: Granularity,
        start: i64,
    ) -> KeyRange {
        let buckets = self.stats.layout.buckets(kind, metric, granularity);
        let end = layout::bucket(&buckets, start);
        KeyRange::new(buckets, end)
    }
}

/// Whether there is more to remove than one step may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    More,
}
