//! Appending to the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use espalier_keyspace::Driver;
use espalier_store::Clock;
use parking_lot::Mutex;

use super::error::AuditError;
use super::group::Row;
use super::log_state::LogState;
use super::operation::AuditKind;
use super::pending::Pushed;
use super::query::{self, AuditPage, AuditQuery};
use super::record::{AuditEntry, AuditRecord};
use super::sequence::AuditSequence;
use super::settings::{AuditMode, AuditSettings};
use super::sink::AuditSink;

/// An open log. Shared between threads; a process opens one for a store. Closing or dropping it commits all
/// pending records.
///
/// Records of one log have the order in which `append` was called. Records of several logs have the order of
/// their clocks.
pub struct AuditLog {
    state: Arc<LogState>,
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

impl AuditLog {
    /// Opens the log of a store, and starts its thread.
    ///
    /// # Errors
    /// Those of the engine; stored settings that this version cannot read.
    pub fn open(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Result<Self, AuditError> {
        let state = Arc::new(LogState::open(driver, clock)?);
        let worker = Arc::clone(&state);
        let thread = thread::Builder::new().name("espalier-audit".to_owned());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self {
            state,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Whether records of this kind are made, for callers that would otherwise collect paths in vain. A denial
    /// of an excluded kind is still recorded.
    pub fn is_recorded(&self, kind: AuditKind) -> bool {
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
        if self.state.pending.is_closed() {
            return Err(AuditError::Closed);
        }
        let entry = entry.bounded();
        let value = entry.encode()?;
        let sequence = self.state.sequences.next(&*self.state.clock);
        let operation = entry.operation.name();
        metrics::counter!("espalier_audit_records_total", "operation" => operation).increment(1);
        self.state.send_to_sinks(AuditRecord::new(sequence, entry));
        let key = sequence.key();
        let row = Row { key, value };
        match settings.mode {
            AuditMode::Strict => self.state.commit_now(row)?,
            AuditMode::Off | AuditMode::Relaxed => match self.state.pending.push(row) {
                Pushed::Queued => self.state.count_unpruned(1),
                Pushed::Full => {
                    self.state.count_lost(1);
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
        self.state.flush()
    }

    /// Commits the pending records and ends the thread. Later appends fail. If the engine fails now, the pending
    /// records are lost, and a warning is logged.
    pub fn close(&self) {
        self.state.pending.close();
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
        query::query(&*self.state.driver.snapshot()?, query)
    }

    /// The settings in force in this process.
    pub fn settings(&self) -> Arc<AuditSettings> {
        self.state.settings()
    }

    /// Stores settings. They are in force here on return, and in other processes within
    /// [`crate::audit::MAINTENANCE_INTERVAL`].
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_settings(&self, settings: AuditSettings) -> Result<(), AuditError> {
        self.state.change_settings(settings)
    }

    /// Sends a copy of each further record to `sink`.
    pub fn add_sink(&self, sink: Arc<AuditSink>) {
        self.state.sinks.write().push(sink);
    }

    /// The number of records that this log could not store.
    pub fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Relaxed)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}
