//! The commit log: what each commit changed, with the old values.
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | none | how many versions are kept, where that was said ([`Retention`](super::history::Retention)) |
//! | version | the header: time, author, comment; and the records, where that is at most [`HEADER_ROW_BYTES_MAX`] |
//! | version, chunk | records, where it would be more, about [`CHUNK_BYTES`] in each |
//!
//! Every commit reads the oldest header, and a list of commits all of them: so what changed stands apart
//! where it is much.
//! The chunks of a version, one after the other, are one text: a record may go on in the next.
//! A record is a kind, the key without its tree prefix (the subspace, then the rest), and the value
//! that it held before. Reading records backwards from the newest version gives every older state,
//! so new values are not repeated here. A bulk load into an empty datastore is one record.

use espalier_keyspace::{Batch, KeyRange, Writer, tuple};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::put_varint;
use crate::keys::TreeId;
use crate::subspace::Subspace;

/// The records are in the row of the header up to this many bytes.
const HEADER_ROW_BYTES_MAX: usize = 1 << 10;

/// Records beyond this many bytes go into a further chunk.
const CHUNK_BYTES: usize = 64 << 10;

/// A chunk is at most this long, so that an engine takes it: a record with a large old value goes
/// on in the next.
const PART_BYTES_MAX: usize = 1 << 20;

/// What a record says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// It was absent before.
    Created = 1,
    /// It held the old value, and holds another now.
    Changed = 2,
    /// It held the old value, and is absent now.
    Deleted = 3,
    /// Every key of the tree was absent before.
    Loaded = 4,
}

impl Kind {
    /// The kind that a byte of a record stands for.
    pub fn of(byte: u8) -> Result<Self> {
        let kinds = [Self::Created, Self::Changed, Self::Deleted, Self::Loaded];
        let kind = kinds.into_iter().find(|kind| *kind as u8 == byte);
        kind.ok_or_else(|| Error::corrupt(format!("a record of the log has the kind {byte}")))
    }
}

/// Where the log of a commit is written.
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
    /// Bytes of the header.
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

    /// Whether there is a record of a key.
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
            (None, _) => Kind::Created,
            (Some(_), Some(_)) => Kind::Changed,
            (Some(_), None) => Kind::Deleted,
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
        self.chunk.push(Kind::Loaded as u8);
    }

    /// Writes what is not written yet.
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
