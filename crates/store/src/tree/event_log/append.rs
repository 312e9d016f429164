//! Appends records, and deletes the oldest ones.

use std::time::Duration;

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};
use espalier_yang::ErrorTag;

use super::record::{self, LogKeys};
use super::settings::EventSettings;
use super::state::EventLogState;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::tree::tree::Tree;

/// The maximum bytes of the content of a record.
pub const EVENT_BYTES_MAX: usize = 1 << 20;

/// A commit deletes at most this many old records for each one that it appends, so that its cost stays bounded after the
/// limits are lowered.
const DELETED_FOR_EACH_MAX: usize = 4;

/// The operations and preconditions of a commit besides those of its records.
const OVERHEAD: usize = 4;

/// An event that is to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// When it occurred; `None` for now.
    pub time: Option<Timestamp>,
    /// The notification, as `module:name`.
    pub name: String,
    /// The instance identifier of the node that contains the notification; empty for one at the top level.
    pub parent: String,
    /// The notification without the nodes around it, as JSON (RFC 7951).
    pub content: Vec<u8>,
}

impl NewEvent {
    /// Its bytes in memory and in the log.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.parent.len() + self.content.len()
    }
}

impl Tree {
    /// Appends events to the log of the anchor, all or none, in one commit. On return they are as durable as any commit.
    /// Returns the sequence number of the last one. The oldest records beyond the limits of the settings are deleted, a
    /// few in each commit.
    ///
    /// # Errors
    /// `too-big` for content beyond [`EVENT_BYTES_MAX`]; `invalid-value` for an event in the future; those of the engine;
    /// [`Error::Unknown`] if the anchor was deleted.
    pub fn append_events(&self, events: &[NewEvent]) -> Result<u64> {
        if events
            .iter()
            .any(|event| event.content.len() > EVENT_BYTES_MAX)
        {
            let message =
                format!("a notification has at most {EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)");
            return Err(Error::data(ErrorTag::TooBig, message));
        }
        self.transact_on_newest(&mut |snapshot| {
            let mut append = Append::new(self, &*snapshot)?;
            for event in events {
                append.add(event)?;
            }
            append.delete_oldest(events.len())?;
            append.finish(self)
        })
    }

    /// The number of events that one commit can append to the log.
    pub fn appended_events_max(&self) -> usize {
        let operations_max = self.store().driver().capability().operations_max;
        operations_max.map_or(usize::MAX, |max| {
            (max.saturating_sub(OVERHEAD) / (1 + DELETED_FOR_EACH_MAX)).max(1)
        })
    }
}

/// A commit in preparation.
struct Append<'s> {
    keys: LogKeys,
    snapshot: &'s dyn Snapshot,
    settings: EventSettings,
    now: Timestamp,
    before: EventLogState,
    state: EventLogState,
    batch: Batch,
}

impl<'s> Append<'s> {
    fn new(tree: &Tree, snapshot: &'s dyn Snapshot) -> Result<Self> {
        let keys = LogKeys(tree.id());
        let before = EventLogState::read(snapshot, keys)?;
        let now = tree.store().now();
        let mut state = before;
        if state.last == 0 {
            state.oldest = 1;
            state.created = now;
        }
        Ok(Self {
            settings: EventSettings::read(snapshot, keys)?,
            keys,
            snapshot,
            now,
            before,
            state,
            batch: Batch::new(),
        })
    }

    fn add(&mut self, event: &NewEvent) -> Result<()> {
        let time = event.time.unwrap_or(self.now);
        if time.is_ahead_of(self.now) {
            let message = "the time of the event is in the future";
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        // An event is not later than its record.
        let now = self.now.max(time);
        let logged = now.after(self.state.last_logged);
        let state = &mut self.state;
        let is_first = state.records() == 0;
        state.last += 1;
        if logged < state.last_logged {
            state.stepped_at = state.last;
        }
        state.last_logged = logged;
        if is_first {
            state.oldest_logged = logged;
        }
        state.delay_ms_max = state.delay_ms_max.max(logged.0.saturating_sub(time.0));
        let value = record::encode(event, logged, time);
        state.bytes += value.len() as u64;
        self.batch.put(self.keys.record(state.last), value);
        Ok(())
    }

    /// Deletes stored records beyond the limits. The new ones are not in the snapshot, and are kept.
    fn delete_oldest(&mut self, appended: usize) -> Result<()> {
        if !self.is_beyond_limits() || self.before.records() == 0 {
            return Ok(());
        }
        // The scan of an engine that keeps deleted rows for a while begins after them.
        let first = self.keys.record(self.state.oldest);
        let range = KeyRange {
            start: first.clone(),
            ..KeyRange::prefix(&self.keys.records())
        };
        let mut cursor = self.snapshot.scan(&range, Direction::Forward)?;
        let mut deleted = 0;
        while let Some((key, value)) = cursor.next()? {
            self.state.oldest = self.keys.sequence(key)?;
            self.state.oldest_logged = record::logged_time(value)?;
            if !self.is_beyond_limits() || deleted == appended * DELETED_FOR_EACH_MAX {
                if deleted > 0 {
                    self.batch.delete_range(KeyRange::new(first, key));
                }
                return Ok(());
            }
            deleted += 1;
            self.state.bytes = self.state.bytes.saturating_sub(value.len() as u64);
            self.state.aged = self.state.oldest_logged;
        }
        self.state.oldest = self.before.last + 1;
        self.batch
            .delete_range(KeyRange::new(first, self.keys.record(self.state.oldest)));
        self.state.oldest_logged = self.state.last_logged;
        Ok(())
    }

    fn is_beyond_limits(&self) -> bool {
        let (state, settings) = (&self.state, &self.settings);
        let age = self.now.since(state.oldest_logged);
        state.records() > settings.records_max
            || state.bytes > settings.bytes_max
            || age > Duration::from_secs(settings.age_seconds_max)
    }

    fn finish(mut self, tree: &Tree) -> Result<(Batch, u64)> {
        let key = self.keys.state();
        let stored = (self.before.last > 0).then(|| self.before.encode());
        self.batch.require(key.clone(), stored);
        self.batch.require_all([tree.anchor_precondition()]);
        if self.state.last > self.before.last {
            self.batch.put(key, self.state.encode());
        }
        Ok((self.batch, self.state.last))
    }
}
