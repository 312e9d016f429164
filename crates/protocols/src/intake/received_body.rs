//! A body that was received completely.

use std::io::{self, BufRead, BufReader, Read};

use bytes::{Buf, Bytes};
use tokio::sync::OwnedSemaphorePermit;

use super::budget::Reservation;
use super::spill::Spill;

/// Size of the reads from a file.
const READ_BYTES: usize = 64 * 1024;

/// A body that was received completely, in memory or in a file.
#[derive(Debug)]
pub struct Staged {
    pub(super) storage: Storage,
    pub(super) length: u64,
}

/// Where a body is stored.
#[derive(Debug)]
pub(super) enum Storage {
    Memory(Held),
    File(Spill),
}

/// A body in memory.
#[derive(Debug, Default)]
pub struct Held {
    pub(super) bytes: Bytes,
    pub(super) _reservation: Option<Reservation>,
    /// Set if the body was loaded from a file.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Staged {
    /// The size in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// A reader of the body. May block.
    pub fn into_reader(self) -> io::Result<StagedReader> {
        Ok(StagedReader(match self.storage {
            Storage::Memory(held) => Source::Memory(held),
            Storage::File(mut spill) => {
                spill.rewind()?;
                Source::File {
                    file: BufReader::with_capacity(READ_BYTES, spill.file),
                    _reservation: spill.reservation,
                }
            }
        }))
    }
}

/// Reads a body. May block.
#[derive(Debug)]
pub struct StagedReader(Source);

#[derive(Debug)]
enum Source {
    Memory(Held),
    File {
        file: BufReader<std::fs::File>,
        _reservation: Reservation,
    },
}

impl Read for StagedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::File { file, .. } => file.read(buffer),
            Source::Memory(held) => {
                let length = buffer.len().min(held.bytes.len());
                held.bytes.copy_to_slice(&mut buffer[..length]);
                Ok(length)
            }
        }
    }
}

impl BufRead for StagedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Source::File { file, .. } => file.fill_buf(),
            Source::Memory(held) => Ok(&held.bytes),
        }
    }

    fn consume(&mut self, bytes: usize) {
        match &mut self.0 {
            Source::File { file, .. } => file.consume(bytes),
            Source::Memory(held) => held.bytes.advance(bytes),
        }
    }
}
