//! Watches: each has a connection of its own, which blocks on the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};
use redis::{RedisResult, Value};

use super::engine::{
    Engine, ServerConnection, bytes, decode_changes, is_transient, unexpected_reply,
};
use crate::recent_commits::{deadline, event_of_changes};

/// The most log entries of one request.
const ENTRIES: usize = 64;

/// The longest that one request blocks, and so the longest until a dead connection is detected.
const WAIT_MAX: Duration = Duration::from_secs(5);

pub(super) struct RedisWatch {
    engine: Arc<Engine>,
    range: KeyRange,
    /// The last version that was reported or skipped.
    after: Version,
    connection: Option<ServerConnection>,
    events: VecDeque<WatchEvent>,
}

impl RedisWatch {
    pub(super) fn new(engine: Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            engine,
            range,
            after,
            connection: None,
            events: VecDeque::new(),
        }
    }

    /// Waits for entries of the log until the deadline.
    fn fetch(&mut self, deadline: Instant) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connect_deadline = deadline.max(self.engine.pool.deadline());
                self.engine.pool.take_until(connect_deadline)?.connection
            }
        };
        match self.read(&mut connection, deadline) {
            Ok(entries) => {
                self.connection = Some(connection);
                entries
                    .into_iter()
                    .try_for_each(|entry| self.push_entry(entry))
            }
            Err(error) if is_transient(&error) && Instant::now() < deadline => Ok(()),
            Err(error) => Err(self.engine.pool.error(error)),
        }
    }

    fn read(
        &self,
        connection: &mut ServerConnection,
        deadline: Instant,
    ) -> RedisResult<Vec<Value>> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.min(WAIT_MAX);
        let mut command = redis::cmd("XREAD");
        command.arg("COUNT").arg(ENTRIES);
        // BLOCK 0 would wait forever.
        if let Ok(wait @ 1..) = u64::try_from(left.as_millis()) {
            command.arg("BLOCK").arg(wait);
        }
        command.arg("STREAMS").arg(&self.engine.names.log);
        command.arg(format!("{}-0", self.after.0));
        connection.wait_at_most(self.engine.pool.timeout + left)?;
        // [[name, entries]], or nil.
        let streams = match connection.run(&command)? {
            Value::Array(streams) => streams,
            Value::Map(mut streams) => {
                let entries = streams.pop().map(|(_, entries)| entries);
                return Ok(list(entries.unwrap_or_default()));
            }
            _ => return Ok(Vec::new()),
        };
        let stream = streams.into_iter().next().map(list).unwrap_or_default();
        Ok(stream.into_iter().nth(1).map(list).unwrap_or_default())
    }

    /// Adds the event of a log entry: `[id, [s, size, name, text, name, text, …]]`.
    fn push_entry(&mut self, entry: Value) -> Result<()> {
        let mut entry = list(entry).into_iter();
        let id = entry.next().map(bytes).transpose()?.flatten();
        let version = id
            .as_deref()
            .and_then(version_of)
            .ok_or_else(unexpected_reply)?;
        let fields = entry.next().map(list).unwrap_or_default();
        let mut fields = fields.into_iter().skip(2).map(bytes);
        let mut changes = Vec::new();
        let mut is_logged = false;
        while let Some(name) = fields.next() {
            let (name, text) = (name?, fields.next().transpose()?.flatten());
            let text = text.ok_or_else(unexpected_reply)?;
            is_logged |= !text.is_empty();
            decode_changes(&name.unwrap_or_default(), &text, &mut changes)?;
        }
        if version.0 > self.after.0 + 1 {
            let version = Version(version.0 - 1);
            self.events.push_back(WatchEvent::Gap { version });
        }
        self.after = version;
        if !is_logged {
            self.events.push_back(WatchEvent::Gap { version });
            return Ok(());
        }
        let event = event_of_changes(version, changes, &self.range);
        self.events.extend(event);
        Ok(())
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

fn version_of(id: &[u8]) -> Option<Version> {
    let text = std::str::from_utf8(id).ok()?;
    let (version, _) = text.split_once('-')?;
    version.parse().ok().map(Version)
}

impl Watch for RedisWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            self.fetch(deadline)?;
            if self.events.is_empty() && Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }
}
