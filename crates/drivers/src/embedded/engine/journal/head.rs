//! The head file, which contains the end position of the journal: one number in a page of shared memory.
//! The committing process holds its lock.
//!
//! The position is valid while the machine runs, independent of processes; after a restart of the machine,
//! it is determined from the segments ([`super::recover`]).

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
use crate::files::{io_error, path_error, private};

/// How long a commit waits for a commit of another process; the same as on PostgreSQL.
pub(super) const COMMIT_LOCK_TIMEOUT: Duration = Duration::from_secs(300);

/// The interval at which the lock is polled: initial and maximum.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(10)];

/// Size of the file.
const HEAD_BYTES: usize = 4096;

const MAGIC: [u8; 8] = *b"esp-head";

/// The offset of the boot ID, after the magic bytes.
const BOOT_AT: u64 = 8;

/// The offset of the position: a multiple of 8.
const POSITION_AT: usize = 64;

/// The low bits of a packed position are the end, the others the generation.
const END_BITS: u32 = 26;

/// Maximum size of a segment.
pub(super) const SEGMENT_END_MAX: u64 = (1 << END_BITS) - 1;

/// The end position of the journal; ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::embedded) struct Position {
    /// The generation of the newest segment.
    pub(super) generation: u64,
    /// The number of its valid bytes.
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

// A mapped page, so that a killed process leaves nothing to repair: docs/decisions/0029.
/// The mapped file; or a page of memory instead, if the directory is read-only.
pub(super) struct Head {
    file: Option<(File, FileIdentity)>,
    dir: PathBuf,
    map: NonNull<u8>,
}

// SAFETY: the map is memory that lives as long as the value, and is accessed through an atomic only.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Sync for Head {}

/// Holds the lock of the journal against other processes.
pub(super) struct HeadLock<'h> {
    file: &'h File,
}

impl Head {
    /// Opens the file, and creates it if it does not exist.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(files::HEAD);
        let failed = path_error(&path, "opened");
        Self::try_open(dir, &path).map_err(failed)
    }

    /// A head without a file, for a read-only directory.
    pub(super) fn without_file(dir: &Path) -> Result<Self> {
        let mapped = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        let failed = |error| io_error("cannot allocate a page of memory", error);
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
        // Written, not extended: writing to a mapped hole kills the process when the disk is full.
        let found = file.metadata()?;
        if found.len() < HEAD_BYTES as u64 {
            let lock = HeadLock::take(&file, COMMIT_LOCK_TIMEOUT)?;
            let length = file.metadata()?.len().min(HEAD_BYTES as u64);
            file.write_all_at(&vec![0; HEAD_BYTES - length as usize], length)?;
            drop(lock);
        }
        let map = map(libc::MAP_SHARED, file.as_raw_fd())?;
        let identity = FileIdentity::new(path.to_owned(), &found);
        Ok(Self {
            file: Some((file, identity)),
            dir: dir.to_owned(),
            map,
        })
    }

    /// Waits until no other process commits, and locks them out; fails with [`io::ErrorKind::WouldBlock`]
    /// if one does not end within `patience`.
    pub(super) fn lock(&self, timeout: Duration) -> io::Result<HeadLock<'_>> {
        match &self.file {
            Some((file, _)) => HeadLock::take(file, timeout),
            None => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Fails if the directory was removed or replaced.
    pub(super) fn check_not_replaced(&self) -> Result<()> {
        match &self.file {
            Some((_, identity)) => identity.check_not_replaced(),
            None => Ok(()),
        }
    }

    /// The position in the file; `None` if there is none, or it is from before the machine was restarted.
    pub(super) fn read_position(&self) -> io::Result<Option<Position>> {
        let Some((file, _)) = &self.file else {
            return Ok(None);
        };
        let mut start = [0; BOOT_AT as usize + BOOT_ID_BYTES];
        file.read_exact_at(&mut start, 0)?;
        let (magic, boot) = start.split_at(BOOT_AT as usize);
        let position = self.position();
        let is_valid = magic == MAGIC && boot == read_boot_id()? && position.generation > 0;
        Ok(is_valid.then_some(position))
    }

    /// Initializes the file with a position. The caller holds the lock.
    pub(super) fn initialize(&self, position: Position) -> io::Result<()> {
        let Some((file, _)) = &self.file else {
            self.set(position);
            return Ok(());
        };
        file.write_all_at(&[0; BOOT_AT as usize], 0)?;
        self.set(position);
        file.write_all_at(&read_boot_id()?, BOOT_AT)?;
        file.write_all_at(&MAGIC, 0)
    }

    /// The current end position.
    pub(super) fn position(&self) -> Position {
        Position::unpack(self.number().load(Ordering::Acquire))
    }

    /// Sets the end position. The caller holds the lock.
    pub(super) fn set(&self, position: Position) {
        self.number().store(position.pack(), Ordering::Release);
    }

    fn number(&self) -> &AtomicU64 {
        // SAFETY: within the map, which is page-aligned; every process accesses it as an atomic.
        unsafe { self.map.add(POSITION_AT).cast::<AtomicU64>().as_ref() }
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        // SAFETY: the map was created with this length, and there are no references into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), HEAD_BYTES) };
    }
}

/// Maps the start of a file, or memory, for reading and writing.
fn map(kind: libc::c_int, file: RawFd) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping: of memory, or of a file that has this length and is never shortened.
    let map = unsafe { libc::mmap(ptr::null_mut(), HEAD_BYTES, access, kind, file, 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(map.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl<'h> HeadLock<'h> {
    fn take(file: &'h File, timeout: Duration) -> io::Result<Self> {
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    let waited = start.elapsed();
                    if waited >= timeout {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    // A small part of the time waited so far: a process that commits continuously leaves
                    // gaps of microseconds, which rare polling would miss.
                    thread::sleep((waited / 200).clamp(POLL_INTERVALS[0], POLL_INTERVALS[1]));
                }
            }
        }
    }
}

impl Drop for HeadLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::error!(%error, "the lock of the journal cannot be released");
        }
    }
}
