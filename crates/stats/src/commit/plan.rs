//! Finds the buckets that a write changes.

use std::sync::Arc;

use crate::metric::{SYSTEM_METRIC, UNTRACKED};
use crate::stats::{ActiveSettings, Stats};
use crate::write::Listing;
use crate::{Bucket, Granularity, Result, SystemMetric, Timestamp, Write};

/// A bucket that a write goes to.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// The length of the bucket.
    pub(super) granularity: Granularity,
    /// The start of the bucket.
    pub(super) start: i64,
    /// Buckets that start earlier have expired; `None` if there is no retention.
    pub(super) kept_from: Option<i64>,
}

/// Finds buckets, and caches the last ones, because most writes go to the same buckets.
pub(super) struct Planner<'a> {
    active: &'a ActiveSettings,
    now: Timestamp,
    tiers: Vec<PlannedTier>,
    /// The second of the last write, and its buckets.
    last: Option<(i64, Arc<[Target]>)>,
}

struct PlannedTier {
    granularity: Granularity,
    kept_from: Option<i64>,
    last: Option<Bucket>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(stats: &'a Stats, active: &'a ActiveSettings) -> Result<Self> {
        let now = stats.retention_now();
        let granularities = active.settings.granularities.iter();
        let tiers = granularities.map(|&granularity| {
            Ok(PlannedTier {
                granularity,
                kept_from: active.kept_from(granularity, now)?,
                last: None,
            })
        });
        Ok(Self {
            active,
            now,
            tiers: tiers.collect::<Result<_>>()?,
            last: None,
        })
    }

    /// The time of the commit.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// The buckets of a time, one of each granularity that retains it.
    pub(super) fn targets(&mut self, at: Timestamp) -> Result<Arc<[Target]>> {
        let second = crate::calendar::seconds(at);
        if let Some((last, targets)) = &self.last
            && *last == second
        {
            return Ok(Arc::clone(targets));
        }
        let mut targets = Vec::with_capacity(self.tiers.len());
        for tier in &mut self.tiers {
            let start = tier.bucket(self.active, at, second)?.start;
            if tier.kept_from.is_none_or(|kept| start >= kept) {
                targets.push(Target {
                    granularity: tier.granularity,
                    start,
                    kept_from: tier.kept_from,
                });
            }
        }
        let targets: Arc<[Target]> = targets.into();
        self.last = Some((second, Arc::clone(&targets)));
        Ok(targets)
    }

    /// The start of the first bucket of a granularity that has not expired, if it has a retention.
    pub(super) fn kept_from(&self, granularity: Granularity) -> Option<i64> {
        let mut tiers = self.tiers.iter();
        let tier = tiers.find(|tier| tier.granularity == granularity);
        tier.and_then(|tier| tier.kept_from)
    }

    /// The name under which the system metric lists a write, if it is listed.
    pub(super) fn listing<'w>(&self, write: &'w Write) -> Option<&'w str> {
        let is_listed = self.active.settings.system == SystemMetric::Written
            && write.metric.name != SYSTEM_METRIC;
        is_listed.then_some(match write.listing {
            Listing::Listed => write.metric.name.as_str(),
            Listing::Untracked => UNTRACKED,
        })
    }
}

impl PlannedTier {
    fn bucket(&mut self, active: &ActiveSettings, at: Timestamp, second: i64) -> Result<Bucket> {
        if let Some(bucket) = self.last
            && (bucket.start..bucket.end).contains(&second)
        {
            return Ok(bucket);
        }
        let bucket = active.calendar.bucket(self.granularity, at)?;
        self.last = Some(bucket);
        Ok(bucket)
    }
}
