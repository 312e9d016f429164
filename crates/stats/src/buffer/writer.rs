//! The buffer, and its flush thread.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::pending::Pending;
use crate::{Error, Request, Result, Stats, Write};

/// The number of parts, which threads fill in parallel. A metric always belongs to the same part, so that its
/// writes keep their order.
const PARTS: usize = 16;

/// The capacity and the flush interval of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of buffered writes (after combining); a thread that exceeds it flushes.
    pub writes: usize,
    /// The maximum time that a write is buffered.
    pub interval: Duration,
}

impl Default for Limits {
    /// 4096 writes, one second.
    fn default() -> Self {
        Self {
            writes: 4096,
            interval: Duration::from_secs(1),
        }
    }
}

/// A write that the store rejected permanently, for example because a sum is out of range, with the writes
/// that were combined with it. It is neither in the store nor in the buffer.
#[derive(Debug)]
pub struct Refused {
    /// The write.
    pub write: Write,
    /// The reason.
    pub error: Error,
}

/// A write buffer for a store. May be shared between threads; it is flushed when dropped.
pub struct Buffer {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

struct Shared {
    stats: Arc<Stats>,
    limits: Limits,
    parts: [Part; PARTS],
    hasher: RandomState,
    refused: Mutex<Vec<Refused>>,
    stopping: Mutex<bool>,
    stopped: Condvar,
}

#[derive(Default)]
struct Part {
    pending: Mutex<Pending>,
    /// Held while the part is committed, so that a later commit cannot overtake this one.
    committing: Mutex<()>,
}

impl Buffer {
    /// A buffer for `stats`, with a thread that flushes it.
    pub fn new(stats: Arc<Stats>, limits: Limits) -> Result<Self> {
        let shared = Arc::new(Shared {
            stats,
            limits,
            parts: Default::default(),
            hasher: RandomState::new(),
            refused: Mutex::default(),
            stopping: Mutex::new(false),
            stopped: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        let worker = std::thread::Builder::new()
            .name("statistics buffer".to_owned())
            .spawn(move || own.run_worker())
            .map_err(|error| {
                Error::argument(format!("starting the flush thread failed: {error}"))
            })?;
        Ok(Self {
            shared,
            worker: Some(worker),
        })
    }

    /// The store behind the buffer.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.shared.stats
    }

    /// Adds a write. If the buffer is full, it is flushed first; if that fails, the write is not added.
    pub fn submit(&self, write: Write) -> Result<()> {
        write.check()?;
        let part = self.shared.part_of(&write);
        let most = self.shared.limits.writes.div_ceil(PARTS).max(1);
        loop {
            {
                let mut pending = part.pending.lock();
                if pending.len() < most {
                    pending.push(write);
                    return Ok(());
                }
            }
            self.shared.flush_part(part)?;
        }
    }

    /// Commits all buffered writes. On an error of the engine, uncommitted writes stay in the buffer.
    pub fn flush(&self) -> Result<()> {
        self.shared.flush()
    }

    /// Removes and returns the writes that were rejected since the last call.
    pub fn refused(&self) -> Vec<Refused> {
        std::mem::take(&mut *self.shared.refused.lock())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        *self.shared.stopping.lock() = true;
        self.shared.stopped.notify_all();
        if let Some(worker) = self.worker.take() {
            // A worker that panicked has nothing left to do; the flush below is the last one.
            drop(worker.join());
        }
        drop(self.shared.flush());
    }
}

impl Shared {
    fn part_of(&self, write: &Write) -> &Part {
        let hash = self.hasher.hash_one(&write.metric);
        &self.parts[hash as usize % PARTS]
    }

    fn run_worker(&self) {
        let mut stopping = self.stopping.lock();
        while !*stopping {
            let next = Instant::now() + self.limits.interval;
            self.stopped.wait_until(&mut stopping, next);
            parking_lot::MutexGuard::unlocked(&mut stopping, || {
                // Writes that failed stay in the buffer, and are retried after the next interval.
                drop(self.flush());
            });
        }
    }

    fn flush(&self) -> Result<()> {
        let mut result = Ok(());
        for part in &self.parts {
            result = result.and(self.flush_part(part));
        }
        result
    }

    fn flush_part(&self, part: &Part) -> Result<()> {
        let _committing = part.committing.lock();
        let writes = part.pending.lock().take();
        if writes.is_empty() {
            return Ok(());
        }
        let whole = self.stats.submit(Request::new(writes.clone()));
        match whole {
            Ok(_) => Ok(()),
            Err(error) if error.keyspace().is_some() => {
                self.put_back(part, writes, &error);
                Err(error)
            }
            Err(_) => self.submit_individually(part, writes),
        }
    }

    /// Puts the writes of a failed commit back, unless the commit may have happened.
    fn put_back(&self, part: &Part, writes: Vec<Write>, error: &Error) {
        let kind = error.keyspace().map(espalier_keyspace::Error::kind);
        if kind == Some(espalier_keyspace::ErrorKind::OutcomeUnknown) {
            let refused = writes.into_iter().map(|write| Refused {
                write,
                error: error.again(),
            });
            self.refused.lock().extend(refused);
        } else {
            part.pending.lock().put_back(writes);
        }
    }

    /// Commits each write by itself, because one of them was rejected.
    fn submit_individually(&self, part: &Part, writes: Vec<Write>) -> Result<()> {
        let mut writes = writes.into_iter();
        while let Some(write) = writes.next() {
            match self.stats.submit(write.clone()) {
                Ok(_) => {}
                Err(error) if error.keyspace().is_some() => {
                    let rest = std::iter::once(write).chain(writes).collect();
                    self.put_back(part, rest, &error);
                    return Err(error);
                }
                Err(error) => self.refused.lock().push(Refused { write, error }),
            }
        }
        Ok(())
    }
}
