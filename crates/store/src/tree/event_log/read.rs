//! Reads records from a sequence number or a time, and waits for more.

use espalier_keyspace::{Direction, KeyRange, Snapshot, Watch};

use super::record::{self, EventRecord, LogKeys};
use super::state::EventLogState;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::stamp::stamp_key;
use crate::tree::tree::Tree;

/// The maximum number of records of a page.
pub const EVENT_PAGE_RECORDS_MAX: usize = 1000;

/// A page ends when its records have this many bytes. It has at least one record.
pub const EVENT_PAGE_BYTES_MAX: usize = 1 << 20;

/// A page of records.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    /// The records, in order.
    pub records: Vec<EventRecord>,
    /// The sequence number with which the next page begins.
    pub next: u64,
    /// Whether the page ends with the newest record.
    pub is_last: bool,
    /// The number of records that were deleted before they were read.
    pub deleted: u64,
}

impl Tree {
    /// The state of the event log of the anchor.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn event_log(&self) -> Result<EventLogState> {
        let snapshot = self.store().driver().snapshot()?;
        EventLogState::read(&*snapshot, LogKeys(self.id()))
    }

    /// Reads records in order, from a sequence number on: a page.
    ///
    /// # Errors
    /// Those of the engine; [`crate::Error::Corrupt`].
    pub fn events_from(&self, sequence: u64) -> Result<EventPage> {
        let snapshot = self.store().driver().snapshot()?;
        let keys = LogKeys(self.id());
        let state = EventLogState::read(&*snapshot, keys)?;
        let first = sequence.max(1).max(state.oldest);
        let mut page = EventPage {
            next: first,
            is_last: true,
            deleted: first - sequence.clamp(1, first),
            records: Vec::new(),
        };
        let mut range = KeyRange::prefix(&keys.records());
        range.start = keys.record(first);
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        let mut bytes = 0;
        while let Some((key, value)) = cursor.next()? {
            if page.records.len() == EVENT_PAGE_RECORDS_MAX || bytes >= EVENT_PAGE_BYTES_MAX {
                page.is_last = false;
                break;
            }
            bytes += value.len();
            let record = record::decode(keys.sequence(key)?, value)?;
            page.next = record.sequence + 1;
            page.records.push(record);
        }
        Ok(page)
    }

    /// A sequence number at or before the first stored event from a time on, found in a logarithmic number of reads. Later
    /// records may have earlier events.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn event_sequence_at(&self, time: Timestamp) -> Result<u64> {
        let snapshot = self.store().driver().snapshot()?;
        let keys = LogKeys(self.id());
        let state = EventLogState::read(&*snapshot, keys)?;
        let (mut low, mut high) = (state.oldest.max(1), state.last + 1);
        if !state.is_ordered() {
            return Ok(low);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match is_logged_before(&*snapshot, keys, middle, time)? {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Whether every event up to `time` has a record before one that was appended at `logged`.
    pub fn are_events_logged(
        &self,
        state: &EventLogState,
        time: Timestamp,
        logged: Timestamp,
    ) -> bool {
        state.is_ordered() && logged.0 > time.0.saturating_add(state.delay_ms_max)
    }

    /// Watches for further records of the event log: each event means that there may be some.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn watch_events(&self) -> Result<Box<dyn Watch>> {
        self.watch_key(LogKeys(self.id()).state())
    }

    /// Watches for further commits of the datastore, by any process: each event means that there may be some.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn watch_commits(&self) -> Result<Box<dyn Watch>> {
        self.watch_key(stamp_key(&self.id().prefix(Subspace::Tree)))
    }

    fn watch_key(&self, key: Vec<u8>) -> Result<Box<dyn Watch>> {
        let driver = self.store().driver();
        let version = driver.snapshot()?.version();
        let end = [key.as_slice(), &[0]].concat();
        Ok(driver.watch(KeyRange::new(key, end), version)?)
    }
}

/// Whether a record was appended before a time.
fn is_logged_before(
    snapshot: &dyn Snapshot,
    keys: LogKeys,
    sequence: u64,
    time: Timestamp,
) -> Result<bool> {
    match snapshot.get(&keys.record(sequence))? {
        Some(value) => Ok(record::logged_time(&value)? < time),
        None => Ok(true),
    }
}
