//! Following a key: a stream of the server, begun again where it ended when it breaks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::Result;
use tokio::sync::Mutex;
use tonic::Status;

use super::engine::{Engine, WatchCreateRequest, Watching, is_compacted, is_passing};
use super::snapshot::{signed, unsigned};
use crate::staged::engine::{Follow, Followed};

/// How long to wait before a broken stream is begun again.
const AGAIN: Duration = Duration::from_millis(50);

/// A followed key.
pub(super) struct EtcdFollow {
    engine: Arc<Engine>,
    key: Vec<u8>,
    after: u64,
    /// Shared with the work that waits for it.
    stream: Option<Arc<Mutex<Watching>>>,
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

    /// Waits for the stream until the deadline.
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
        let told = self.engine.wait_for(async move {
            let mut stream = waiting.lock().await;
            match tokio::time::timeout(left, stream.message()).await {
                Ok(Ok(None)) => Err(Status::unavailable("the watch has ended")),
                Ok(told) => told,
                Err(_) => Ok(None),
            }
        })?;
        let Some(told) = told else {
            self.stream = Some(stream);
            return Ok(());
        };
        for event in told.events {
            let Some(kv) = event.kv else { continue };
            let (value, revision) = (kv.value, unsigned(kv.mod_revision));
            self.after = self.after.max(revision);
            self.ahead.push_back(Followed::Written { value, revision });
        }
        if told.compact_revision > 0 {
            self.ahead.push_back(Followed::Forgotten);
        } else if told.canceled {
            return Err(Status::unavailable(told.cancel_reason));
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
                Err(status) if is_passing(&status) && Instant::now() + AGAIN < deadline => {
                    self.engine.turn_away(&status);
                    std::thread::sleep(AGAIN);
                }
                Err(status) => {
                    self.engine.turn_away(&status);
                    return Err(self.engine.error(status));
                }
            }
            if self.ahead.is_empty() && Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }
}
