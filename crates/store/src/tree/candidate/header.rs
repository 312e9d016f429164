//! The header of a candidate: its metadata.

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::tree::stamp::Stamp;

/// The first stamp version of candidates, so that theirs are distinct from versions of running.
const STAMPS_FROM: u64 = 1 << 40;

/// Maximum number of sessions that are recorded.
const SESSIONS_MAX: usize = 64;

/// The header of a candidate. It is kept when the changes are discarded, so that edit numbers are never
/// reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The version of running that the changes are based on.
    pub base: u64,
    /// The number of edits.
    pub edits: u64,
    /// The time of the last edit.
    pub time: Timestamp,
    /// The sessions that made the current changes; empty if there are none.
    pub sessions: Vec<String>,
}

impl Header {
    /// The header after one more edit.
    pub fn edited(&self, base: u64, time: Timestamp, session: &str) -> Self {
        let mut sessions = self.sessions.clone();
        if !sessions.iter().any(|other| other == session) && sessions.len() < SESSIONS_MAX {
            sessions.push(session.to_owned());
        }
        Self {
            base,
            edits: self.edits_shown(base) + 1,
            time: time.after(self.time),
            sessions,
        }
    }

    /// The number of edits, as stamps may have shown it: they are incremented with running.
    fn edits_shown(&self, running: u64) -> u64 {
        match self.sessions.is_empty() {
            true => self.edits,
            false => self.edits + running.saturating_sub(self.base),
        }
    }

    /// The header after the changes are discarded.
    pub fn discarded(&self, running: u64, time: Timestamp) -> Self {
        Self {
            base: 0,
            edits: self.edits_shown(running) + 1,
            time: time.after(self.time),
            sessions: Vec::new(),
        }
    }

    /// The stamp of the last edit.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            version: STAMPS_FROM + self.edits,
            time: self.time,
        }
    }

    /// Encodes the header.
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

    /// Decodes a header.
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
