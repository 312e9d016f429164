//! The format of record files: a header, then frames. A frame is a payload with its length, a checksum, and
//! how much of the file was flushed when it was written.
//!
//! The checksum covers the file's kind and generation and the frame's offset, so a frame is valid only
//! where it was written.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::files::path_error;

/// The supported format version.
pub(super) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"espalier";
const FRAME_MAGIC: [u8; 4] = *b"frm:";

/// Bytes before the first frame.
pub(super) const FILE_HEADER_BYTES: u64 = 32;

/// Bytes before the payload of a frame.
pub(super) const FRAME_HEADER_BYTES: usize = 24;

/// Maximum bytes of a payload: 16 MiB, more than is ever written.
const PAYLOAD_BYTES_MAX: u32 = 16 << 20;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// All rows at one version.
    Data = 1,
    /// Commits.
    Journal = 2,
}

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    pub(super) kind: Kind,
    pub(super) generation: u64,
}

impl FileId {
    /// The file header.
    pub(super) fn header(self) -> [u8; FILE_HEADER_BYTES as usize] {
        let mut header = [0; FILE_HEADER_BYTES as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        header[16..24].copy_from_slice(&self.generation.to_le_bytes());
        let sum = checksum(&[&header[..24]]);
        header[24..].copy_from_slice(&sum);
        header
    }

    /// Appends a frame to `out`; it will be written at `offset`.
    pub(super) fn put_frame(self, out: &mut Vec<u8>, offset: u64, synced: u64, payload: &[u8]) {
        let length = (payload.len() as u32).to_le_bytes();
        let sum = self.frame_sum(offset, length, synced.to_le_bytes(), payload);
        out.extend_from_slice(&FRAME_MAGIC);
        out.extend_from_slice(&length);
        out.extend_from_slice(&synced.to_le_bytes());
        out.extend_from_slice(&sum);
        out.extend_from_slice(payload);
    }

    fn frame_sum(self, offset: u64, length: [u8; 4], synced: [u8; 8], payload: &[u8]) -> [u8; 8] {
        let kind = (self.kind as u32).to_le_bytes();
        let (generation, offset) = (self.generation.to_le_bytes(), offset.to_le_bytes());
        checksum(&[&kind, &generation, &offset, &length, &synced, payload])
    }

    /// The frame at the start of `bytes`, which are at `offset` in the file: its payload, and the flushed
    /// length.
    fn frame_at(self, bytes: &[u8], offset: u64) -> Option<(&[u8], u64)> {
        let header = bytes.get(..FRAME_HEADER_BYTES)?;
        let (length, synced, sum) = parts(header)?;
        let payload = bytes[FRAME_HEADER_BYTES..].get(..u32::from_le_bytes(length) as usize)?;
        let is_whole = self.frame_sum(offset, length, synced, payload) == sum;
        is_whole.then(|| (payload, u64::from_le_bytes(synced)))
    }
}

/// The length, flushed length and checksum of a frame header.
fn parts(header: &[u8]) -> Option<([u8; 4], [u8; 8], [u8; 8])> {
    let rest = header.strip_prefix(&FRAME_MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (synced, rest) = rest.split_first_chunk::<8>()?;
    let sum = rest.first_chunk::<8>()?;
    (u32::from_le_bytes(*length) <= PAYLOAD_BYTES_MAX).then_some((*length, *synced, *sum))
}

fn checksum(parts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut sum = [0; 8];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    sum
}

/// Reads the frames of a file in order.
pub(super) struct Frames {
    path: PathBuf,
    id: FileId,
    file: BufReader<File>,
    /// The offset of the next frame.
    offset: u64,
    length: u64,
    payload: Vec<u8>,
}

/// The next item in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextFrame {
    /// A frame; its payload is [`Frames::payload`].
    Frame,
    /// The end of the file after complete frames.
    End,
    /// The end of the file within a frame.
    Truncated,
    /// Not a valid frame.
    Invalid,
}

impl Frames {
    /// Opens a file; `None` if it is shorter than its header, as after a crash during its creation.
    pub(super) fn open(path: &Path, id: FileId) -> Result<Option<Self>> {
        let failed = path_error(path, "read");
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length < FILE_HEADER_BYTES {
            return Ok(None);
        }
        let mut header = [0; FILE_HEADER_BYTES as usize];
        file.read_exact(&mut header).map_err(failed)?;
        check_header(path, id, &header)?;
        Ok(Some(Self {
            path: path.to_owned(),
            id,
            file: BufReader::with_capacity(1 << 18, file),
            offset: FILE_HEADER_BYTES,
            length,
            payload: Vec::new(),
        }))
    }

    /// The offset of the next frame.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The size of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The payload of the frame read last.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Reads the next frame.
    pub(super) fn next(&mut self) -> Result<NextFrame> {
        if self.offset == self.length {
            return Ok(NextFrame::End);
        }
        let next = self.read_frame().map_err(|error| self.failure(error))?;
        if next == NextFrame::Frame {
            self.offset += (FRAME_HEADER_BYTES + self.payload.len()) as u64;
        }
        Ok(next)
    }

    fn read_frame(&mut self) -> io::Result<NextFrame> {
        let left = self.length - self.offset;
        let mut header = [0; FRAME_HEADER_BYTES];
        if left < header.len() as u64 {
            return Ok(NextFrame::Truncated);
        }
        self.file.read_exact(&mut header)?;
        let Some((length, synced, sum)) = parts(&header) else {
            return Ok(NextFrame::Invalid);
        };
        let bytes = u32::from_le_bytes(length);
        if u64::from(bytes) > left - header.len() as u64 {
            return Ok(NextFrame::Truncated);
        }
        self.payload.resize(bytes as usize, 0);
        self.file.read_exact(&mut self.payload)?;
        let expected = self
            .id
            .frame_sum(self.offset, length, synced, &self.payload);
        Ok(match expected == sum {
            true => NextFrame::Frame,
            false => NextFrame::Invalid,
        })
    }

    /// Whether the bytes at [`Self::offset`], which are not a valid frame, were flushed once, as recorded
    /// in a later frame. Reads the rest of the file.
    pub(super) fn was_flushed(&mut self) -> Result<bool> {
        let from = self.offset;
        let read = self.read_rest();
        let rest = read.map_err(|error| self.failure(error))?;
        let mut at = 1;
        while let Some(found) = find(&rest[at.min(rest.len())..], &FRAME_MAGIC) {
            at += found;
            let frame = self.id.frame_at(&rest[at..], from + at as u64);
            if frame.is_some_and(|(_, synced)| synced > from) {
                return Ok(true);
            }
            at += 1;
        }
        Ok(false)
    }

    fn read_rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.file.seek(SeekFrom::Start(self.offset))?;
        self.file.read_to_end(&mut rest)?;
        Ok(rest)
    }

    fn failure(&self, error: io::Error) -> Error {
        path_error(&self.path, "read")(error)
    }

    /// The error of damage at the next frame.
    pub(super) fn damage(&self) -> Error {
        damaged(&self.path, self.offset)
    }
}

fn find(bytes: &[u8], wanted: &[u8; 4]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|four| four == wanted)
}

/// The error of a damaged file.
pub(super) fn damaged(path: &Path, offset: u64) -> Error {
    let message = format!(
        "{} is damaged at byte {offset}; restore the directory from a backup, or load its documents \
         into a new one (nothing was changed)",
        path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}

fn check_header(path: &Path, id: FileId, header: &[u8; FILE_HEADER_BYTES as usize]) -> Result<()> {
    if *header == id.header() {
        return Ok(());
    }
    let sum = checksum(&[&header[..24]]);
    if header[..8] != MAGIC || header[24..] != sum {
        return Err(damaged(path, 0));
    }
    let mut version = [0; 4];
    version.copy_from_slice(&header[8..12]);
    let version = u32::from_le_bytes(version);
    if version == VERSION {
        return Err(damaged(path, 0));
    }
    let message = format!(
        "{} has format {version}; this version of Espalier supports format {VERSION}: use the version \
         that wrote it, or another directory",
        path.display()
    );
    Err(Error::new(ErrorKind::WrongVersion, message))
}
