//! The changes of a commit, encoded in order: a tag, then each key or value prefixed with its length (32
//! bits, little endian). Tag 1 is a put (key, value), 2 a delete (key), 3 a deleted range (start, end), 4 a
//! deleted range without an end (start). The log of PostgreSQL uses the same encoding.

use espalier_keyspace::{Change, KeyRange};

use super::ring::clip;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;
const DELETE_REST: u8 = 4;

/// Initial capacity, sufficient for an ordinary commit.
const FIRST_BYTES: usize = 512;

/// Encoded changes, in order.
pub(crate) struct Changes(Vec<u8>);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(FIRST_BYTES))
    }

    /// An empty list with capacity for about this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Decodes changes; `None` if the bytes are invalid.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            take_change(&mut rest)?;
        }
        Some(Self(bytes))
    }

    /// The encoded bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Iterates over the changes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ChangeRef<'_>> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || take_change(&mut rest))
    }

    /// Appends the changes of another commit.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(other.bytes());
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.push(PUT, &[key, value]);
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.push(DELETE, &[key]);
    }

    pub(crate) fn delete_range(&mut self, range: &KeyRange) {
        match &range.end {
            Some(end) => self.push(DELETE_RANGE, &[&range.start, end]),
            None => self.push(DELETE_REST, &[&range.start]),
        }
    }

    fn push(&mut self, tag: u8, parts: &[&[u8]]) {
        self.0.push(tag);
        for part in parts {
            // The size limits of keys and values are far below 32 bits.
            self.0.extend_from_slice(&(part.len() as u32).to_le_bytes());
            self.0.extend_from_slice(part);
        }
    }
}

/// A borrowed [`Change`].
pub(crate) enum ChangeRef<'a> {
    Put(&'a [u8], &'a [u8]),
    Delete(&'a [u8]),
    DeleteRange(&'a [u8], Option<&'a [u8]>),
}

impl ChangeRef<'_> {
    /// A copy of the part within a range.
    pub(super) fn in_range(&self, range: &KeyRange) -> Option<Change> {
        match self {
            Self::Put(key, _) | Self::Delete(key) => range.contains(key).then(|| self.to_change()),
            Self::DeleteRange(..) => clip(&self.to_change(), range),
        }
    }

    /// An owned copy.
    pub(crate) fn to_change(&self) -> Change {
        match self {
            Self::Put(key, value) => Change::Put {
                key: key.to_vec(),
                value: value.to_vec(),
            },
            Self::Delete(key) => Change::Delete { key: key.to_vec() },
            Self::DeleteRange(start, end) => Change::DeleteRange(KeyRange {
                start: start.to_vec(),
                end: end.map(<[u8]>::to_vec),
            }),
        }
    }
}

fn take_change<'a>(bytes: &mut &'a [u8]) -> Option<ChangeRef<'a>> {
    let (&tag, rest) = bytes.split_first()?;
    *bytes = rest;
    let first = take(bytes)?;
    Some(match tag {
        PUT => ChangeRef::Put(first, take(bytes)?),
        DELETE => ChangeRef::Delete(first),
        DELETE_RANGE => ChangeRef::DeleteRange(first, Some(take(bytes)?)),
        DELETE_REST => ChangeRef::DeleteRange(first, None),
        _ => return None,
    })
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}
