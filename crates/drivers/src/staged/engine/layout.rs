//! The keys and values of all cells.

use espalier_keyspace::{Error, ErrorKind, KeyRange, Result};

use super::cell_store::{Cell, Write};
use crate::staged::config::CHUNK_BYTES;

/// A value stored in its cell.
const SHORT: u8 = 0;

/// A value stored in chunks.
const LONG: u8 = 1;

/// The cells of one key space.
#[derive(Clone)]
pub(crate) struct Layout {
    prefix: Vec<u8>,
}

impl Layout {
    pub(crate) fn new(prefix: &[u8]) -> Self {
        let prefix = prefix.to_vec();
        Self { prefix }
    }

    fn cell(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        [&self.prefix[..], &[kind], rest].concat()
    }

    pub(crate) fn format(&self) -> Vec<u8> {
        self.cell(b'f', b"")
    }

    pub(crate) fn head(&self) -> Vec<u8> {
        self.cell(b'h', b"")
    }

    pub(crate) fn gate(&self) -> Vec<u8> {
        self.cell(b'g', b"")
    }

    /// Present if a long value was ever written.
    pub(crate) fn long_values(&self) -> Vec<u8> {
        self.cell(b'l', b"")
    }

    pub(crate) fn session(&self, name: &[u8]) -> Vec<u8> {
        self.cell(b'o', name)
    }

    pub(crate) fn sessions(&self) -> KeyRange {
        KeyRange::prefix(&self.cell(b'o', b""))
    }

    pub(crate) fn stages(&self) -> KeyRange {
        KeyRange::prefix(&self.cell(b's', b""))
    }

    pub(crate) fn stage(&self, id: &[u8]) -> KeyRange {
        KeyRange::prefix(&self.cell(b's', id))
    }

    pub(crate) fn record(&self, id: &[u8], number: u32) -> Vec<u8> {
        self.cell(b's', &[id, &number.to_be_bytes()].concat())
    }

    pub(crate) fn data(&self, key: &[u8]) -> Vec<u8> {
        self.cell(b'd', key)
    }

    /// The key of a data cell.
    pub(crate) fn key<'a>(&self, cell: &'a [u8]) -> &'a [u8] {
        cell.get(self.prefix.len() + 1..).unwrap_or_default()
    }

    pub(crate) fn data_range(&self, range: &KeyRange) -> KeyRange {
        KeyRange {
            start: self.data(&range.start),
            end: Some(match &range.end {
                Some(end) => self.data(end),
                None => self.cell(b'd' + 1, b""),
            }),
        }
    }

    /// The chunks of all keys of a range.
    pub(crate) fn chunk_range(&self, range: &KeyRange) -> KeyRange {
        KeyRange {
            start: self.cell(b'c', &escaped(&range.start)),
            end: Some(match &range.end {
                Some(end) => self.cell(b'c', &escaped(end)),
                None => self.cell(b'c' + 1, b""),
            }),
        }
    }

    fn chunk(&self, key: &[u8], number: u32) -> Vec<u8> {
        let mut rest = escaped(key);
        rest.extend([0, 0]);
        rest.extend(number.to_be_bytes());
        self.cell(b'c', &rest)
    }

    /// The chunks of one key, starting at a number.
    pub(crate) fn chunks(&self, key: &[u8], from: u32) -> KeyRange {
        let mut end = self.chunk(key, u32::MAX);
        end.push(0);
        KeyRange::new(self.chunk(key, from), end)
    }

    /// The writes that set a key to a value. `had_long_values` is whether the old value may be a long one.
    pub(crate) fn put(&self, key: &[u8], value: &[u8], had_long_values: LongValues) -> Vec<Write> {
        if value.len() < CHUNK_BYTES {
            let cell = [&[SHORT], value].concat();
            let mut writes = vec![Write::Put(self.data(key), cell)];
            if had_long_values == LongValues::Some {
                writes.push(Write::DeleteRange(self.chunks(key, 0)));
            }
            return writes;
        }
        let mut count = 0;
        let mut writes = Vec::new();
        for chunk in value.chunks(CHUNK_BYTES) {
            writes.push(Write::Put(self.chunk(key, count), chunk.to_vec()));
            count += 1;
        }
        writes.push(Write::DeleteRange(self.chunks(key, count)));
        let cell = [&[LONG][..], &count.to_be_bytes()].concat();
        writes.push(Write::Put(self.data(key), cell));
        writes
    }

    /// Decodes the value of a data cell.
    pub(crate) fn decode_value(cell: &Cell) -> Result<StoredValue<'_>> {
        match cell.value.split_first() {
            Some((&SHORT, value)) => Ok(StoredValue::Inline(value)),
            Some((&LONG, count)) => {
                let count = count.try_into().map(u32::from_be_bytes);
                count
                    .map(StoredValue::Chunks)
                    .map_err(|_| corrupt(&cell.key))
            }
            _ => Err(corrupt(&cell.key)),
        }
    }
}

/// Whether the key space may contain long values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongValues {
    None,
    Some,
}

/// The decoded value of a data cell.
pub(crate) enum StoredValue<'a> {
    Inline(&'a [u8]),
    /// The number of chunks, stored in other cells.
    Chunks(u32),
}

pub(crate) fn corrupt(cell: &[u8]) -> Error {
    let message = "a cell in the engine is damaged";
    Error::new(ErrorKind::Corrupt, message).with_key(cell)
}

/// Escapes `00` as `00 FF`, so that `00 00` can end a key.
fn escaped(key: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(key.len() + 2);
    for &byte in key {
        escaped.push(byte);
        if byte == 0 {
            escaped.push(0xff);
        }
    }
    escaped
}
