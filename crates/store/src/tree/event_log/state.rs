//! The state of a log: which records there are.

use espalier_keyspace::Snapshot;
use espalier_keyspace::compact_encoding::{put_number, take_number};

use super::record::LogKeys;
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// Which records a log has. Each commit that appends records replaces the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLogState {
    /// The sequence number of the newest record that was ever appended; 0 if there is none.
    pub last: u64,
    /// When it was appended.
    pub last_logged: Timestamp,
    /// The sequence number of the oldest stored record: `last + 1` if all were deleted.
    pub oldest: u64,
    /// When it was appended; that of the newest record if all were deleted.
    pub oldest_logged: Timestamp,
    /// The bytes of the stored records, without their keys.
    pub bytes: u64,
    /// When the log began.
    pub created: Timestamp,
    /// When the newest deleted record was appended; 0 if none was deleted.
    pub aged: Timestamp,
    /// The sequence number of the last record whose clock was set back: the times before it are not ordered.
    pub(super) stepped_at: u64,
    /// The maximum time in milliseconds from an event to its record.
    pub(super) delay_ms_max: u64,
}

impl EventLogState {
    /// The number of stored records.
    pub fn records(&self) -> u64 {
        (self.last + 1).saturating_sub(self.oldest.max(1))
    }

    /// Whether the stored records are in the order of their times.
    pub(super) fn is_ordered(&self) -> bool {
        self.stepped_at <= self.oldest
    }

    /// Reads the state; without a row, that of an empty log.
    pub(super) fn read(snapshot: &dyn Snapshot, keys: LogKeys) -> Result<Self> {
        match snapshot.get(&keys.state())? {
            Some(stored) => Self::decode(&stored),
            None => Ok(Self::default()),
        }
    }

    fn fields(&mut self) -> [&mut u64; 9] {
        [
            &mut self.last,
            &mut self.last_logged.0,
            &mut self.oldest,
            &mut self.oldest_logged.0,
            &mut self.bytes,
            &mut self.created.0,
            &mut self.aged.0,
            &mut self.stepped_at,
            &mut self.delay_ms_max,
        ]
    }

    pub(super) fn encode(mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48);
        for field in self.fields() {
            put_number(&mut bytes, *field);
        }
        bytes
    }

    fn decode(mut stored: &[u8]) -> Result<Self> {
        let mut state = Self::default();
        for field in state.fields() {
            *field = take_number(&mut stored)
                .ok_or_else(|| Error::corrupt("the state of the event log is truncated"))?;
        }
        Ok(state)
    }
}
