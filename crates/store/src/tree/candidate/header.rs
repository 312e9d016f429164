//! What is known of a candidate beside its changes.

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::tree::stamp::Stamp;

/// Stamps of what a candidate changes count from here, so that they are no versions of running.
const STAMPS_FROM: u64 = 1 << 40;

/// Sessions beyond this many are not told one by one.
const SESSIONS_MAX: usize = 64;

/// The header of a candidate. It stays when the changes are gone, so that the number of an edit
/// never comes twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The version of running that the changes were made on.
    pub base: u64,
    /// How many edits there were.
    pub edits: u64,
    /// When the last was.
    pub time: Timestamp,
    /// Who made the changes that are there; empty where there are none.
    pub sessions: Vec<String>,
}

impl Header {
    /// The header after one more edit.
    pub fn edited(&self, base: u64, time: Timestamp, session: &str) -> Self {
        let mut sessions = self.sessions.clone();
        if !sessions.iter().any(|known| known == session) && sessions.len() < SESSIONS_MAX {
            sessions.push(session.to_owned());
        }
        Self {
            base,
            edits: self.edits_shown(base) + 1,
            time: time.after(self.time),
            sessions,
        }
    }

    /// The number of edits that stamps may have shown by now: they count on with running.
    fn edits_shown(&self, running: u64) -> u64 {
        match self.sessions.is_empty() {
            true => self.edits,
            false => self.edits + running.saturating_sub(self.base),
        }
    }

    /// The header after the changes are gone.
    pub fn emptied(&self, running: u64, time: Timestamp) -> Self {
        Self {
            base: 0,
            edits: self.edits_shown(running) + 1,
            time: time.after(self.time),
            sessions: Vec::new(),
        }
    }

    /// The stamp of what the last edit changed.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            version: STAMPS_FROM + self.edits,
            time: self.time,
        }
    }

    /// Packs the header.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.base, self.edits, self.time.0] {
            put_varint(&mut bytes, number);
        }
        for session in &self.sessions {
            put_varint(&mut bytes, session.len() as u64);
            bytes.extend_from_slice(session.as_bytes());
        }
        bytes
    }

    /// Unpacks a header.
    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut header = Self {
            base: take_varint(&mut bytes)?,
            edits: take_varint(&mut bytes)?,
            time: Timestamp(take_varint(&mut bytes)?),
            sessions: Vec::new(),
        };
        while !bytes.is_empty() {
            let length = usize::try_from(take_varint(&mut bytes)?).unwrap_or(usize::MAX);
            let session = bytes.split_off(..length);
            let session = session.and_then(|name| std::str::from_utf8(name).ok());
            let damaged = || Error::corrupt("the header of a candidate does not decode");
            header
                .sessions
                .push(session.ok_or_else(damaged)?.to_owned());
        }
        Ok(header)
    }
}
