//! A record, and its stored form.

use espalier_keyspace::compact_encoding::{put_bytes, put_number, take_bytes, take_number};
use espalier_keyspace::tuple;

use super::append::NewEvent;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::{TreeId, anchor_prefix};
use crate::subspace::Subspace;

/// What follows the anchor in a key.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Kind {
    State = 0,
    Settings = 1,
    Record = 2,
}

/// The keys of an event log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogKeys(pub TreeId);

impl LogKeys {
    fn key(self, kind: Kind) -> Vec<u8> {
        let mut key = anchor_prefix(Subspace::Events, self.0.anchor);
        key.push(kind as u8);
        key
    }

    /// The key of the state.
    pub fn state(self) -> Vec<u8> {
        self.key(Kind::State)
    }

    /// The key of the settings.
    pub fn settings(self) -> Vec<u8> {
        self.key(Kind::Settings)
    }

    /// The prefix of the keys of records.
    pub fn records(self) -> Vec<u8> {
        self.key(Kind::Record)
    }

    /// The key of a record.
    pub fn record(self, sequence: u64) -> Vec<u8> {
        let mut key = self.records();
        tuple::put_unsigned(&mut key, sequence);
        key
    }

    /// The sequence number of the key of a record.
    pub fn sequence(self, key: &[u8]) -> Result<u64> {
        let mut rest = key.get(self.records().len()..).unwrap_or_default();
        match tuple::take(&mut rest)? {
            tuple::Element::Integer(sequence) => u64::try_from(sequence).ok(),
            _ => None,
        }
        .ok_or_else(|| Error::corrupt("a key of the event log has no sequence number"))
    }
}

/// A notification of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Its number, from 1, in the order of the commits that appended the records.
    pub sequence: u64,
    /// When it was appended. Not earlier than the time of the record before, unless the clock was wrong.
    pub logged: Timestamp,
    /// When the event occurred (RFC 5277 §2.2.1 `eventTime`); not later than `logged`.
    pub time: Timestamp,
    /// The notification, as `module:name`.
    pub name: String,
    /// The instance identifier of the node that contains the notification; empty for one at the top level.
    pub parent: String,
    /// The notification without the nodes around it, as JSON (RFC 7951).
    pub content: Vec<u8>,
}

/// The stored form of an event that is appended at a time.
pub(super) fn encode(event: &NewEvent, logged: Timestamp, time: Timestamp) -> Vec<u8> {
    let texts = event.name.len() + event.parent.len();
    let mut bytes = Vec::with_capacity(event.content.len() + texts + 24);
    put_number(&mut bytes, logged.0);
    put_number(&mut bytes, time.0);
    put_bytes(&mut bytes, event.name.as_bytes());
    put_bytes(&mut bytes, event.parent.as_bytes());
    bytes.extend_from_slice(&event.content);
    bytes
}

/// When a record was appended.
pub(super) fn logged_time(mut value: &[u8]) -> Result<Timestamp> {
    take_number(&mut value).map(Timestamp).ok_or_else(truncated)
}

/// Reads a record.
pub(super) fn decode(sequence: u64, mut value: &[u8]) -> Result<EventRecord> {
    let rest = &mut value;
    let logged = take_number(rest).ok_or_else(truncated)?;
    let time = take_number(rest).ok_or_else(truncated)?;
    let mut text = || {
        let bytes = take_bytes(rest).ok_or_else(truncated)?;
        String::from_utf8(bytes.to_vec())
            .map_err(|_| Error::corrupt("a text of the event log is not UTF-8"))
    };
    Ok(EventRecord {
        sequence,
        logged: Timestamp(logged),
        time: Timestamp(time),
        name: text()?,
        parent: text()?,
        content: value.to_vec(),
    })
}

fn truncated() -> Error {
    Error::corrupt("a record of the event log is truncated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let event = NewEvent {
            time: None,
            name: "m:alarm".to_owned(),
            parent: "/m:device[name='a']".to_owned(),
            content: br#"{"m:alarm":{}}"#.to_vec(),
        };
        let value = encode(&event, Timestamp(2000), Timestamp(1500));
        let record = decode(7, &value).unwrap();
        assert_eq!(
            (record.sequence, record.logged, record.time),
            (7, Timestamp(2000), Timestamp(1500))
        );
        assert_eq!(
            (record.name, record.parent, record.content),
            (event.name, event.parent, event.content)
        );
        assert_eq!(logged_time(&value).unwrap(), Timestamp(2000));
        assert!(decode(7, &value[..8]).is_err());
    }

    #[test]
    fn keys_are_ordered_by_sequence_number() {
        let keys = LogKeys(TreeId {
            anchor: 300,
            datastore: 0,
        });
        let sequences = [1, 2, 255, 256, 65_535, 65_536, u64::MAX];
        let encoded: Vec<Vec<u8>> = sequences.map(|sequence| keys.record(sequence)).to_vec();
        assert!(encoded.is_sorted());
        for (key, sequence) in encoded.iter().zip(sequences) {
            assert_eq!(keys.sequence(key).unwrap(), sequence);
        }
    }
}
