//! Following a key: a watch stream, which is resumed after its last event when it breaks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::Result;
use tokio::sync::Mutex;
use tonic::Status;

use super::engine::{Engine, WatchCreateRequest, WatchStream, is_compacted, is_transient};
use super::snapshot::{signed, unsigned};
use crate::staged::engine::{Follow, Followed};

/// How long to wait before a broken stream is resumed.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// A followed key.
pub(super) struct EtcdFollow {
    engine: Arc<Engine>,
    key: Vec<u8>,
    after: u64,
    /// Shared with the task that waits for its next message.
    stream: Option<Arc<Mutex<WatchStream>>>,
    ahead: VecDeque<Followed>,
}

impl EtcdFollow {
    pub(super) fn new(engine: Arc<Engine>, key: &[u8], after: u64) -> Self {
        Self {
            engine,
            key: key.to_vec(),
            after,
            stream: None,
            ahead: VecDeque::new(),
        }
    }

    /// Waits for the next message of the stream until the deadline.
    fn fetch(&mut self, deadline: Instant) -> std::result::Result<(), Status> {
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = self.engine.watch(WatchCreateRequest {
                    key: self.key.clone(),
                    start_revision: signed(self.after + 1),
                })?;
                Arc::new(Mutex::new(stream))
            }
        };
        let waiting = Arc::clone(&stream);
        let left = deadline.saturating_duration_since(Instant::now());
        let received = self.engine.wait_for(async move {
            let mut stream = waiting.lock().await;
            match tokio::time::timeout(left, stream.message()).await {
                Ok(Ok(None)) => Err(Status::unavailable("the watch has ended")),
                Ok(received) => received,
                Err(_) => Ok(None),
            }
        })?;
        let Some(response) = received else {
            self.stream = Some(stream);
            return Ok(());
        };
        for event in response.events {
            let Some(kv) = event.kv else { continue };
            let (value, revision) = (kv.value, unsigned(kv.mod_revision));
            self.after = self.after.max(revision);
            self.ahead.push_back(Followed::Written { value, revision });
        }
        if response.compact_revision > 0 {
            self.ahead.push_back(Followed::Forgotten);
        } else if response.canceled {
            return Err(Status::unavailable(response.cancel_reason));
        } else {
            self.stream = Some(stream);
        }
        Ok(())
    }
}

impl Follow for EtcdFollow {
    fn next(&mut self, timeout: Duration) -> Result<Option<Followed>> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(followed) = self.ahead.pop_front() {
                return Ok(Some(followed));
            }
            match self.fetch(deadline) {
                Ok(()) => {}
                Err(status) if is_compacted(&status) => return Ok(Some(Followed::Forgotten)),
                Err(status) if is_transient(&status) && Instant::now() + RETRY_DELAY < deadline => {
                    self.engine.use_next_server(&status);
                    std::thread::sleep(RETRY_DELAY);
                }
                Err(status) => {
                    self.engine.use_next_server(&status);
                    return Err(self.engine.error(status));
                }
            }
            if self.ahead.is_empty() && Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }
}
