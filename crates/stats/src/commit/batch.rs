//! The batch of a commit: the writes of all its requests, metric by metric.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use espalier_keyspace::{Batch, KeyRange, Snapshot};

use super::metric_buckets::{BucketChange, MetricBuckets, Workspace};
use super::plan::{Planner, Target};
use super::rows::{RowBefore, Rows};
use crate::layout::{self, BucketKind};
use crate::limits::METRICS_AT_ONCE;
use crate::row::MergeMode;
use crate::stats::{ActiveSettings, Stats};
use crate::{
    Action, Decimal, Error, Metric, Number, Outcome, Path, PathValues, Request, Result,
    SYSTEM_METRIC, Settings, Timestamp, Write, sketch,
};

/// The state while one batch is built.
pub(super) struct BatchBuilder<'a, 'w> {
    pub(super) stats: &'a Stats,
    pub(super) planner: Planner<'a>,
    pub(super) rows: Rows<'a>,
    pub(super) snapshot: &'a dyn Snapshot,
    writes: Vec<PlannedWrite<'w>>,
    /// Writes that the system metric has to list, by second.
    listings: BTreeMap<i64, BTreeMap<&'w str, i128>>,
}

/// A write to the recent row at `key`.
struct PlannedWrite<'w> {
    key: Vec<u8>,
    write: Cow<'w, Write>,
}

impl<'a, 'w> BatchBuilder<'a, 'w> {
    pub(super) fn new(
        stats: &'a Stats,
        active: &'a ActiveSettings,
        snapshot: &'a dyn Snapshot,
    ) -> Result<Self> {
        Ok(Self {
            stats,
            planner: Planner::new(stats, active)?,
            rows: Rows::new(snapshot),
            snapshot,
            writes: Vec::new(),
            listings: BTreeMap::new(),
        })
    }

    /// Adds the writes of a request.
    pub(super) fn request(&mut self, request: &'w Request) -> Result<Outcome> {
        if let Some(id) = &request.id
            && !self.is_due(request, id)?
        {
            return Ok(Outcome::Repeated);
        }
        let mut too_old = 0;
        for write in &request.writes {
            let is_retained = self.write(write);
            if !is_retained.map_err(|error| error.at(&write.metric))? {
                too_old += 1;
            }
            if let Some(name) = self.planner.listing(write) {
                let listed = self.listings.entry(crate::calendar::seconds(write.at));
                *listed.or_default().entry(name).or_default() += i128::from(write.calls);
            }
        }
        Ok(match too_old {
            0 => Outcome::Done,
            all if all == request.writes.len() => Outcome::TooOld,
            too_old => Outcome::DoneInPart { too_old },
        })
    }

    /// Adds a write; returns whether any granularity retains it, or there is nothing to write.
    fn write(&mut self, write: &'w Write) -> Result<bool> {
        if write.values.is_empty() {
            return Ok(true);
        }
        let targets = self.planner.targets(write.at)?;
        if targets.is_empty() {
            return Ok(false);
        }
        if write.action == Action::Observe {
            let mut targets = targets.iter();
            targets.try_for_each(|target| self.observe(write, *target))?;
            return Ok(true);
        }
        if write.metric.name == SYSTEM_METRIC {
            self.plan_listings()?;
        }
        self.plan(Cow::Borrowed(write));
        Ok(true)
    }

    fn plan(&mut self, write: Cow<'w, Write>) {
        let key = self.stats.layout.recent(&write.metric);
        self.writes.push(PlannedWrite { key, write });
    }

    /// Adds the writes that list the writes so far.
    fn plan_listings(&mut self) -> Result<()> {
        for (second, names) in std::mem::take(&mut self.listings) {
            let mut values = PathValues::one(Path::of(["count"])?, count(names.values().sum())?);
            for (name, calls) in names {
                values.set(Path::listing(name), count(calls)?);
            }
            let at = Timestamp::from_second(second).unwrap_or(Timestamp::MIN);
            if self.planner.targets(at)?.is_empty() {
                continue;
            }
            self.plan(Cow::Owned(Write::track(SYSTEM_METRIC, at, values)));
        }
        Ok(())
    }

    fn observe(&mut self, write: &Write, target: Target) -> Result<()> {
        let bucket = self.stats.sketch_bucket(&write.metric, target);
        let mut before = RowBefore::Present;
        for (path, number) in &write.values {
            let key = layout::sketch(&bucket, path);
            let row = sketch::observed(self.rows.get(&key)?, path, *number)?;
            if self.rows.put(&key, row)? == RowBefore::Absent {
                before = RowBefore::Absent;
            }
        }
        match before {
            RowBefore::Present => Ok(()),
            RowBefore::Absent => self.begin_sketches(&write.metric, target),
        }
    }

    /// On the first sketch of a bucket: adds the metric to the list of metrics, and removes expired sketches.
    fn begin_sketches(&mut self, metric: &Metric, target: Target) -> Result<()> {
        let layout = &self.stats.layout;
        self.rows.put(&layout.metric(metric), metric.encode())?;
        if let Some(kept_from) = target.kept_from {
            let start = layout.buckets(BucketKind::Sketches, metric, target.granularity);
            let end = layout::bucket(&start, kept_from);
            self.rows.drop_range(KeyRange::new(start, end));
        }
        Ok(())
    }

    /// Executes the writes; returns the batch.
    pub(super) fn finish(mut self) -> Result<Batch> {
        self.plan_listings()?;
        let mut writes = std::mem::take(&mut self.writes);
        // Stable: writes to one metric keep their order.
        writes.sort_by(|left, right| left.key.cmp(&right.key));
        let metrics: Vec<_> = writes
            .chunk_by(|left, right| left.key == right.key)
            .collect();
        if !metrics.is_empty() {
            self.store_format()?;
        }
        let mut workspace = Workspace::default();
        for metrics in metrics.chunks(METRICS_AT_ONCE) {
            let recent = self.load(metrics)?;
            for (writes, recent) in metrics.iter().zip(recent) {
                self.metric(writes, recent, &mut workspace)?;
            }
        }
        Ok(self.rows.into_batch())
    }

    /// Makes sure that versions which read only rows of single buckets do not open the store.
    fn store_format(&mut self) -> Result<()> {
        if self.stats.has_format.load(Ordering::Relaxed) {
            return Ok(());
        }
        let key = self.stats.layout.settings();
        let row = match self.rows.get(&key)? {
            None => Settings::format_only(),
            Some(stored) if Settings::has_current_format(stored)? => {
                self.stats.has_format.store(true, Ordering::Relaxed);
                return Ok(());
            }
            Some(stored) => match Settings::decode(stored)? {
                Some(settings) => settings.encode()?,
                None => Settings::format_only(),
            },
        };
        self.rows.put(&key, row).map(drop)
    }

    /// The recent rows of metrics. Reads also the rows that list the metrics without one.
    fn load(&mut self, metrics: &[&[PlannedWrite<'_>]]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys = metrics.iter().map(|writes| writes[0].key.as_slice());
        let recent = self.snapshot.get_many(&keys.collect::<Vec<_>>())?;
        let absent = metrics.iter().zip(&recent);
        let absent = absent.filter(|(_, recent)| recent.is_none());
        let listed = absent.map(|(writes, _)| self.stats.layout.metric(&writes[0].write.metric));
        let listed: Vec<_> = listed.collect();
        self.rows
            .load(&listed.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let owned = recent.into_iter().map(|row| row.map(Cow::into_owned));
        Ok(owned.collect())
    }

    /// Executes the writes to one metric, which has this recent row.
    fn metric(
        &mut self,
        writes: &[PlannedWrite<'_>],
        recent: Option<Vec<u8>>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let metric = &writes[0].write.metric;
        let (layout, rows) = (&self.stats.layout, &mut self.rows);
        let mut buckets = MetricBuckets::load(layout, metric, rows, recent.as_deref(), workspace)?;
        for PlannedWrite { write, .. } in writes {
            let targets = self.planner.targets(write.at)?;
            for target in targets.iter() {
                change(&mut buckets, rows, *target, write).map_err(|error| error.at(metric))?;
            }
        }
        let row = (writes[0].key.clone(), recent);
        let kept_from = |granularity| self.planner.kept_from(granularity);
        buckets.finish(rows, row, &kept_from, workspace)
    }
}

fn change(
    buckets: &mut MetricBuckets<'_>,
    rows: &mut Rows<'_>,
    target: Target,
    write: &Write,
) -> Result<()> {
    let values = write.values.as_slice();
    let mode = match write.action {
        Action::Assert => MergeMode::Set,
        Action::Track | Action::Observe => MergeMode::Add,
        Action::Adjust => {
            let added = buckets.add_to_latest(rows, target, &write.values)?;
            let (values, mode) = (added.as_slice(), MergeMode::Add);
            return buckets.change(rows, target, BucketChange { values, mode });
        }
    };
    buckets.change(rows, target, BucketChange { values, mode })
}

fn count(calls: i128) -> Result<Number> {
    let count = Decimal::new(calls, 0).map(Number::Exact);
    count.ok_or_else(|| Error::argument("the number of calls is out of range"))
}
