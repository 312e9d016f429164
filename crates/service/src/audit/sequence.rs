//! The order and the keys of records.

use std::fmt;
use std::str::FromStr;

use espalier_keyspace::{KeyRange, Result as EngineResult};
use espalier_store::{Clock, Subspace, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The byte after [`Subspace::Service`] of records.
const RECORDS: u8 = 0x02;

/// The byte after [`Subspace::Service`] of settings and the counters.
const SETTINGS: u8 = 0x03;

/// Bytes of an encoded sequence.
pub const SEQUENCE_BYTES: usize = 24;

/// Bytes of each of the three numbers of a sequence.
const PART_BYTES: usize = 8;

/// The place of a record in the log: its time, then a random number of the [`crate::audit::AuditLog`] that
/// appended it, then a counter of that log. The text form is 48 hexadecimal digits, which sort the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct AuditSequence {
    time: u64,
    writer: u64,
    counter: u64,
}

impl AuditSequence {
    /// A place before every record of this time.
    pub fn first_at(time: Timestamp) -> Self {
        Self {
            time: time.0,
            ..Self::default()
        }
    }

    /// When the record was appended.
    pub fn time(self) -> Timestamp {
        Timestamp(self.time)
    }

    fn to_bytes(self) -> [u8; SEQUENCE_BYTES] {
        let mut bytes = [0; SEQUENCE_BYTES];
        let parts = [self.time, self.writer, self.counter];
        for (place, part) in bytes.chunks_exact_mut(PART_BYTES).zip(parts) {
            place.copy_from_slice(&part.to_be_bytes());
        }
        bytes
    }

    /// The key of the record's row.
    pub(super) fn key(self) -> Vec<u8> {
        [records_prefix().as_slice(), &self.to_bytes()].concat()
    }

    /// The sequence of a record's key; `None` for any other key.
    pub(super) fn of_key(key: &[u8]) -> Option<Self> {
        let bytes = key.strip_prefix(&records_prefix())?;
        let part = |number: usize| {
            let start = number * PART_BYTES;
            let part = bytes.get(start..start + PART_BYTES)?;
            Some(u64::from_be_bytes(part.try_into().ok()?))
        };
        let sequence = Self {
            time: part(0)?,
            writer: part(1)?,
            counter: part(2)?,
        };
        (bytes.len() == SEQUENCE_BYTES).then_some(sequence)
    }
}

impl fmt::Display for AuditSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:016x}{:016x}{:016x}",
            self.time, self.writer, self.counter
        )
    }
}

impl From<AuditSequence> for String {
    fn from(sequence: AuditSequence) -> Self {
        sequence.to_string()
    }
}

/// The error of a text that is no sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sequence of an audit record has 48 hexadecimal digits")]
pub struct InvalidSequence;

impl FromStr for AuditSequence {
    type Err = InvalidSequence;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hexadecimal = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if text.len() != 2 * SEQUENCE_BYTES || !is_hexadecimal {
            return Err(InvalidSequence);
        }
        let part = |number: usize| {
            let start = number * 2 * PART_BYTES;
            let digits = &text[start..start + 2 * PART_BYTES];
            u64::from_str_radix(digits, 16).map_err(|_| InvalidSequence)
        };
        Ok(Self {
            time: part(0)?,
            writer: part(1)?,
            counter: part(2)?,
        })
    }
}

impl TryFrom<String> for AuditSequence {
    type Error = InvalidSequence;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Creates the sequences of one log.
pub(super) struct SequenceSource {
    writer: u64,
    last: Mutex<AuditSequence>,
}

impl SequenceSource {
    /// A source with a random writer number.
    pub(super) fn new() -> Self {
        Self {
            writer: rand::random(),
            last: Mutex::default(),
        }
    }

    /// The next sequence, after all earlier ones of this source. If the clock is set back by more than
    /// [`espalier_store::CLOCK_STEP_MAX`], later sequences follow the clock.
    pub(super) fn next(&self, clock: &dyn Clock) -> AuditSequence {
        let mut last = self.last.lock();
        let now = clock.now();
        let time = match last.time().is_ahead_of(now) {
            true => now,
            false => now.max(last.time()),
        };
        *last = AuditSequence {
            time: time.0,
            writer: self.writer,
            counter: last.counter + 1,
        };
        *last
    }
}

fn records_prefix() -> [u8; 2] {
    [Subspace::Service as u8, RECORDS]
}

/// All rows of records.
pub(super) fn records_range() -> KeyRange {
    KeyRange::prefix(&records_prefix())
}

/// The key of the settings.
pub(super) fn settings_key() -> Vec<u8> {
    [&[Subspace::Service as u8, SETTINGS], b"settings".as_slice()].concat()
}

/// The key of the number of records.
pub(super) fn count_key() -> Vec<u8> {
    [&[Subspace::Service as u8, SETTINGS], b"count".as_slice()].concat()
}

/// The key of the number of steps that deleted old records.
pub(super) fn prune_steps_key() -> Vec<u8> {
    let name = b"prune-steps".as_slice();
    [&[Subspace::Service as u8, SETTINGS], name].concat()
}

/// Decodes the number of records.
pub(super) fn decode_count(stored: Option<&[u8]>) -> EngineResult<u64> {
    let count = espalier_keyspace::counter::decode(&count_key(), stored)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_texts_sort_as_sequences_do_and_are_read_back() {
        let sequences = [
            (0, 0, 1),
            (1, 7, 2),
            (1, 7, 256),
            (1, 8, 1),
            (256, 0, 0),
            (u64::MAX, 1, 1),
        ]
        .map(|(time, writer, counter)| AuditSequence {
            time,
            writer,
            counter,
        });
        for pair in sequences.windows(2) {
            assert!(pair[0].key() < pair[1].key());
            assert!(pair[0].to_string() < pair[1].to_string());
        }
        for sequence in sequences {
            assert_eq!(AuditSequence::of_key(&sequence.key()), Some(sequence));
            assert_eq!(sequence.to_string().parse(), Ok(sequence));
        }
        for invalid in ["", "1", &"+".repeat(48), &"ß".repeat(24)] {
            assert_eq!(invalid.parse::<AuditSequence>(), Err(InvalidSequence));
        }
        assert_eq!(AuditSequence::of_key(&settings_key()), None);
    }
}
