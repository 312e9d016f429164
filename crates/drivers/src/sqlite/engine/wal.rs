//! Reads the file of the write-ahead log, to find and cut off frames after the last commit.
//!
//! A transaction larger than SQLite's cache writes to the log before it commits. If it is rolled back, the log
//! keeps its length, and the disk stays full. The layout is documented (`fileformat2.html`, "WAL File Format"): a
//! header of 32 bytes, then frames of 24 bytes and a page. The frame that ends a commit holds the number of pages
//! of the database there, all others zero. Valid frames have the salts of the header.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// An open log file that has a header.
struct Wal {
    file: File,
    bytes: u64,
    /// Bytes of a frame with its page.
    frame_bytes: u64,
    salts: [u8; 8],
}

/// The kind of a frame.
#[derive(PartialEq, Eq)]
enum Frame {
    /// The last frame of a commit.
    Commit,
    /// A frame within a commit, of an open transaction, or of one that was rolled back.
    Uncommitted,
    /// A frame from before the last reset of the log.
    Stale,
}

impl Wal {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let bytes = file.metadata()?.len();
        if bytes <= HEADER_BYTES {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0)?;
        let mut log = Self {
            file,
            bytes,
            frame_bytes: 0,
            salts: [0; 8],
        };
        let mut page_bytes = [0; 4];
        page_bytes.copy_from_slice(&header[8..12]);
        log.salts.copy_from_slice(&header[16..24]);
        log.frame_bytes = FRAME_HEADER_BYTES + u64::from(u32::from_be_bytes(page_bytes));
        Ok(Some(log))
    }

    /// The number of complete frames.
    fn frames(&self) -> u64 {
        (self.bytes - HEADER_BYTES) / self.frame_bytes
    }

    fn end_of(&self, frames: u64) -> u64 {
        HEADER_BYTES + frames * self.frame_bytes
    }

    fn frame(&self, number: u64) -> io::Result<Frame> {
        let mut header = [0; FRAME_HEADER_BYTES as usize];
        self.file.read_exact_at(&mut header, self.end_of(number))?;
        Ok(match header[8..16] == self.salts {
            false => Frame::Stale,
            true if header[4..8] == [0; 4] => Frame::Uncommitted,
            true => Frame::Commit,
        })
    }

    /// The offset where the last commit ends, or a later one, as the checksums of frames are not verified.
    fn end_of_commits(&self) -> io::Result<u64> {
        let mut committed = 0;
        for number in 0..self.frames() {
            match self.frame(number)? {
                Frame::Commit => committed = number + 1,
                Frame::Uncommitted => {}
                Frame::Stale => break,
            }
        }
        Ok(self.end_of(committed))
    }
}

/// Returns whether the last frame of the log ends a commit. Also true if there is no log.
pub(super) fn ends_with_commit(path: &Path) -> io::Result<bool> {
    let Some(log) = Wal::open(path)? else {
        return Ok(true);
    };
    let frames = log.frames();
    let is_whole = log.end_of(frames) == log.bytes;
    Ok(is_whole && frames > 0 && log.frame(frames - 1)? == Frame::Commit)
}

// What a failed write appended would keep a full disk full: docs/decisions/0055.
/// Truncates the log after its last commit. The caller must be the only writer.
pub(super) fn truncate_after_last_commit(path: &Path) -> io::Result<()> {
    let Some(log) = Wal::open(path)? else {
        return Ok(());
    };
    let end = log.end_of_commits()?;
    match end < log.bytes {
        true => log.file.set_len(end),
        false => Ok(()),
    }
}
