//! Commits requests optimistically: what was read is a precondition, and conflicts are retried.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use espalier_keyspace::{
    Batch, ConflictRetry, ErrorKind as KeyspaceErrorKind, OPTIMISTIC_CONFLICTS_MAX, PrefetchList,
    Snapshot, Transact, retry_conflicts,
};

use super::batch::BatchBuilder;
use super::plan::{Planner, Target};
use super::request_names::remembered;
use crate::calendar::seconds;
use crate::import::ImportProgress;
use crate::layout::{self, BucketKind};
use crate::stats::{ActiveSettings, Stats};
use crate::{Action, Error, Metric, Outcome, Request, Result, SYSTEM_METRIC, SystemMetric, Write};

impl Stats {
    /// Executes each request atomically; returns one result for each. The requests share a commit, unless one
    /// of them is rejected.
    pub(crate) fn commit(&self, requests: &[Request]) -> Vec<Result<Outcome>> {
        match self.commit_together(requests) {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(error) if requests.len() == 1 => vec![Err(error)],
            Err(error)
                if error
                    .keyspace()
                    .is_some_and(|error| !may_be_of_one_request(error.kind())) =>
            {
                requests.iter().map(|_| Err(error.again())).collect()
            }
            Err(_) => {
                let alone = |request| self.commit(std::slice::from_ref(request));
                requests.iter().flat_map(alone).collect()
            }
        }
    }

    fn commit_together(&self, requests: &[Request]) -> Result<Vec<Outcome>> {
        let active = self.active();
        let outcomes = retry_conflicts(ConflictRetry::new(), |conflicts| match conflicts {
            OPTIMISTIC_CONFLICTS_MAX => self.commit_alone(&active, requests),
            _ => self.commit_on_newest(&active, requests),
        })?;
        if let Some(trusted) = self.trusted_time_to_store(&active) {
            self.retention_clock.set_stored(trusted);
        }
        Ok(outcomes)
    }

    fn commit_on_newest(
        &self,
        active: &ActiveSettings,
        requests: &[Request],
    ) -> Result<Vec<Outcome>> {
        let expect = |expected: &mut PrefetchList| self.prefetch(active, requests, expected);
        let mut writes = requests.iter().flat_map(|request| &request.writes);
        // An adjustment continues from an earlier bucket; if a newer bucket than the visible one exists, no
        // precondition covers it.
        let must_be_newest = writes.any(|write| write.action == Action::Adjust);
        let snapshot = || match must_be_newest {
            true => Ok(self.driver.snapshot_with_prefetch(&expect)?),
            false => Ok(self.driver.snapshot_for_update(&expect)?),
        };
        let once = Transact {
            retry: ConflictRetry::never(),
            ..Transact::new(&*self.driver)
        };
        once.run(&snapshot, &mut |snapshot| {
            self.batch(active, &*snapshot, requests)
        })
    }

    /// The progress of the import with a name; `None` if none is remembered.
    pub(crate) fn imported(&self, id: &str) -> Result<Option<ImportProgress>> {
        self.driver.catch_up()?;
        let snapshot = self.driver.snapshot()?;
        let stored = snapshot.get(&self.layout.request(id))?;
        let remembered_request = remembered(stored.as_deref(), seconds(self.retention_now()))?;
        remembered_request
            .map(|remembered_request| ImportProgress::decode(id, remembered_request))
            .transpose()
    }

    /// Prefetches the rows that requests read, as far as these are determined by the requests.
    fn prefetch(&self, active: &ActiveSettings, requests: &[Request], expected: &mut PrefetchList) {
        // An error is reported when the commit is decided.
        let Ok(mut planner) = Planner::new(self, active) else {
            return;
        };
        let mut seen = HashSet::new();
        for request in requests {
            if let Some(id) = &request.id {
                expected.key(self.layout.request(id));
            }
            let writes = request.writes.iter();
            for write in writes.filter(|write| !write.values.is_empty()) {
                let is_first = seen.insert(&write.metric);
                if is_first {
                    expected.key(self.layout.metric(&write.metric));
                }
                match write.action {
                    Action::Observe => self.prefetch_sketches(&mut planner, write, expected),
                    _ if is_first => expected.key(self.layout.recent(&write.metric)),
                    _ => {}
                }
            }
        }
        if !self.has_format.load(Ordering::Relaxed) {
            expected.key(self.layout.settings());
        }
        if active.settings.system == SystemMetric::Written {
            let metric = Metric::new(SYSTEM_METRIC);
            expected.key(self.layout.metric(&metric));
            expected.key(self.layout.recent(&metric));
        }
    }

    fn prefetch_sketches(
        &self,
        planner: &mut Planner<'_>,
        write: &Write,
        expected: &mut PrefetchList,
    ) {
        let Ok(targets) = planner.targets(write.at) else {
            return;
        };
        for target in targets.iter() {
            let bucket = self.sketch_bucket(&write.metric, *target);
            let paths = write.values.iter().map(|(path, _)| path);
            paths.for_each(|path| expected.key(layout::sketch(&bucket, path)));
        }
    }

    /// The key of a bucket's sketches.
    pub(super) fn sketch_bucket(&self, metric: &Metric, target: Target) -> Vec<u8> {
        let kind = BucketKind::Sketches;
        let buckets = self.layout.buckets(kind, metric, target.granularity);
        layout::bucket(&buckets, target.start)
    }

    /// Commits inside an engine write, which no other writer can overtake if the engine serializes writes.
    fn commit_alone(&self, active: &ActiveSettings, requests: &[Request]) -> Result<Vec<Outcome>> {
        let (_, outcomes) = espalier_keyspace::write(&*self.driver, &[], &mut |writer| {
            let (batch, outcomes) = self.batch(active, &*writer.snapshot()?, requests)?;
            batch.apply_to(writer)?;
            Ok::<_, Error>(outcomes)
        })?;
        Ok(outcomes)
    }

    fn batch(
        &self,
        active: &ActiveSettings,
        snapshot: &dyn Snapshot,
        requests: &[Request],
    ) -> Result<(Batch, Vec<Outcome>)> {
        let mut builder = BatchBuilder::new(self, active, snapshot)?;
        let outcomes = requests.iter().map(|request| builder.request(request));
        let outcomes = outcomes.collect::<Result<_>>()?;
        let mut batch = builder.finish()?;
        if let Some(trusted) = self.trusted_time_to_store(active) {
            batch.put(self.layout.clock(), trusted.encode());
        }
        Ok((batch, outcomes))
    }
}

/// Whether an error of a batch may be caused by one of its requests.
fn may_be_of_one_request(kind: KeyspaceErrorKind) -> bool {
    matches!(
        kind,
        KeyspaceErrorKind::KeyTooLong
            | KeyspaceErrorKind::ValueTooLong
            | KeyspaceErrorKind::BatchTooLarge
            | KeyspaceErrorKind::Overflow
    )
}
