//! Finds the rows that a write changes.

use crate::layout::{self, BucketKind};
use crate::metric::{SYSTEM_METRIC, UNTRACKED};
use crate::stats::{ActiveSettings, Stats};
use crate::write::Listing;
use crate::{
    Action, Bucket, Granularity, Metric, Number, Path, PathValues, Result, SystemMetric, Timestamp,
    Write,
};

/// A bucket that a write goes to.
pub(super) struct Target {
    /// The key prefix of the metric's buckets.
    pub(super) buckets: Vec<u8>,
    /// The start of the bucket.
    pub(super) start: i64,
    /// Buckets that start earlier have expired; `None` if there is no retention.
    pub(super) kept_from: Option<i64>,
}

/// Finds buckets, and caches the last ones, because most writes go to the same buckets.
pub(super) struct Planner<'a> {
    stats: &'a Stats,
    active: &'a ActiveSettings,
    now: Timestamp,
    last: Vec<(Granularity, Bucket)>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(stats: &'a Stats, active: &'a ActiveSettings) -> Self {
        Self {
            stats,
            active,
            now: stats.retention_now(),
            last: Vec::new(),
        }
    }

    /// The time of the commit.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// The buckets of a write, one of each granularity that retains it.
    pub(super) fn targets(&mut self, write: &Write) -> Result<Vec<Target>> {
        let kind = match write.action {
            Action::Track | Action::Assert | Action::Adjust => BucketKind::Numbers,
            Action::Observe => BucketKind::Sketches,
        };
        self.targets_of(&write.metric, kind, write.at)
    }

    fn targets_of(
        &mut self,
        metric: &Metric,
        kind: BucketKind,
        at: Timestamp,
    ) -> Result<Vec<Target>> {
        let granularities = self.active.settings.granularities.iter();
        let mut targets = Vec::with_capacity(granularities.len());
        for &granularity in granularities.clone() {
            let start = self.bucket(granularity, at)?.start;
            let kept_from = self.active.kept_from(granularity, self.now)?;
            if kept_from.is_none_or(|kept| start >= kept) {
                targets.push(Target {
                    buckets: self.stats.layout.buckets(kind, metric, granularity),
                    start,
                    kept_from,
                });
            }
        }
        Ok(targets)
    }

    fn bucket(&mut self, granularity: Granularity, at: Timestamp) -> Result<Bucket> {
        let second = crate::calendar::seconds(at);
        let last = self
            .last
            .iter_mut()
            .find(|(cached, _)| *cached == granularity);
        if let Some((_, bucket)) = &last
            && (bucket.start..bucket.end).contains(&second)
        {
            return Ok(*bucket);
        }
        let bucket = self.active.calendar.bucket(granularity, at)?;
        match last {
            Some((_, cached)) => *cached = bucket,
            None => self.last.push((granularity, bucket)),
        }
        Ok(bucket)
    }

    /// The write to the system metric that lists this write, if it is listed.
    pub(super) fn listing(&self, write: &Write) -> Result<Option<Write>> {
        let is_listed = self.active.settings.system == SystemMetric::Written
            && write.metric.name != SYSTEM_METRIC;
        if !is_listed {
            return Ok(None);
        }
        let name = match write.listing {
            Listing::Listed => write.metric.name.as_str(),
            Listing::Untracked => UNTRACKED,
        };
        let values: PathValues = [
            (Path::of(["count"])?, Number::from(write.calls)),
            (Path::listing(name), Number::from(write.calls)),
        ]
        .into_iter()
        .collect();
        Ok(Some(Write::track(SYSTEM_METRIC, write.at, values)))
    }
}

impl Target {
    /// The key of the bucket.
    pub(super) fn key(&self) -> Vec<u8> {
        layout::bucket(&self.buckets, self.start)
    }
}
