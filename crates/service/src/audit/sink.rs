//! Copies of records for programs outside, sent without making a request wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::record::AuditRecord;

/// Maximum number of records that wait for an output. Further ones are dropped and counted; the log in the key
/// space still has them.
pub const SINK_QUEUE_MAX: usize = 4096;

/// How long closing a sink goes on writing the records in the queue. The rest is dropped and counted.
pub const SINK_CLOSE_MAX: Duration = Duration::from_secs(5);

/// Writes records to a file or a socket. Called by one thread.
pub trait AuditOutput: Send + 'static {
    /// The name in metrics and messages.
    fn name(&self) -> &'static str;

    /// Writes one record. Returns within a bounded time.
    ///
    /// # Errors
    /// The record is dropped and counted; the next call tries again.
    fn write(&mut self, record: &AuditRecord) -> io::Result<()>;
}

/// An output with its thread and its queue. Dropping it closes it.
pub struct AuditSink {
    sender: Mutex<Option<SyncSender<Arc<AuditRecord>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    status: Arc<SinkStatus>,
}

/// What the thread of a sink shares with it.
struct SinkStatus {
    output: &'static str,
    dropped: AtomicU64,
    close_by: Mutex<Option<Instant>>,
}

impl AuditSink {
    /// Starts the thread of an output.
    ///
    /// # Errors
    /// Those of starting a thread.
    pub fn new(output: impl AuditOutput) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(SINK_QUEUE_MAX);
        let status = Arc::new(SinkStatus {
            output: output.name(),
            dropped: AtomicU64::new(0),
            close_by: Mutex::new(None),
        });
        let shared = Arc::clone(&status);
        let thread = thread::Builder::new()
            .name(format!("espalier-{}", output.name()))
            .spawn(move || run(output, &receiver, &shared))?;
        Ok(Self {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            status,
        })
    }

    /// Adds a record to the queue. Never waits.
    pub fn offer(&self, record: &Arc<AuditRecord>) {
        let sender = self.sender.lock();
        let sent = sender
            .as_ref()
            .map(|sender| sender.try_send(Arc::clone(record)));
        if !matches!(sent, Some(Ok(()))) {
            let is_full = matches!(sent, Some(Err(TrySendError::Full(_))));
            let reason = if is_full {
                "its queue is full"
            } else {
                "it is closed"
            };
            self.status.count_dropped(&reason);
        }
    }

    /// The number of records that were not written.
    pub fn dropped(&self) -> u64 {
        self.status.dropped.load(Ordering::Relaxed)
    }

    /// Writes the records in the queue, for at most [`SINK_CLOSE_MAX`] and one record, and ends the thread.
    pub fn close(&self) {
        let close_by = Instant::now() + SINK_CLOSE_MAX;
        self.status.close_by.lock().get_or_insert(close_by);
        drop(self.sender.lock().take());
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(
                "the thread of the audit output {} panicked",
                self.status.output
            );
        }
    }
}

impl Drop for AuditSink {
    fn drop(&mut self) {
        self.close();
    }
}

impl SinkStatus {
    fn count_dropped(&self, reason: &dyn std::fmt::Display) {
        metrics::counter!("espalier_audit_dropped_total", "output" => self.output).increment(1);
        let records = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        // Powers of two, so that a long failure does not fill the program's log.
        if records.is_power_of_two() {
            let output = self.output;
            tracing::warn!("{records} audit records were not written to {output}: {reason}");
        }
    }
}

fn run(mut output: impl AuditOutput, records: &Receiver<Arc<AuditRecord>>, status: &SinkStatus) {
    for record in records {
        let close_by = *status.close_by.lock();
        if close_by.is_some_and(|close_by| Instant::now() >= close_by) {
            status.count_dropped(&"it was closed before");
            continue;
        }
        if let Err(error) = output.write(&record) {
            status.count_dropped(&error);
        }
    }
}
