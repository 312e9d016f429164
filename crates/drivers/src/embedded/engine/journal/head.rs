//! The file that tells every process how far the journal goes: one number in a page of memory that
//! they share. Its lock is held by the process that is committing.
//!
//! What is in it is true for as long as the machine runs, whatever becomes of processes; after that,
//! the segments themselves say how far they go ([`super::recover`]).

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::Result;

use super::files;
use crate::boot_id::{BOOT_ID_BYTES, read_boot_id};
use crate::file_identity::FileIdentity;
use crate::files::{io_error, private};

/// How long a commit waits for that of another process, as it does on PostgreSQL.
pub(super) const TURN_PATIENCE: Duration = Duration::from_secs(300);

/// How often it is looked whether the other has ended: at first, and after a while.
const LOOKS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(10)];

/// The bytes of the file.
const HEAD_BYTES: usize = 4096;

const MAGIC: [u8; 8] = *b"esp-head";

/// Where the boot of the machine stands, after the magic bytes.
const BOOT_AT: u64 = 8;

/// Where the position stands: a multiple of 8.
const POSITION_AT: usize = 64;

/// The bits of a position that say how far; those above say in which segment.
const END_BITS: u32 = 26;

/// The most bytes of a segment.
pub(super) const SEGMENT_END_MAX: u64 = (1 << END_BITS) - 1;

/// How far the journal goes; later is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::embedded) struct Position {
    /// The number of the newest segment.
    pub(super) generation: u64,
    /// How many of its bytes count.
    pub(super) end: u64,
}

impl Position {
    fn pack(self) -> u64 {
        debug_assert!(self.end <= SEGMENT_END_MAX, "segments end earlier");
        self.generation << END_BITS | self.end
    }

    fn unpack(packed: u64) -> Self {
        Self {
            generation: packed >> END_BITS,
            end: packed & SEGMENT_END_MAX,
        }
    }
}

/// The file, mapped; or a page of memory in its place, where the directory can only be read.
pub(super) struct Head {
    file: Option<(File, FileIdentity)>,
    dir: PathBuf,
    map: NonNull<u8>,
}

// SAFETY: the map is memory that lives as long as the value, and is used through an atomic only.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

/// Holding the lock of the journal, among processes.
pub(super) struct HeadLock<'h> {
    file: &'h File,
}

impl Head {
    /// Opens the file, which is made where it does not exist.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(files::HEAD);
        let failed = |error| io_error(format!("{} cannot be opened", path.display()), error);
        Self::try_open(dir, &path).map_err(failed)
    }

    /// A head without a file, for a directory that nobody can write: the journal goes as far as is set.
    pub(super) fn without_file(dir: &Path) -> Result<Self> {
        let mapped = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        let failed = |error| io_error("a page of memory cannot be had", error);
        Ok(Self {
            file: None,
            dir: dir.to_owned(),
            map: mapped.map_err(failed)?,
        })
    }

    fn try_open(dir: &Path, path: &Path) -> io::Result<Self> {
        let mut options = private();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        // Written, not lengthened: a map of a file without its blocks kills who writes to it when
        // the disk is full.
        let found = file.metadata()?;
        if found.len() < HEAD_BYTES as u64 {
            let lock = HeadLock::take(&file, TURN_PATIENCE)?;
            let length = file.metadata()?.len().min(HEAD_BYTES as u64);
            file.write_all_at(&vec![0; HEAD_BYTES - length as usize], length)?;
            drop(lock);
        }
        let map = map(libc::MAP_SHARED, file.as_raw_fd())?;
        let opened = FileIdentity::new(path.to_owned(), &found);
        Ok(Self {
            file: Some((file, opened)),
            dir: dir.to_owned(),
            map,
        })
    }

    /// Waits until no process is committing, and keeps them from it; [`io::ErrorKind::WouldBlock`] where
    /// one has not ended after so long.
    pub(super) fn lock(&self, patience: Duration) -> io::Result<HeadLock<'_>> {
        match &self.file {
            Some((file, _)) => HeadLock::take(file, patience),
            None => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Fails where the directory is not any more what it was.
    pub(super) fn check_not_replaced(&self) -> Result<()> {
        match &self.file {
            Some((_, opened)) => opened.check_not_replaced(),
            None => Ok(()),
        }
    }

    /// How far the journal goes; `None` where the file does not say, or said so before the machine
    /// was started.
    pub(super) fn told(&self) -> io::Result<Option<Position>> {
        let Some((file, _)) = &self.file else {
            return Ok(None);
        };
        let mut start = [0; BOOT_AT as usize + BOOT_ID_BYTES];
        file.read_exact_at(&mut start, 0)?;
        let (magic, boot) = start.split_at(BOOT_AT as usize);
        let position = self.position();
        let is_true = magic == MAGIC && boot == read_boot_id()? && position.generation > 0;
        Ok(is_true.then_some(position))
    }

    /// Begins to tell how far the journal goes. The caller holds the lock.
    pub(super) fn begin(&self, position: Position) -> io::Result<()> {
        let Some((file, _)) = &self.file else {
            self.set(position);
            return Ok(());
        };
        file.write_all_at(&[0; BOOT_AT as usize], 0)?;
        self.set(position);
        file.write_all_at(&read_boot_id()?, BOOT_AT)?;
        file.write_all_at(&MAGIC, 0)
    }

    /// How far the journal goes.
    pub(super) fn position(&self) -> Position {
        Position::unpack(self.number().load(Ordering::Acquire))
    }

    /// Says how far the journal goes. The caller holds the lock.
    pub(super) fn set(&self, position: Position) {
        self.number().store(position.pack(), Ordering::Release);
    }

    fn number(&self) -> &AtomicU64 {
        // SAFETY: within the map, which is aligned to pages; every process uses it as an atomic.
        unsafe { self.map.add(POSITION_AT).cast::<AtomicU64>().as_ref() }
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        // SAFETY: the map was made with this length, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), HEAD_BYTES) };
    }
}

/// Maps the beginning of a file, or memory, to be read and written.
fn map(kind: libc::c_int, file: RawFd) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping: of memory, or of a file that is as long as it and is never made shorter.
    let map = unsafe { libc::mmap(ptr::null_mut(), HEAD_BYTES, access, kind, file, 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(map.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl<'h> HeadLock<'h> {
    fn take(file: &'h File, patience: Duration) -> io::Result<Self> {
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    let waited = start.elapsed();
                    if waited >= patience {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    // A small part of what was waited before: who commits one after the other leaves
                    // gaps of microseconds, and not to look for long is to miss them.
                    thread::sleep((waited / 200).clamp(LOOKS[0], LOOKS[1]));
                }
            }
        }
    }
}

impl Drop for HeadLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::error!(%error, "the lock of the journal is not let go");
        }
    }
}
