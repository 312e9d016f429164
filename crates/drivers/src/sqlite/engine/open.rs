//! Opens a file, and holds the state of an open one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, Lens, Result, Version};
use parking_lot::{Mutex, RwLock};
use rusqlite::{Connection, MAIN_DB};

use super::connection::{Mode, open_reader, open_writer, set_busy_handler};
use super::error::{self, engine_error, open_error};
use super::format::{self, FileOrigin};
use super::pool::Pool;
use super::transaction::{Transaction, begin_read, end_read};
use super::wal;
use crate::file_identity::FileIdentity;
use crate::files::{
    Access, create_directories, io_error, path_error, private, read_only_error, sync_directory,
};
use crate::group_commit_queue::CommitQueue;
use crate::recent_commits::RecentCommits;
use crate::sqlite::Config;

/// The length of the log, in bytes, from which a commit checkpoints it, even if it has to wait for readers:
/// 64 MiB.
pub const LOG_BYTES_MAX: u64 = 64 << 20;

/// How long a checkpoint waits for snapshots.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(50);

/// How long opening waits for another process that is creating the file.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
const OPEN_RETRY: Duration = Duration::from_millis(5);

/// An open file.
pub(in crate::sqlite) struct Engine {
    /// The path of the file, with symbolic links resolved.
    pub(super) file: PathBuf,
    pub(in crate::sqlite) mode: Mode,
    opened: FileIdentity,
    /// The connection that writes. The leader of a group of commits locks it.
    pub(in crate::sqlite) writer: Mutex<Connection>,
    pub(super) readers: Pool,
    /// The connection that reads the newest version.
    version_reader: Mutex<Connection>,
    /// Commits that wait for the writer.
    pub(in crate::sqlite) queue: CommitQueue,
    /// The newest commits, for watchers.
    pub(in crate::sqlite) recent: RecentCommits,
    /// Locked from a commit until it is in `recent`, so that a watcher that reads the newest version in between
    /// does not report the commit as one of another process.
    pub(in crate::sqlite) publishing: Mutex<()>,
    /// Whether the file has readable columns.
    pub(in crate::sqlite) is_readable: bool,
    /// Computes the readable columns.
    pub(in crate::sqlite) lens: RwLock<Option<Arc<dyn Lens>>>,
    /// The length of the log at which the next checkpoint is due.
    checkpoint_bytes_next: AtomicU64,
}

/// Opens a file.
pub(in crate::sqlite) fn open(config: &Config) -> Result<Engine> {
    let file = canonical_path(&config.file)?;
    let deadline = Instant::now() + OPEN_TIMEOUT;
    loop {
        match open_as_disk_allows(&file, config) {
            Err(error) if error.kind() == ErrorKind::Unavailable && Instant::now() < deadline => {
                thread::sleep(OPEN_RETRY);
            }
            opened => return opened,
        }
    }
}

/// Opens a file in the mode that its disk allows: shared, exclusive if the disk is full, or read-only.
fn open_as_disk_allows(file: &Path, config: &Config) -> Result<Engine> {
    if !file.exists() {
        return open_with_mode(Mode::Shared, file, config);
    }
    if Access::to(file) == Access::Read {
        let has_log = fs::metadata(wal_path(file)).is_ok_and(|log| log.len() > 0);
        let mode = match has_log {
            true => Mode::ReadOnly,
            false => Mode::ReadOnlyWithoutWal,
        };
        return open_with_mode(mode, file, config).map_err(|error| match has_log {
            true => log_needs_writing(file, error),
            false => error,
        });
    }
    match open_with_mode(Mode::Shared, file, config) {
        Err(error) if error.kind() == ErrorKind::Full => {
            tracing::warn!(file = %file.display(),
                "the disk is full: no other process can open the store while this one has it open");
            open_with_mode(Mode::Exclusive, file, config)
        }
        opened => opened,
    }
}

/// Returns the error that the log of a file on a read-only file system cannot be read.
fn log_needs_writing(file: &Path, error: Error) -> Error {
    let message = format!(
        "{} is on a read-only file system, and its newest commits are in its log, which cannot be read \
         there: copy it together with {} to a writable file system, and open the copy",
        file.display(),
        wal_path(file).display()
    );
    Error::new(ErrorKind::ReadOnly, message).with_source(error)
}

fn open_with_mode(mode: Mode, file: &Path, config: &Config) -> Result<Engine> {
    let failed = |error| open_error(file, error);
    let (writer, is_readable) = match mode.is_writable() {
        true => open_to_write(mode, file, config)?,
        false => open_to_read(mode, file, config)?,
    };
    // SQLite opens the log on the first read. If that fails, opening should fail.
    let newest = begin_read(&writer).map_err(failed)?;
    end_read(&writer);
    let found = fs::metadata(file)
        .map_err(|error| io_error(format!("{} cannot be looked at", file.display()), error))?;
    let engine = Engine {
        file: file.to_owned(),
        mode,
        opened: FileIdentity::new(file.to_owned(), &found),
        writer: Mutex::new(writer),
        readers: Pool::default(),
        version_reader: Mutex::new(open_reader(file, mode).map_err(failed)?),
        queue: CommitQueue::default(),
        recent: RecentCommits::after(newest),
        publishing: Mutex::new(()),
        is_readable,
        lens: RwLock::default(),
        checkpoint_bytes_next: AtomicU64::new(LOG_BYTES_MAX),
    };
    if mode.is_writable() {
        engine.reclaim_log_space();
    }
    Ok(engine)
}

/// Opens the connection that writes. Also returns whether the file has readable columns.
fn open_to_write(mode: Mode, file: &Path, config: &Config) -> Result<(Connection, bool)> {
    let failed = |error| open_error(file, error);
    make_private(file);
    let mut writer = open_writer(file, mode, config.durability).map_err(failed)?;
    if writer.is_readonly(MAIN_DB).map_err(failed)? {
        let message = format!(
            "{} is not writable; Espalier must be able to write the file and its folder",
            file.display()
        );
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    let found = format::check_or_create(&mut writer, file)?;
    let is_readable = format::set_readable(&mut writer, file, config.readable)?;
    if found == FileOrigin::Created {
        sync_name(file).map_err(|error| io_error("the folder cannot be flushed", error))?;
    }
    Ok((writer, is_readable))
}

/// The same for a file that can only be read.
fn open_to_read(mode: Mode, file: &Path, config: &Config) -> Result<(Connection, bool)> {
    let connection = open_reader(file, mode).map_err(|error| open_error(file, error))?;
    let is_readable = format::check_read_only(&connection, file)?;
    match config.readable {
        Some(requested) if requested != is_readable => Err(read_only_error(file)),
        _ => Ok((connection, is_readable)),
    }
}

/// Creates the file, if there is none, readable only by its owner. SQLite would create it with the permissions
/// of the umask, and gives its log the permissions of the file.
fn make_private(file: &Path) {
    // If this fails, SQLite cannot create it either, and reports why.
    let _ = private().write(true).create_new(true).open(file);
}

/// Resolves symbolic links in the path of the file. Creates its parent directories if they do not exist.
fn canonical_path(file: &Path) -> Result<PathBuf> {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = file.file_name();
    let (Some(name), false) = (name, file.is_dir()) else {
        let message = format!("{} is a folder; the engine needs a file", file.display());
        return Err(Error::new(ErrorKind::Engine, message));
    };
    let failed = |error| {
        let act = format!("the folder {} cannot be opened", folder.display());
        io_error(act, error)
    };
    create_directories(folder).map_err(failed)?;
    let path = folder.canonicalize().map_err(failed)?.join(name);
    Ok(path.canonicalize().unwrap_or(path))
}

/// Makes the directory entry of a new file durable.
fn sync_name(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), sync_directory)
}

impl Engine {
    /// Fails if the file was removed or replaced, as a commit would be lost then.
    pub(in crate::sqlite) fn check_not_replaced(&self) -> Result<()> {
        self.opened.check_not_replaced()
    }

    /// Reads the version of the newest commit of any process.
    pub(in crate::sqlite) fn newest(&self) -> Result<Version> {
        let connection = self.version_reader.lock();
        let newest = begin_read(&connection).map_err(engine_error)?;
        end_read(&connection);
        Ok(newest)
    }

    /// Makes every commit durable by flushing the log. A checkpoint flushes what it moves out of the log.
    pub(in crate::sqlite) fn sync(&self) -> Result<()> {
        self.check_not_replaced()?;
        match File::open(self.log()).and_then(|log| log.sync_all()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("the log cannot be flushed", error))
            }
            _ => Ok(()),
        }
    }

    fn log(&self) -> PathBuf {
        wal_path(&self.file)
    }

    /// Fails if the file is open read-only.
    pub(in crate::sqlite) fn check_writable(&self) -> Result<()> {
        match self.mode.is_writable() {
            true => Ok(()),
            false => Err(read_only_error(&self.file)),
        }
    }

    /// Frees the disk space of uncommitted frames in the log, left by a write that failed or whose process was
    /// killed. Does nothing if another process is writing; that process frees it.
    pub(in crate::sqlite) fn reclaim_log_space(&self) {
        if !self.mode.is_writable() {
            return;
        }
        let path = self.log();
        match wal::ends_with_commit(&path) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return tracing::debug!(%error, "the log cannot be read"),
        }
        if let Err(error) = self.try_give_back_space(&mut self.writer.lock(), &path) {
            tracing::warn!(file = %self.file.display(), %error, "the log space of a failed write was not freed");
        }
    }

    fn try_give_back_space(&self, writer: &mut Connection, path: &Path) -> Result<()> {
        self.check_not_replaced()?;
        writer
            .busy_timeout(CHECKPOINT_TIMEOUT)
            .map_err(engine_error)?;
        // With the write lock, nothing is appended to the log, and readers do not read beyond the last commit.
        let cut = match Transaction::begin_write(writer) {
            Ok((transaction, _)) => {
                let cut = wal::truncate_after_last_commit(path);
                let _ = transaction.rollback();
                cut.map_err(path_error(path, "truncated"))
            }
            Err(error) => {
                tracing::debug!(%error, "another process is writing");
                Ok(())
            }
        };
        set_busy_handler(writer).map_err(engine_error)?;
        cut
    }

    /// Checkpoints the log if it has become long. SQLite does so by itself, but resets the log only at a moment
    /// without readers, and with many readers there may be none.
    pub(in crate::sqlite) fn checkpoint_if_long(&self, writer: &mut Connection) {
        let bytes = fs::metadata(self.log()).map_or(0, |log| log.len());
        if bytes < self.checkpoint_bytes_next.load(Ordering::Relaxed) {
            return;
        }
        let emptied = checkpoint(writer);
        let next = match emptied {
            Ok(true) => LOG_BYTES_MAX,
            _ => bytes.saturating_mul(2),
        };
        tracing::debug!(bytes, next, ?emptied, "checkpointed a long log");
        self.checkpoint_bytes_next.store(next, Ordering::Relaxed);
    }

    /// Converts the error of a commit.
    pub(in crate::sqlite) fn commit_error(&self, error: rusqlite::Error) -> Error {
        let end = fs::metadata(self.log()).map_or(0, |log| log.len());
        error::commit_error(&self.file, end, error)
    }
}

/// The path of the log of a file.
fn wal_path(file: &Path) -> PathBuf {
    let mut path = file.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// Checkpoints and truncates the log. Returns whether all of it could be.
fn checkpoint(writer: &mut Connection) -> rusqlite::Result<bool> {
    writer.busy_timeout(CHECKPOINT_TIMEOUT)?;
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    set_busy_handler(writer)?;
    busy.map(|busy: i64| busy == 0)
}
