//! The digest of a sequence of rows.

use std::fmt;

use crate::fragment::put_varint;

/// The number of rows, their size, and a hash of all of them in order. Two key spaces with the same digest
/// have the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// BLAKE3 of each row in order: varint length of the key, key, varint length of the value, value.
    pub hash: [u8; 32],
}

impl Digest {
    /// The hash as text.
    pub fn hex(&self) -> String {
        blake3::Hash::from(self.hash).to_hex().to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        write!(
            f,
            "{} rows, {} bytes, {}",
            self.rows,
            self.bytes,
            &hex[..16]
        )
    }
}

/// Computes a digest incrementally.
#[derive(Default)]
pub(super) struct Digester {
    hasher: blake3::Hasher,
    rows: u64,
    bytes: u64,
    lengths: Vec<u8>,
}

impl Digester {
    pub(super) fn update(&mut self, key: &[u8], value: &[u8]) {
        self.rows += 1;
        self.bytes += (key.len() + value.len()) as u64;
        for part in [key, value] {
            self.lengths.clear();
            put_varint(&mut self.lengths, part.len() as u64);
            self.hasher.update(&self.lengths);
            self.hasher.update(part);
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn finish(&self) -> Digest {
        Digest {
            rows: self.rows,
            bytes: self.bytes,
            hash: *self.hasher.finalize().as_bytes(),
        }
    }
}
