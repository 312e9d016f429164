//! Appending to the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use espalier_keyspace::{Driver, Error as EngineError, GroupQueue};
use espalier_store::Clock;
use parking_lot::{Mutex, RwLock};

use super::error::AuditError;
use super::group::{self, GROUP_BYTES_MAX, Row};
use super::operation::AuditKind;
use super::pending::{AUDIT_RETRY_MAX, Group, PendingQueue, Pushed, Work};
use super::query::{self, AuditPage, AuditQuery};
use super::record::{AuditEntry, AuditRecord};
use super::retention::{PRUNE_STEP_MAX, prune_step};
use super::sequence::{AuditSequence, SequenceSource};
use super::settings::{AuditMode, AuditSettings};
use super::sink::AuditSink;

/// How often a log reads the stored settings again, and deletes old records if few are appended.
pub const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);

/// After this many appended records, a log deletes old ones. Less than [`PRUNE_STEP_MAX`], so that deleting is
/// faster than appending.
const PRUNE_AFTER: u64 = PRUNE_STEP_MAX as u64 / 2;

/// Maximum number of steps of deletion at a time.
const PRUNE_STEPS_MAX: usize = 8;

/// An open log. Shared between threads; a process opens one for a store. Closing or dropping it commits all
/// pending records.
///
/// Records of one log have the order in which `append` was called. Records of several logs have the order of
/// their clocks.
pub struct AuditLog {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The result of [`AuditLog::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The record is committed ([`AuditMode::Strict`]) or pending ([`AuditMode::Relaxed`]).
    Recorded(AuditSequence),
    /// The settings exclude such records.
    Excluded,
    /// The engine has failed for so long that the queue is full. The record is counted as lost.
    Lost,
}

/// What the appending threads and the thread of the log share.
struct Shared {
    driver: Arc<dyn Driver>,
    clock: Arc<dyn Clock>,
    sequences: SequenceSource,
    settings: RwLock<Arc<AuditSettings>>,
    pending: PendingQueue,
    /// Held while a group of `pending` is committed.
    committing: Mutex<()>,
    strict: GroupQueue<Row, Result<(), Arc<EngineError>>>,
    records_max: usize,
    unpruned: AtomicU64,
    lost: AtomicU64,
    sinks: RwLock<Vec<Arc<AuditSink>>>,
}

impl AuditLog {
    /// Opens the log of a store, and starts its thread.
    ///
    /// # Errors
    /// Those of the engine; stored settings that this version cannot read.
    pub fn open(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Result<Self, AuditError> {
        let settings = AuditSettings::load(&*driver.snapshot()?)?;
        let shared = Arc::new(Shared {
            records_max: group::records_max(&*driver),
            driver,
            clock,
            sequences: SequenceSource::new(),
            settings: RwLock::new(Arc::new(settings)),
            pending: PendingQueue::new(),
            committing: Mutex::new(()),
            strict: GroupQueue::new(GROUP_BYTES_MAX, Row::bytes),
            unpruned: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            sinks: RwLock::default(),
        });
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new().name("espalier-audit".to_owned());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Whether records of this kind are made, for callers that would otherwise collect paths in vain. A denial
    /// of an excluded kind is still recorded.
    pub fn records(&self, kind: AuditKind) -> bool {
        let settings = self.settings();
        settings.mode != AuditMode::Off && settings.filter.includes(kind)
    }

    /// Appends a record if the settings include it; see [`AuditMode`] for its durability. Texts that exceed
    /// their limits are truncated. Sends a copy to each sink.
    ///
    /// # Errors
    /// In [`AuditMode::Strict`], if the record could not be committed: the caller fails the request, although
    /// it may have been executed. [`AuditError::Closed`] after [`Self::close`].
    pub fn append(&self, entry: AuditEntry) -> Result<Appended, AuditError> {
        let settings = self.settings();
        if settings.mode == AuditMode::Off || !settings.filter.includes_entry(&entry) {
            return Ok(Appended::Excluded);
        }
        if self.shared.pending.is_closed() {
            return Err(AuditError::Closed);
        }
        let entry = entry.bounded();
        let value = entry.encode()?;
        let sequence = self.shared.sequences.next(&*self.shared.clock);
        let operation = entry.operation.name();
        metrics::counter!("espalier_audit_records_total", "operation" => operation).increment(1);
        self.shared.send_to_sinks(AuditRecord::new(sequence, entry));
        let key = sequence.key();
        let row = Row { key, value };
        match settings.mode {
            AuditMode::Strict => self.shared.commit_now(row)?,
            AuditMode::Off | AuditMode::Relaxed => match self.shared.pending.push(row) {
                Pushed::Queued => self.shared.count_unpruned(1),
                Pushed::Full => {
                    self.shared.count_lost(1);
                    return Ok(Appended::Lost);
                }
                Pushed::Closed => return Err(AuditError::Closed),
            },
        }
        Ok(Appended::Recorded(sequence))
    }

    /// Commits the records that were appended before the call.
    ///
    /// # Errors
    /// Those of the engine. The records stay pending.
    pub fn flush(&self) -> Result<(), AuditError> {
        let target = self.shared.pending.pushed();
        let _committing = self.shared.committing.lock();
        self.shared.commit_pending(target)
    }

    /// Commits the pending records and ends the thread. Later appends fail. If the engine fails now, the pending
    /// records are lost, and a warning is logged.
    pub fn close(&self) {
        self.shared.pending.close();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread of the audit log panicked");
        }
    }

    /// Returns a page of the log, including the records appended before the call.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn query(&self, query: &AuditQuery) -> Result<AuditPage, AuditError> {
        self.flush()?;
        query::query(&*self.shared.driver.snapshot()?, query)
    }

    /// The settings in force in this process.
    pub fn settings(&self) -> Arc<AuditSettings> {
        Arc::clone(&self.shared.settings.read())
    }

    /// Stores settings. They are in force here on return, and in other processes within
    /// [`MAINTENANCE_INTERVAL`].
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_settings(&self, settings: AuditSettings) -> Result<(), AuditError> {
        let mut current = self.shared.settings.write();
        settings.store(&*self.shared.driver)?;
        *current = Arc::new(settings);
        drop(current);
        self.shared.pending.request_maintenance();
        Ok(())
    }

    /// Sends a copy of each further record to `sink`.
    pub fn add_sink(&self, sink: Arc<AuditSink>) {
        self.shared.sinks.write().push(sink);
    }

    /// The number of records that this log could not store.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// The thread of the log.
    fn run(&self) {
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
    fn commit_now(&self, row: Row) -> Result<(), AuditError> {
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

    fn send_to_sinks(&self, record: AuditRecord) {
        let sinks = self.sinks.read();
        if sinks.is_empty() {
            return;
        }
        let record = Arc::new(record);
        for sink in sinks.iter() {
            sink.offer(&record);
        }
    }

    fn count_unpruned(&self, records: u64) {
        let unpruned = self.unpruned.fetch_add(records, Ordering::Relaxed) + records;
        if unpruned.is_multiple_of(PRUNE_AFTER) {
            self.pending.request_maintenance();
        }
    }

    fn count_lost(&self, records: usize) {
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
        // Locked before the settings are read: a change by this process would otherwise be undone.
        let mut current = self.settings.write();
        *current = Arc::new(AuditSettings::load(&*self.driver.snapshot()?)?);
        Ok(())
    }

    fn prune(&self) -> Result<(), AuditError> {
        for _ in 0..PRUNE_STEPS_MAX {
            let settings = Arc::clone(&self.settings.read());
            if !prune_step(&*self.driver, &settings, self.clock.now())?.has_more {
                break;
            }
        }
        Ok(())
    }
}
