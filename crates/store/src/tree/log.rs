//! The commit log: what each commit changed, with the old values.
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | none | how many versions are kept, if set ([`Retention`](super::history::Retention)) |
//! | version | the header (time, author, comment), and the records if both fit in [`HEADER_ROW_BYTES_MAX`] |
//! | version, chunk | larger records, about [`CHUNK_BYTES`] in each |
//!
//! Every commit reads the oldest header, and a list of commits reads all headers: large records are
//! therefore stored apart from them. The chunks of a version are one byte string: a record may continue in
//! the next chunk. A record is a kind, the key without its tree prefix (the subspace, then the rest), and
//! the old value. Reading records backwards from the newest version gives every older state, so new values
//! are not stored. A bulk load into an empty datastore is one record.

use espalier_keyspace::{Batch, KeyRange, Writer, tuple};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::put_varint;
use crate::keys::TreeId;
use crate::subspace::Subspace;

// Every commit reads the oldest header, so large records are stored apart: docs/decisions/0009.
/// Up to this many bytes, the records are stored in the header's row.
const HEADER_ROW_BYTES_MAX: usize = 1 << 10;

/// A new chunk is started after this many bytes of records.
const CHUNK_BYTES: usize = 64 << 10;

/// The maximum length of a chunk, within the value limit of every engine. A record with a large old value
/// continues in the next chunk.
const PART_BYTES_MAX: usize = 1 << 20;

/// The kind of change of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordKind {
    /// The key was absent.
    Created = 1,
    /// The value was replaced.
    Changed = 2,
    /// The key was deleted.
    Deleted = 3,
    /// The whole tree was empty before.
    Loaded = 4,
}

impl RecordKind {
    /// Decodes a kind.
    pub fn of(byte: u8) -> Result<Self> {
        let kinds = [Self::Created, Self::Changed, Self::Deleted, Self::Loaded];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == byte);
        kind.ok_or_else(|| Error::corrupt(format!("a record of the log has the kind {byte}")))
    }
}

/// A writer for the log of a commit.
pub(super) trait LogTarget {
    /// Sets a key.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Deletes a range of keys.
    fn delete_range(&mut self, range: KeyRange) -> Result<()>;
}

impl LogTarget for Batch {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Batch::put(self, key, value);
        Ok(())
    }

    fn delete_range(&mut self, range: KeyRange) -> Result<()> {
        Batch::delete_range(self, range);
        Ok(())
    }
}

impl LogTarget for dyn Writer + '_ {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(Writer::put(self, key, value)?)
    }

    fn delete_range(&mut self, range: KeyRange) -> Result<()> {
        Ok(Writer::delete_range(self, &range)?)
    }
}

/// Collects the records of one commit and writes them in chunks.
pub(super) struct CommitLog {
    prefix: usize,
    key: Vec<u8>,
    /// Length of the header in bytes.
    header: usize,
    chunk: Vec<u8>,
    chunks: u64,
    has_records: bool,
}

impl CommitLog {
    /// The log of the commit that makes `version`.
    pub fn new(tree: TreeId, version: u64, time: Timestamp, author: &str, comment: &str) -> Self {
        let mut key = tree.prefix(Subspace::Log);
        let prefix = key.len();
        tuple::put_unsigned(&mut key, version);
        let mut chunk = Vec::new();
        put_varint(&mut chunk, time.0);
        for text in [author, comment] {
            put_bytes(&mut chunk, text.as_bytes());
        }
        Self {
            prefix,
            key,
            header: chunk.len(),
            chunk,
            chunks: 0,
            has_records: false,
        }
    }

    /// Whether any key was recorded.
    pub fn has_records(&self) -> bool {
        self.has_records
    }

    /// Records that a key held `old` and now holds `new`.
    pub fn record<T: LogTarget + ?Sized>(
        &mut self,
        key: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
        target: &mut T,
    ) -> Result<()> {
        self.has_records = true;
        let kind = match (old, new) {
            (None, _) => RecordKind::Created,
            (Some(_), Some(_)) => RecordKind::Changed,
            (Some(_), None) => RecordKind::Deleted,
        };
        self.chunk.extend_from_slice(&[kind as u8, key[0]]);
        put_bytes(&mut self.chunk, &key[self.prefix..]);
        if let Some(old) = old {
            put_bytes(&mut self.chunk, old);
        }
        self.flush_above(CHUNK_BYTES, target)
    }

    /// Records that the whole tree was empty before.
    pub fn record_loaded(&mut self) {
        self.chunk.push(RecordKind::Loaded as u8);
    }

    /// Writes the remaining records.
    pub fn finish<T: LogTarget + ?Sized>(mut self, target: &mut T) -> Result<()> {
        self.flush_above(0, target)
    }

    fn flush_above<T: LogTarget + ?Sized>(&mut self, bytes: usize, target: &mut T) -> Result<()> {
        if self.chunk.len() <= bytes {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.chunk);
        let header = match self.chunks {
            0 if chunk.len() > HEADER_ROW_BYTES_MAX => self.header,
            _ => 0,
        };
        let (header, records) = chunk.split_at(header);
        let parts = [header, records].into_iter();
        for part in parts.flat_map(|text| text.chunks(PART_BYTES_MAX)) {
            let mut key = self.key.clone();
            if self.chunks > 0 {
                tuple::put_unsigned(&mut key, self.chunks);
            }
            target.put(&key, part)?;
            self.chunks += 1;
        }
        Ok(())
    }
}

fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}
