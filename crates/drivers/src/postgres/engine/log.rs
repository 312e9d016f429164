//! The log of commits: one row per version, with its changes encoded as [`Changes`].

use espalier_keyspace::Version;

use crate::recent_commits::{Changes, Recorder};

/// The number of commits that the log keeps.
pub const LOG_COMMITS_MAX: u64 = 4096;

/// The most bytes of changes in a row: 64 KiB. A larger commit is reported as a gap.
pub const LOG_RECORD_BYTES_MAX: usize = 64 << 10;

/// The number of commits after which the log is truncated again.
const TRUNCATE_EVERY: u64 = 256;

/// A row of the log.
pub(in crate::postgres) struct LogRecord {
    pub(in crate::postgres) version: Version,
    /// The unique id of this attempt to commit.
    pub(in crate::postgres) id: [u8; 16],
    pub(super) changes: Option<Vec<u8>>,
}

impl LogRecord {
    pub(in crate::postgres) fn new(version: Version, id: [u8; 16], recorder: &Recorder) -> Self {
        Self {
            version,
            id,
            changes: recorder.changes().and_then(encode),
        }
    }

    /// The version up to which this commit truncates the log, if it does.
    pub(in crate::postgres) fn truncation(&self) -> Option<i64> {
        let number = self.version.0;
        let is_due = number.is_multiple_of(TRUNCATE_EVERY) && number > LOG_COMMITS_MAX;
        is_due.then(|| (number - LOG_COMMITS_MAX).cast_signed())
    }
}

/// Encodes changes; `None` if they are too long.
fn encode(changes: &Changes) -> Option<Vec<u8>> {
    let bytes = changes.bytes();
    (bytes.len() <= LOG_RECORD_BYTES_MAX).then(|| bytes.to_vec())
}

/// Decodes changes; `None` if the bytes are not valid.
pub(super) fn decode(bytes: &[u8]) -> Option<Recorder> {
    Changes::from_bytes(bytes.to_vec()).map(Recorder::of)
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::{Change, KeyRange};

    use super::*;

    fn changes(recorder: &Recorder) -> Vec<Change> {
        let changes = recorder.changes().expect("few");
        changes.iter().map(|change| change.to_change()).collect()
    }

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
        let put = |key: &str, value: &str| Change::Put {
            key: key.into(),
            value: value.into(),
        };
        let expected = [
            put("key", ""),
            put("k", "value"),
            Change::Delete { key: "gone".into() },
            Change::DeleteRange(KeyRange::new("a", "b")),
            Change::DeleteRange(KeyRange::all()),
        ];
        assert_eq!(changes(&back), expected);
        for end in 1..bytes.len() {
            let cut = decode(&bytes[..end]);
            assert!(cut.is_none_or(|cut| changes(&cut).len() < expected.len()));
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
