//! The state of a log, and the work of its thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use espalier_keyspace::{Driver, Error as EngineError, GroupQueue};
use espalier_store::Clock;
use parking_lot::{Mutex, RwLock};

use super::error::AuditError;
use super::group::{self, GROUP_BYTES_MAX, Row};
use super::pending::{AUDIT_RETRY_MAX, Group, PendingQueue, Work};
use super::record::AuditRecord;
use super::retention::{PRUNE_STEP_MAX, prune_step};
use super::sequence::SequenceSource;
use super::settings::AuditSettings;
use super::sink::AuditSink;

/// How often a log reads the stored settings again, and deletes old records if few are appended.
pub const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);

/// After this many appended records, a log deletes old ones. Less than [`PRUNE_STEP_MAX`], so that deleting is
/// faster than appending.
const PRUNE_AFTER: u64 = PRUNE_STEP_MAX as u64 / 2;

/// Maximum number of steps of deletion at a time.
const PRUNE_STEPS_MAX: usize = 8;

/// What the appending threads and the thread of the log share.
pub(super) struct LogState {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sequences: SequenceSource,
    settings: RwLock<Arc<AuditSettings>>,
    /// Held while settings are read from the engine or stored, when `settings` must not be locked: no append
    /// waits for it.
    changing_settings: Mutex<()>,
    pub(super) pending: PendingQueue,
    /// Held while a group of `pending` is committed.
    committing: Mutex<()>,
    strict: GroupQueue<Row, Result<(), Arc<EngineError>>>,
    records_max: usize,
    unpruned: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) sinks: RwLock<Vec<Arc<AuditSink>>>,
}

impl LogState {
    /// Reads the settings.
    pub(super) fn open(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Result<Self, AuditError> {
        let settings = AuditSettings::load(&*driver.snapshot()?)?;
        Ok(Self {
            records_max: group::records_max(&*driver),
            driver,
            clock,
            sequences: SequenceSource::new(),
            settings: RwLock::new(Arc::new(settings)),
            changing_settings: Mutex::new(()),
            pending: PendingQueue::new(),
            committing: Mutex::new(()),
            strict: GroupQueue::new(GROUP_BYTES_MAX, Row::bytes),
            unpruned: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            sinks: RwLock::default(),
        })
    }

    /// Commits the records that are pending now.
    pub(super) fn flush(&self) -> Result<(), AuditError> {
        let target = self.pending.pushed();
        let _committing = self.committing.lock();
        self.commit_pending(target)
    }

    /// The thread of the log.
    pub(super) fn run(&self) {
        let mut maintenance = Instant::now() + MAINTENANCE_INTERVAL;
        loop {
            match self.pending.wait_for_work(maintenance) {
                Work::Commit => self.commit_or_keep(),
                Work::Maintain => {
                    self.maintain();
                    maintenance = Instant::now() + MAINTENANCE_INTERVAL;
                }
                Work::Close => return self.commit_or_lose(),
            }
        }
    }

    /// Commits all pending records. If that fails, keeps them for another try, except for the first group if
    /// commits have failed for [`AUDIT_RETRY_MAX`].
    fn commit_or_keep(&self) {
        let _committing = self.committing.lock();
        let Err(error) = self.commit_pending(self.pending.pushed()) else {
            return;
        };
        tracing::warn!("audit records cannot be stored, and are retried: {error}");
        let since = self.pending.failing_since();
        if since.is_some_and(|since| since.elapsed() >= AUDIT_RETRY_MAX) {
            self.lose_group();
        }
    }

    /// Commits all pending records. If that fails, they are lost.
    fn commit_or_lose(&self) {
        let _committing = self.committing.lock();
        let target = self.pending.pushed();
        if let Err(error) = self.commit_pending(target) {
            tracing::warn!("audit records are lost at the end of the log: {error}");
        }
        while self.pending.has_before(target) {
            self.lose_group();
        }
    }

    fn lose_group(&self) {
        let group = self.pending.take_group(self.records_max);
        self.count_lost(group.rows.len());
        self.pending.lose(&group.rows);
    }

    /// Commits the first `target` records that were ever pending. The caller holds `committing`.
    fn commit_pending(&self, target: u64) -> Result<(), AuditError> {
        while self.pending.has_before(target) {
            let Group { rows, earlier } = self.pending.take_group(self.records_max);
            let result = group::commit(&*self.driver, &rows, earlier);
            match result {
                Ok(()) => self.pending.finish(&rows),
                Err(error) => {
                    let earlier = earlier.after(&error);
                    self.pending.give_back(Group { rows, earlier });
                    return Err(AuditError::NotStored(Arc::new(error)));
                }
            }
        }
        Ok(())
    }

    /// Commits a row, together with those of other threads.
    pub(super) fn commit_now(&self, row: Row) -> Result<(), AuditError> {
        let committed = self.strict.submit(row, &|rows| self.commit_groups(&rows));
        match committed {
            Some(Ok(())) => {
                self.count_unpruned(1);
                Ok(())
            }
            Some(Err(error)) => {
                self.count_lost(1);
                Err(AuditError::NotStored(error))
            }
            None => {
                self.count_lost(1);
                Err(AuditError::Interrupted)
            }
        }
    }

    fn commit_groups(&self, rows: &[Row]) -> Vec<Result<(), Arc<EngineError>>> {
        let mut results = Vec::with_capacity(rows.len());
        for rows in rows.chunks(self.records_max) {
            let result = group::commit_with_retries(&*self.driver, rows).map_err(Arc::new);
            results.extend(rows.iter().map(|_| result.clone()));
        }
        results
    }

    pub(super) fn send_to_sinks(&self, record: AuditRecord) {
        let sinks = self.sinks.read();
        if sinks.is_empty() {
            return;
        }
        let record = Arc::new(record);
        for sink in sinks.iter() {
            sink.offer(&record);
        }
    }

    pub(super) fn count_unpruned(&self, records: u64) {
        let unpruned = self.unpruned.fetch_add(records, Ordering::Relaxed) + records;
        if unpruned.is_multiple_of(PRUNE_AFTER) {
            self.pending.request_maintenance();
        }
    }

    pub(super) fn count_lost(&self, records: usize) {
        let records = records as u64;
        if records == 0 {
            return;
        }
        metrics::counter!("espalier_audit_lost_total").increment(records);
        let before = self.lost.fetch_add(records, Ordering::Relaxed);
        // Powers of two, so that a long failure does not fill the program's log.
        if before == 0 || before.ilog2() != (before + records).ilog2() {
            let lost = before + records;
            tracing::warn!("{lost} audit records could not be stored since the start");
        }
    }

    /// Reads the settings again, and deletes old records. Errors are logged: the next call tries again.
    fn maintain(&self) {
        if let Err(error) = self.refresh_settings().and_then(|()| self.prune()) {
            tracing::warn!("the settings or the retention of the audit log failed: {error}");
        }
    }

    fn refresh_settings(&self) -> Result<(), AuditError> {
        let _changing = self.changing_settings.lock();
        let stored = AuditSettings::load(&*self.driver.snapshot()?)?;
        *self.settings.write() = Arc::new(stored);
        Ok(())
    }

    /// Stores settings, and applies them.
    pub(super) fn change_settings(&self, settings: AuditSettings) -> Result<(), AuditError> {
        let _changing = self.changing_settings.lock();
        settings.store(&*self.driver)?;
        *self.settings.write() = Arc::new(settings);
        self.pending.request_maintenance();
        Ok(())
    }

    /// The settings in force.
    pub(super) fn settings(&self) -> Arc<AuditSettings> {
        Arc::clone(&self.settings.read())
    }

    fn prune(&self) -> Result<(), AuditError> {
        for _ in 0..PRUNE_STEPS_MAX {
            let settings = self.settings();
            if !prune_step(&*self.driver, &settings, self.clock.now())?.has_more {
                break;
            }
        }
        Ok(())
    }
}
