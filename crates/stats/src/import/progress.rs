//! The progress of a named import.
//!
//! One row has the number of the last imported line, and a hash of all lines up to it. Every commit of the
//! import updates it, with its previous value as a precondition. So each line is imported once, wherever an
//! import was interrupted, however its lines were divided into commits, and also if two imports with one name
//! run at the same time.

use crate::number::{put_varint, take_varint};
use crate::{Error, Result};

/// Bytes of the hash of lines.
const HASH_BYTES: usize = 8;

// One row, because parts are divided differently when an import is repeated: docs/decisions/0041.
/// The lines of an import up to a given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportProgress {
    /// The number of the last line; 0 if there is none.
    pub(crate) line: u64,
    /// A hash of all lines.
    hash: [u8; HASH_BYTES],
}

/// A part of an import: lines that follow the imported ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportPart {
    /// The number of the last line before it, as of the previous commit.
    pub(crate) after: u64,
    /// The progress including this part.
    pub(crate) progress: ImportProgress,
}

impl ImportProgress {
    /// No lines of a format.
    pub(super) fn start(format: &str) -> Self {
        let mut start = Self {
            line: 0,
            hash: [0; HASH_BYTES],
        };
        start.hash = start.hash_with(format.as_bytes());
        start
    }

    /// The progress with one more line.
    pub(super) fn with_line(self, line: &[u8]) -> Self {
        Self {
            line: self.line + 1,
            hash: self.hash_with(line),
        }
    }

    /// The progress with one more line, without hashing it, for unnamed imports.
    pub(super) fn with_unhashed_line(self) -> Self {
        Self {
            line: self.line + 1,
            ..self
        }
    }

    fn hash_with(self, line: &[u8]) -> [u8; HASH_BYTES] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.hash).update(line);
        let mut hash = [0; HASH_BYTES];
        hasher.finalize_xof().fill(&mut hash);
        hash
    }

    /// Encodes it for the row of the import.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut text = self.hash.to_vec();
        put_varint(&mut text, u128::from(self.line));
        text
    }

    /// Decodes the row of a request name; an error if the request was not an import.
    pub(crate) fn decode(id: &str, text: &[u8]) -> Result<Self> {
        match text.split_first_chunk() {
            Some((hash, mut line)) if !line.is_empty() => {
                let line = u64::try_from(take_varint(&mut line)?);
                let line = line.map_err(|_| Error::corrupt("a stored line number is invalid"))?;
                Ok(Self { line, hash: *hash })
            }
            _ => Err(name_in_use(id)),
        }
    }
}

/// The name belongs to another request.
pub(crate) fn name_in_use(id: &str) -> Error {
    Error::argument(format!(
        "the name {id:?} was used by another request; use a different name for this one"
    ))
}
