//! The log of commits: one row for each version, with what it changed.
//!
//! The changes are bytes, one change after the other: a tag, then each key or value with its length
//! before it (32 bits, little endian). 1 is a put (key, value), 2 a delete (key), 3 a deleted range
//! (start, end), 4 a deleted range without an end (start).

use espalier_keyspace::{Change, KeyRange, Version};

use crate::recent::Recorder;

/// Commits that the log keeps.
pub const LOG_COMMITS_MAX: u64 = 4096;

/// Bytes of changes that a row keeps: 64 KiB. What is larger is told as a gap.
pub const LOG_RECORD_BYTES_MAX: usize = 64 << 10;

/// How often the log is cut, in commits.
const CUT_EVERY: u64 = 256;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;
const DELETE_REST: u8 = 4;

/// A row of the log.
pub(in crate::postgres) struct Record {
    pub(in crate::postgres) version: Version,
    /// What this commit is known by, whatever becomes of it.
    pub(in crate::postgres) id: [u8; 16],
    pub(super) changes: Option<Vec<u8>>,
}

impl Record {
    pub(in crate::postgres) fn new(version: Version, id: [u8; 16], recorder: &Recorder) -> Self {
        Self {
            version,
            id,
            changes: recorder.changes().and_then(encode),
        }
    }

    /// The version up to which the log is cut by this commit, if it is.
    pub(super) fn cut(&self) -> Option<i64> {
        let number = self.version.0;
        let is_due = number.is_multiple_of(CUT_EVERY) && number > LOG_COMMITS_MAX;
        is_due.then(|| (number - LOG_COMMITS_MAX).cast_signed())
    }
}

/// The changes as bytes; `None` where there are too many.
fn encode(changes: &[Change]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for change in changes {
        match change {
            Change::Put { key, value } => push(&mut bytes, PUT, &[key, value]),
            Change::Delete { key } => push(&mut bytes, DELETE, &[key]),
            Change::DeleteRange(KeyRange { start, end }) => match end {
                Some(end) => push(&mut bytes, DELETE_RANGE, &[start, end]),
                None => push(&mut bytes, DELETE_REST, &[start]),
            },
        }
        if bytes.len() > LOG_RECORD_BYTES_MAX {
            return None;
        }
    }
    Some(bytes)
}

fn push(bytes: &mut Vec<u8>, tag: u8, parts: &[&[u8]]) {
    bytes.push(tag);
    for part in parts {
        // Keys and values have limits far below 32 bits.
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
    }
}

/// The changes in the bytes, recorded; `None` where they are not what [`encode`] makes.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Recorder> {
    let mut recorder = Recorder::new();
    while let Some((&tag, rest)) = bytes.split_first() {
        bytes = rest;
        match tag {
            PUT => {
                let key = take(&mut bytes)?;
                recorder.put(key, take(&mut bytes)?);
            }
            DELETE => recorder.delete(take(&mut bytes)?),
            DELETE_RANGE | DELETE_REST => {
                let start = take(&mut bytes)?.to_vec();
                let end = match tag {
                    DELETE_RANGE => Some(take(&mut bytes)?.to_vec()),
                    _ => None,
                };
                recorder.delete_range(&KeyRange { start, end });
            }
            _ => return None,
        }
    }
    Some(recorder)
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back() {
        let mut recorder = Recorder::new();
        recorder.put(b"key", b"");
        recorder.put(b"k", b"value");
        recorder.delete(b"gone");
        recorder.delete_range(&KeyRange::new("a", "b"));
        recorder.delete_range(&KeyRange::all());
        let bytes = encode(recorder.changes().expect("few")).expect("small");
        let back = decode(&bytes).expect("the same");
        assert_eq!(back.changes(), recorder.changes());
        for end in 1..bytes.len() {
            let cut = decode(&bytes[..end]);
            assert!(cut.is_none_or(|cut| cut.changes() != recorder.changes()));
        }
        assert!(decode(&[9]).is_none());
    }

    #[test]
    fn a_large_commit_is_not_kept() {
        let mut recorder = Recorder::new();
        recorder.put(b"key", &vec![0; LOG_RECORD_BYTES_MAX]);
        assert_eq!(encode(recorder.changes().expect("kept here")), None);
    }
}
