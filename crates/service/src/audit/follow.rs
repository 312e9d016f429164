//! A stream of new records.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Change, Direction, Driver, Snapshot, Watch, WatchEvent};
use espalier_store::Timestamp;

use super::criteria::AuditCriteria;
use super::error::AuditError;
use super::query::{AuditOrder, AuditQuery, query};
use super::record::AuditRecord;
use super::sequence::{AuditSequence, records_range};

/// A record may be committed after records with later times, by this much. If the engine cannot report single
/// commits, the records of this time are read again.
pub const FOLLOW_OVERLAP: Duration = Duration::from_secs(10);

/// The number of returned records that a follower remembers, so that it returns none of them again.
pub const FOLLOW_SEEN_MAX: usize = 20_000;

/// The first record of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowStart {
    /// The records that are committed after the call.
    Now,
    /// All records from this time on, the stored ones first.
    From(Timestamp),
    /// All records after this one, the stored ones first. To resume: a record that is committed before the
    /// call, after records with later times, is missed.
    After(AuditSequence),
}

/// Returns the records of all processes as they are committed, each once.
pub struct AuditFollower {
    driver: Arc<dyn Driver>,
    watch: Box<dyn Watch>,
    criteria: AuditCriteria,
    from: Timestamp,
    ready: VecDeque<AuditRecord>,
    seen: BTreeSet<AuditSequence>,
    /// Rows up to this one are not returned when rows are read again.
    watermark: AuditSequence,
    latest: AuditSequence,
    /// The place of the stored records that are still to be read.
    backlog: Option<AuditSequence>,
}

impl AuditFollower {
    /// Follows the log of a store. Only records that fulfil the criteria are returned.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new(
        driver: Arc<dyn Driver>,
        start: FollowStart,
        criteria: AuditCriteria,
    ) -> Result<Self, AuditError> {
        let snapshot = driver.snapshot()?;
        let watch = driver.watch(records_range(), snapshot.version())?;
        let mut follower = Self {
            watch,
            criteria,
            from: Timestamp::default(),
            ready: VecDeque::new(),
            seen: BTreeSet::new(),
            watermark: AuditSequence::default(),
            latest: AuditSequence::default(),
            backlog: None,
            driver: Arc::clone(&driver),
        };
        match start {
            FollowStart::Now => follower.skip_stored(&*snapshot)?,
            FollowStart::From(time) => {
                follower.from = time;
                follower.start_at(AuditSequence::first_at(time));
            }
            FollowStart::After(sequence) => follower.start_at(sequence),
        }
        Ok(follower)
    }

    fn start_at(&mut self, sequence: AuditSequence) {
        self.watermark = sequence;
        self.latest = sequence;
        self.backlog = Some(sequence);
    }

    /// Marks the stored records as seen: those of the last [`FOLLOW_OVERLAP`] one by one.
    fn skip_stored(&mut self, snapshot: &dyn Snapshot) -> Result<(), AuditError> {
        let range = records_range();
        let mut cursor = snapshot.scan(&range, Direction::Backward)?;
        while let Some((key, _)) = cursor.next()? {
            let Some(sequence) = AuditSequence::of_key(key) else {
                continue;
            };
            self.latest = self.latest.max(sequence);
            if sequence < overlap_before(self.latest) || self.seen.len() == FOLLOW_SEEN_MAX {
                self.watermark = sequence;
                break;
            }
            self.seen.insert(sequence);
        }
        Ok(())
    }

    /// Returns the next record, waiting at most `timeout`; `None` if there is none in that time.
    ///
    /// # Errors
    /// Those of the engine. The follower remains usable.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<AuditRecord>, AuditError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            if let Some(after) = self.backlog {
                self.backlog = self.read_page(after)?;
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.watch.next(left)? {
                Some(event) => self.receive(event),
                None => return Ok(None),
            }
        }
    }

    fn receive(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Commit { changes, .. } => {
                for change in changes {
                    if let Change::Put { key, value } = change
                        && let Some(record) = AuditRecord::decode(&key, &value)
                    {
                        self.offer(record);
                    }
                }
            }
            WatchEvent::Gap { .. } => self.reread(),
        }
    }

    /// Reads the records again that the watch did not report.
    fn reread(&mut self) {
        self.backlog = Some(self.watermark.max(overlap_before(self.latest)));
    }

    fn read_page(&mut self, after: AuditSequence) -> Result<Option<AuditSequence>, AuditError> {
        let page_query = AuditQuery {
            order: AuditOrder::OldestFirst,
            after: Some(after),
            ..AuditQuery::default()
        };
        let page = query(&*self.driver.snapshot()?, &page_query)?;
        for record in page.records {
            if record.sequence > self.watermark {
                self.offer(record);
            }
        }
        Ok(page.next)
    }

    /// Returns the record to the caller, unless it was returned before.
    fn offer(&mut self, record: AuditRecord) {
        self.latest = self.latest.max(record.sequence);
        if !self.seen.insert(record.sequence) {
            return;
        }
        if self.seen.len() > FOLLOW_SEEN_MAX
            && let Some(first) = self.seen.pop_first()
        {
            self.watermark = self.watermark.max(first);
        }
        if record.time >= self.from && self.criteria.matches(&record.entry) {
            self.ready.push_back(record);
        }
    }
}

/// The place [`FOLLOW_OVERLAP`] before a record.
fn overlap_before(sequence: AuditSequence) -> AuditSequence {
    let overlap = u64::try_from(FOLLOW_OVERLAP.as_millis()).unwrap_or(u64::MAX);
    AuditSequence::first_at(Timestamp(sequence.time().0.saturating_sub(overlap)))
}
