//! The write-ahead log as a file: where what was committed ends in it.
//!
//! A write that is larger than SQLite's cache goes to the log before it is committed. Where it is undone, the log
//! keeps its length, and the disk stays full. The layout is documented (`fileformat2.html`, "WAL File Format"): a
//! header of 32 bytes, then frames of 24 bytes and a page; a frame that ends a commit has the number of pages of
//! the database, all others zero. Frames that count have the salts of the header.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// A log that has a header.
struct Log {
    file: File,
    bytes: u64,
    /// Bytes of a frame and its page.
    frame_bytes: u64,
    salts: [u8; 8],
}

/// What a frame is.
#[derive(PartialEq, Eq)]
enum Frame {
    /// It ends a commit.
    Commit,
    /// It belongs to a write that goes on, or to one that was undone.
    Part,
    /// It is of an earlier log.
    Old,
}

impl Log {
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

    /// How many frames are whole.
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
            false => Frame::Old,
            true if header[4..8] == [0; 4] => Frame::Part,
            true => Frame::Commit,
        })
    }

    /// Where the last commit ends, or a later place: the sums of frames are not looked at.
    fn end_of_commits(&self) -> io::Result<u64> {
        let mut committed = 0;
        for number in 0..self.frames() {
            match self.frame(number)? {
                Frame::Commit => committed = number + 1,
                Frame::Part => {}
                Frame::Old => break,
            }
        }
        Ok(self.end_of(committed))
    }
}

/// Whether the log has nothing behind its last commit, as far as its last frame tells; also where there is no
/// log.
pub(super) fn ends_in_a_commit(path: &Path) -> io::Result<bool> {
    let Some(log) = Log::open(path)? else {
        return Ok(true);
    };
    let frames = log.frames();
    let is_whole = log.end_of(frames) == log.bytes;
    Ok(is_whole && frames > 0 && log.frame(frames - 1)? == Frame::Commit)
}

/// Cuts off what stands behind the last commit. The caller is the only writer.
pub(super) fn cut_after_commits(path: &Path) -> io::Result<()> {
    let Some(log) = Log::open(path)? else {
        return Ok(());
    };
    let end = log.end_of_commits()?;
    match end < log.bytes {
        true => log.file.set_len(end),
        false => Ok(()),
    }
}
