//! Opening a directory, and its open state.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;

use espalier_keyspace::{Error, ErrorKind, Lens, Result};
use parking_lot::Mutex;

use super::compact;
use super::journal::Journal;
use super::names::{self, LOCK};
use super::replay::{Documents, Replayed, Tail, replay};
use crate::boot_id::read_boot_id;
use crate::file::Config;
use crate::file_identity::FileIdentity;
use crate::files::{Access, open_directory, path_error, private, read_only_error, sync_directory};
use crate::group_commit_queue::CommitQueue;
use crate::memory;

/// An open directory.
pub(in crate::file) struct Engine {
    pub(in crate::file) config: Config,
    /// The directory, with links resolved.
    pub(in crate::file) dir: PathBuf,
    /// Whether it can be changed.
    pub(in crate::file) access: Access,
    /// Held while the directory is open; `None` if it is on a read-only file system.
    lock: Option<Lock>,
    /// All rows, and the recent commits for watchers.
    pub(in crate::file) in_memory: Arc<memory::Engine>,
    /// Waiting commits.
    pub(in crate::file) queue: CommitQueue,
    pub(in crate::file) log: Mutex<Log>,
    /// The lens for documents, if one is set.
    pub(super) lens: Mutex<Option<Arc<dyn Lens>>>,
    /// Locked while a data file is written.
    pub(super) compacting: Mutex<()>,
    /// Set while a thread writes a data file.
    pub(super) is_compacting: AtomicBool,
    pub(super) compactor: Mutex<Option<JoinHandle<()>>>,
    /// Size of the data file.
    pub(super) data_bytes: AtomicU64,
}

/// The lock of a directory. Released when dropped, also if opening fails later.
struct Lock {
    file: File,
    opened: FileIdentity,
    /// The current boot ID.
    boot: String,
    /// The boot ID when the directory was open last; empty if unknown.
    last_boot: String,
}

/// State that changes with every commit, in one order.
pub(in crate::file) struct Log {
    pub(in crate::file) journal: Journal,
    /// Bytes of older journals that no data file has replaced yet.
    pub(super) older_bytes: u64,
    /// Journal bytes at which a data file is written.
    pub(super) compact_at: u64,
    pub(super) documents: Documents,
}

/// Opens a directory.
pub(in crate::file) fn open(config: Config) -> Result<Engine> {
    let dir = open_directory(&config.dir)?;
    let access = Access::to(&dir);
    names::reject_foreign_files(&dir)?;
    let (lock, replayed, journal) = match access {
        Access::Write => open_to_write(&dir)?,
        Access::Read => open_to_read(&dir)?,
    };
    let log = Log {
        journal,
        older_bytes: replayed.older_bytes,
        compact_at: compact::threshold(&config, replayed.data_bytes),
        documents: replayed.documents,
    };
    Ok(Engine {
        config,
        dir,
        access,
        lock,
        in_memory: Arc::new(memory::Engine::new(replayed.state)),
        queue: CommitQueue::default(),
        log: Mutex::new(log),
        lens: Mutex::default(),
        compacting: Mutex::default(),
        is_compacting: AtomicBool::new(false),
        compactor: Mutex::default(),
        data_bytes: AtomicU64::new(replayed.data_bytes),
    })
}

fn open_to_write(dir: &Path) -> Result<(Option<Lock>, Replayed, Journal)> {
    let lock = lock(dir)?;
    let replayed = match replay(dir, lock.tail())? {
        Some(replayed) => replayed,
        None => create_files(dir)?,
    };
    let journal = match replayed.length {
        Some(length) => Journal::resume(dir, replayed.generation, length)?,
        None => Journal::create(dir, replayed.generation)?,
    };
    lock.remember_boot();
    compact::remove_obsolete(dir);
    Ok((Some(lock), replayed, journal))
}

/// Opens a directory on a read-only file system, without a lock. An incomplete end of the journal is
/// ignored.
fn open_to_read(dir: &Path) -> Result<(Option<Lock>, Replayed, Journal)> {
    let Some(replayed) = replay(dir, Tail::MayBeTorn)? else {
        return Err(read_only_error(dir));
    };
    let journal = Journal::open_read_only(dir, replayed.generation, replayed.length)?;
    Ok((None, replayed, journal))
}

/// Locks a directory, and writes the owner to the lock file.
fn lock(dir: &Path) -> Result<Lock> {
    let path = dir.join(LOCK);
    let failed = path_error(&path, "written");
    let file = private()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(locked_error(dir, &path)),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let found = file.metadata().map_err(failed)?;
    let left = fs::read_to_string(&path).unwrap_or_default();
    let boot = read_boot_id().map(|boot| String::from_utf8_lossy(&boot).into_owned());
    let lock = Lock {
        file,
        opened: FileIdentity::new(path, &found),
        boot: boot.unwrap_or_default(),
        last_boot: left.lines().nth(1).unwrap_or_default().to_owned(),
    };
    lock.write_owner(&lock.last_boot);
    Ok(lock)
}

fn locked_error(dir: &Path, path: &Path) -> Error {
    let holder = fs::read_to_string(path).unwrap_or_default();
    let holder = match holder.lines().next().unwrap_or_default().parse::<u32>() {
        Ok(id) if id == std::process::id() => "this process".to_owned(),
        Ok(id) => format!("process {id}"),
        Err(_) => "another process".to_owned(),
    };
    let message = format!(
        "{} is open in {holder}; only one process at a time can open it: stop that one, or connect to it \
         (--server URL)",
        dir.display()
    );
    Error::new(ErrorKind::Locked, message)
}

/// Creates the files of an empty key space.
fn create_files(dir: &Path) -> Result<Replayed> {
    let mut replayed = Replayed {
        generation: 1,
        ..Replayed::default()
    };
    let journal = Journal::create(dir, 1)?;
    replayed.length = Some(journal.length());
    replayed.data_bytes = compact::write_data(dir, 1, &replayed.state, &replayed.documents)?;
    let named = dir.parent().map_or(Ok(()), sync_directory);
    named
        .or_else(ignore_unreadable)
        .map_err(path_error(dir, "flushed"))?;
    Ok(replayed)
}

/// This user may not have read access to the parent folder.
fn ignore_unreadable(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(error),
    }
}

impl Engine {
    /// Fails if the directory was removed or replaced: commits would be lost, and the files at its path
    /// belong to another store.
    pub(in crate::file) fn check_not_replaced(&self) -> Result<()> {
        let opened = self.lock.as_ref().map(|lock| &lock.opened);
        opened.map_or(Ok(()), FileIdentity::check_not_replaced)
    }

    /// Makes every commit durable.
    pub(in crate::file) fn sync(&self) -> Result<()> {
        self.log.lock().journal.sync()
    }
}

impl Lock {
    /// How the newest journal may end. Everything that a process wrote remains until the machine stops.
    fn tail(&self) -> Tail {
        match !self.boot.is_empty() && self.boot == self.last_boot {
            true => Tail::MayBeTruncated,
            false => Tail::MayBeTorn,
        }
    }

    /// Records that the directory was open during this boot, after an incomplete end of the journal was
    /// truncated.
    fn remember_boot(&self) {
        self.write_owner(&self.boot);
    }

    /// Writes the owner and a boot ID to the lock file. A full disk does not affect the lock; an unknown
    /// boot ID is treated as a different one.
    fn write_owner(&self, boot: &str) {
        let text = format!("{}\n{boot}\n", std::process::id());
        // Overwrite first: a truncated file may not get its block back.
        let written = self.file.write_all_at(text.as_bytes(), 0);
        if let Err(error) = written.and_then(|()| self.file.set_len(text.len() as u64)) {
            tracing::debug!(%error, "the lock file does not name its owner");
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not sufficient: a child process that is being started shares it until it
        // runs.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock is released when this process ends");
        }
    }
}
