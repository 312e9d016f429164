//! How far an import that has a name is done.
//!
//! One row says up to which line everything is done, and what those lines were. Every commit of the
//! import moves it, under the condition that it stands where this import left it. So lines are done
//! once, wherever an import was cut off, however its lines were split over commits, and also where
//! two of one name run at once.

use crate::number::{put_varint, take_varint};
use crate::{Error, Result};

/// Bytes of the hash of lines.
const HASH_BYTES: usize = 8;

/// The lines of an import up to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The number of the last of them, 0 where there is none.
    pub(crate) line: u64,
    /// Names what all of them were.
    hash: [u8; HASH_BYTES],
}

/// A part of an import: lines that follow those that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The last line before it, of those that a commit was made of.
    pub(crate) after: u64,
    /// What is done with it.
    pub(crate) done: Done,
}

impl Done {
    /// No line of a format.
    pub(super) fn nothing(format: &str) -> Self {
        let mut nothing = Self {
            line: 0,
            hash: [0; HASH_BYTES],
        };
        nothing.hash = nothing.hashed(format.as_bytes());
        nothing
    }

    /// The same lines and the one after them.
    pub(super) fn and(self, line: &[u8]) -> Self {
        Self {
            line: self.line + 1,
            hash: self.hashed(line),
        }
    }

    /// The same with one line more, where nobody asks what they were.
    pub(super) fn unnamed(self) -> Self {
        Self {
            line: self.line + 1,
            ..self
        }
    }

    fn hashed(self, line: &[u8]) -> [u8; HASH_BYTES] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.hash).update(line);
        let mut hash = [0; HASH_BYTES];
        hasher.finalize_xof().fill(&mut hash);
        hash
    }

    /// As the row of the import has it.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut text = self.hash.to_vec();
        put_varint(&mut text, u128::from(self.line));
        text
    }

    /// What the row of the request of a name has; an error where that was no import.
    pub(crate) fn decode(id: &str, text: &[u8]) -> Result<Self> {
        match text.split_first_chunk() {
            Some((hash, mut line)) if !line.is_empty() => {
                let line = u64::try_from(take_varint(&mut line)?);
                let line = line.map_err(|_| Error::corrupt("a stored number of lines is none"))?;
                Ok(Self { line, hash: *hash })
            }
            _ => Err(other(id)),
        }
    }
}

/// The name is that of something else.
pub(crate) fn other(id: &str) -> Error {
    Error::argument(format!(
        "another request was done under the name {id:?}; give this one a name of its own"
    ))
}
