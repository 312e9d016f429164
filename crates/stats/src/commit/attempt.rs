//! Commits requests optimistically: what was read is a precondition, and conflicts are retried.

use espalier_keyspace::{
    Batch, ConflictRetry, ErrorKind as KeyspaceErrorKind, KeyRange, OPTIMISTIC_CONFLICTS_MAX,
    PrefetchList, Snapshot, Transact, retry_conflicts,
};

use super::latest_value::add_to_latest;
use super::plan::{Planner, Target};
use super::rows::{RowBefore, Rows};
use crate::calendar::seconds;
use crate::import::{ImportProgress, name_in_use};
use crate::limits::REQUEST_ID_SECONDS;
use crate::number::{put_varint, take_varint};
use crate::row::MergeMode;
use crate::stats::{ActiveSettings, Stats};
use crate::{Action, Error, Outcome, Request, Result, Write, layout, sketch};

/// The maximum number of old request names that a named request removes.
const REQUESTS_REMOVED_MAX: usize = 16;

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
        let mut planner = Planner::new(self, active);
        for request in requests {
            if let Some(id) = &request.id {
                expected.key(self.layout.request(id));
            }
            for write in &request.writes {
                self.prefetch_write(&mut planner, write, expected);
                if let Ok(Some(listing)) = planner.listing(write) {
                    self.prefetch_write(&mut planner, &listing, expected);
                }
            }
        }
    }

    fn prefetch_write(
        &self,
        planner: &mut Planner<'_>,
        write: &Write,
        expected: &mut PrefetchList,
    ) {
        if write.values.is_empty() {
            return;
        }
        expected.key(self.layout.metric(&write.metric));
        for target in planner.targets(write).unwrap_or_default() {
            let bucket = target.key();
            match write.action {
                Action::Track | Action::Assert | Action::Adjust => expected.key(bucket),
                Action::Observe => {
                    let paths = write.values.iter().map(|(path, _)| path);
                    paths.for_each(|path| expected.key(layout::sketch(&bucket, path)));
                }
            }
        }
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
        let mut builder = BatchBuilder {
            stats: self,
            planner: Planner::new(self, active),
            rows: Rows::new(snapshot),
            snapshot,
        };
        let outcomes = requests.iter().map(|request| builder.request(request));
        let outcomes = outcomes.collect::<Result<_>>()?;
        let mut batch = builder.rows.into_batch();
        if let Some(trusted) = self.trusted_time_to_store(active) {
            batch.put(self.layout.clock(), trusted.encode());
        }
        Ok((batch, outcomes))
    }
}

/// The oldest second whose requests are still remembered.
fn oldest(now: i64) -> i64 {
    now.saturating_sub(REQUEST_ID_SECONDS)
}

/// The content of a request's row, if it is still remembered.
fn remembered(stored: Option<&[u8]>, now: i64) -> Result<Option<&[u8]>> {
    let Some(mut row) = stored else {
        return Ok(None);
    };
    let done_at = i64::try_from(take_varint(&mut row)?).unwrap_or(i64::MAX);
    Ok((done_at >= oldest(now)).then_some(row))
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

/// The state while one batch is built.
struct BatchBuilder<'a> {
    stats: &'a Stats,
    planner: Planner<'a>,
    rows: Rows<'a>,
    snapshot: &'a dyn Snapshot,
}

impl BatchBuilder<'_> {
    fn request(&mut self, request: &Request) -> Result<Outcome> {
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
            if let Some(listing) = self.planner.listing(write)? {
                self.write(&listing)?;
            }
        }
        Ok(match too_old {
            0 => Outcome::Done,
            all if all == request.writes.len() => Outcome::TooOld,
            too_old => Outcome::DoneInPart { too_old },
        })
    }

    /// Writes to the retained buckets; returns whether there are any, or there is nothing to write.
    fn write(&mut self, write: &Write) -> Result<bool> {
        let values = write.values.as_slice();
        if values.is_empty() {
            return Ok(true);
        }
        let targets = self.planner.targets(write)?;
        let is_kept = !targets.is_empty();
        for target in targets {
            let key = target.key();
            let before = match write.action {
                Action::Track => self.rows.change(&key, values, MergeMode::Add)?,
                Action::Assert => self.rows.change(&key, values, MergeMode::Set)?,
                Action::Adjust => {
                    let added =
                        add_to_latest(&mut self.rows, self.snapshot, &target, &write.values)?;
                    self.rows.change(&key, added.as_slice(), MergeMode::Add)?
                }
                Action::Observe => self.observe(&key, write)?,
            };
            if before == RowBefore::Absent {
                self.begin_bucket(write, &target)?;
            }
        }
        Ok(is_kept)
    }

    fn observe(&mut self, bucket: &[u8], write: &Write) -> Result<RowBefore> {
        let mut before = RowBefore::Present;
        for (path, number) in &write.values {
            let key = layout::sketch(bucket, path);
            let row = sketch::observed(self.rows.get(&key)?, path, *number)?;
            if self.rows.put(&key, row)? == RowBefore::Absent {
                before = RowBefore::Absent;
            }
        }
        Ok(before)
    }

    /// On the first value of a bucket: adds the metric to the list of metrics, and removes expired buckets.
    fn begin_bucket(&mut self, write: &Write, target: &Target) -> Result<()> {
        let key = self.stats.layout.metric(&write.metric);
        self.rows.put(&key, write.metric.encode())?;
        if let Some(kept_from) = target.kept_from {
            let start = target.buckets.clone();
            let end = layout::bucket(&target.buckets, kept_from);
            self.rows.drop_range(KeyRange::new(start, end));
        }
        Ok(())
    }

    /// Whether a named request is to be executed: not if the same request was executed under its name while
    /// names are remembered; a different request under that name is an error. Stores the name, and removes
    /// some old ones.
    fn is_due(&mut self, request: &Request, id: &str) -> Result<bool> {
        let now = seconds(self.planner.now());
        let key = self.stats.layout.request(id);
        let stored = self.rows.get(&key)?;
        let remembered_request = remembered(stored, now)?;
        let rest = match request.part {
            Some(part) => {
                let done = remembered_request
                    .map(|remembered_request| ImportProgress::decode(id, remembered_request))
                    .transpose()?;
                if done.map_or(0, |done| done.line) != part.after {
                    return Ok(false);
                }
                part.progress.encode()
            }
            None => {
                let fingerprint = request.fingerprint();
                match remembered_request {
                    // Earlier versions stored the time only; the rest is empty.
                    Some(done) if done.is_empty() || done == fingerprint => return Ok(false),
                    Some(_) => return Err(name_in_use(id)),
                    None => fingerprint.to_vec(),
                }
            }
        };
        let mut value = Vec::new();
        put_varint(&mut value, u128::from(now.max(0).unsigned_abs()));
        value.extend(rest);
        self.rows.put(&key, value)?;
        let time = self.stats.layout.request_time(now.max(0), id);
        self.rows.put(&time, key)?;
        self.remove_requests_before(oldest(now))?;
        Ok(true)
    }

    fn remove_requests_before(&mut self, second: i64) -> Result<()> {
        let range = self.stats.layout.requests_before(second);
        let mut cursor = self
            .snapshot
            .scan(&range, espalier_keyspace::Direction::Forward)?;
        for _ in 0..REQUESTS_REMOVED_MAX {
            let Some((time, request)) = cursor.next()? else {
                break;
            };
            self.rows.forget_request(time, request, second)?;
        }
        Ok(())
    }
}
