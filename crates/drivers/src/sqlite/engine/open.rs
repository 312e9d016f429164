//! Opening a file, and what is open.

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

use super::connection::{Mode, be_patient, open_reader, open_writer};
use super::error::{self, engine_error, open_error};
use super::format::{self, Found};
use super::log;
use super::pool::Pool;
use super::transaction::{Transaction, begin_read, end_read};
use crate::commit_queue::CommitQueue;
use crate::file_identity::FileIdentity;
use crate::files::{Access, create_directories, io_error, private, read_only_error};
use crate::recent_commits::RecentCommits;
use crate::sqlite::Config;

/// Bytes of log at which it is emptied even if readers have to be waited for a moment: 64 MiB.
pub const LOG_BYTES_MAX: u64 = 64 << 20;

/// How long emptying the log waits for snapshots.
const LOG_PATIENCE: Duration = Duration::from_millis(50);

/// How long opening waits for another process that is making the file.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);
const OPEN_RETRY: Duration = Duration::from_millis(5);

/// An open file.
pub(in crate::sqlite) struct Engine {
    /// The file, without links in its path.
    pub(super) file: PathBuf,
    pub(in crate::sqlite) mode: Mode,
    opened: FileIdentity,
    /// The connection that writes, taken by the leader of a group of commits.
    pub(in crate::sqlite) writer: Mutex<Connection>,
    pub(super) readers: Pool,
    /// The connection that asks for the newest version.
    asking: Mutex<Connection>,
    /// Commits that wait for their turn.
    pub(in crate::sqlite) queue: CommitQueue,
    /// The newest commits, for watchers.
    pub(in crate::sqlite) recent: RecentCommits,
    /// Held from a commit until it stands in `recent`, so that a watcher that asks for the newest
    /// version does not take it for another process's.
    pub(in crate::sqlite) publishing: Mutex<()>,
    /// Whether rows have columns for people who query them.
    pub(in crate::sqlite) is_readable: bool,
    /// Who fills them.
    pub(in crate::sqlite) lens: RwLock<Option<Arc<dyn Lens>>>,
    /// The length of the log at which it is emptied next.
    log_bytes_next: AtomicU64,
}

/// Opens a file.
pub(in crate::sqlite) fn open(config: &Config) -> Result<Engine> {
    let file = place(&config.file)?;
    let deadline = Instant::now() + OPEN_PATIENCE;
    loop {
        match open_somehow(&file, config) {
            Err(error) if error.kind() == ErrorKind::Unavailable && Instant::now() < deadline => {
                thread::sleep(OPEN_RETRY);
            }
            opened => return opened,
        }
    }
}

/// Opens a file as its disk allows.
fn open_somehow(file: &Path, config: &Config) -> Result<Engine> {
    if !file.exists() {
        return open_in(Mode::Shared, file, config);
    }
    if Access::to(file) == Access::Read {
        let has_log = fs::metadata(log_of(file)).is_ok_and(|log| log.len() > 0);
        let mode = match has_log {
            true => Mode::Read,
            false => Mode::ReadWithoutLog,
        };
        return open_in(mode, file, config).map_err(|error| match has_log {
            true => log_needs_writing(file, error),
            false => error,
        });
    }
    match open_in(Mode::Shared, file, config) {
        Err(error) if error.kind() == ErrorKind::Full => {
            tracing::warn!(file = %file.display(),
                "the disk is full: no other process can open the store while this one has it open");
            open_in(Mode::Alone, file, config)
        }
        opened => opened,
    }
}

/// The error that a file cannot be read where nobody can write.
fn log_needs_writing(file: &Path, error: Error) -> Error {
    let message = format!(
        "{} lies on a read-only file system, and what was committed last is in its log, which cannot be read \
         there: copy it together with {} to where they can be written, and open the copy",
        file.display(),
        log_of(file).display()
    );
    Error::new(ErrorKind::ReadOnly, message).with_source(error)
}

fn open_in(mode: Mode, file: &Path, config: &Config) -> Result<Engine> {
    let failed = |error| open_error(file, error);
    let (writer, is_readable) = match mode.writes() {
        true => open_to_write(mode, file, config)?,
        false => open_to_read(mode, file, config)?,
    };
    // The log is opened by the first that reads, and where that fails it is better to know now.
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
        asking: Mutex::new(open_reader(file, mode).map_err(failed)?),
        queue: CommitQueue::default(),
        recent: RecentCommits::after(newest),
        publishing: Mutex::new(()),
        is_readable,
        lens: RwLock::default(),
        log_bytes_next: AtomicU64::new(LOG_BYTES_MAX),
    };
    if mode.writes() {
        engine.give_back_space();
    }
    Ok(engine)
}

/// The connection that writes, and whether the rows have columns for people.
fn open_to_write(mode: Mode, file: &Path, config: &Config) -> Result<(Connection, bool)> {
    let failed = |error| open_error(file, error);
    make_private(file);
    let mut writer = open_writer(file, mode, config.durability).map_err(failed)?;
    if writer.is_readonly(MAIN_DB).map_err(failed)? {
        let message = format!(
            "{} cannot be written; Espalier needs to write it and its folder",
            file.display()
        );
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    let found = format::check_or_create(&mut writer, file)?;
    let is_readable = format::make_readable(&mut writer, file, config.readable)?;
    if found == Found::Made {
        sync_name(file).map_err(|error| io_error("the folder cannot be flushed", error))?;
    }
    Ok((writer, is_readable))
}

/// The same where nothing can be written.
fn open_to_read(mode: Mode, file: &Path, config: &Config) -> Result<(Connection, bool)> {
    let connection = open_reader(file, mode).map_err(|error| open_error(file, error))?;
    let is_readable = format::check_readable(&connection, file)?;
    match config.readable {
        Some(wanted) if wanted != is_readable => Err(read_only_error(file)),
        _ => Ok((connection, is_readable)),
    }
}

/// Makes the file where there is none, for its owner alone: SQLite would make it for all that the umask lets
/// read it, and gives its log the mode of the file.
fn make_private(file: &Path) {
    // Where this fails, SQLite cannot make it either, and reports why.
    let _ = private().write(true).create_new(true).open(file);
}

/// The path of the file without links. Its folders are made where they do not exist.
fn place(file: &Path) -> Result<PathBuf> {
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

/// Makes the name of a new file durable.
fn sync_name(file: &Path) -> io::Result<()> {
    file.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

impl Engine {
    /// Fails where the file was removed or replaced: what would be committed is lost then.
    pub(in crate::sqlite) fn check_not_replaced(&self) -> Result<()> {
        self.opened.check_not_replaced()
    }

    /// The version of the newest commit of any process.
    pub(in crate::sqlite) fn newest(&self) -> Result<Version> {
        let connection = self.asking.lock();
        let newest = begin_read(&connection).map_err(engine_error)?;
        end_read(&connection);
        Ok(newest)
    }

    /// Makes every commit durable: flushes the log. What left the log was flushed as it did.
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
        log_of(&self.file)
    }

    /// Fails where nothing can be changed.
    pub(in crate::sqlite) fn check_writable(&self) -> Result<()> {
        match self.mode.writes() {
            true => Ok(()),
            false => Err(read_only_error(&self.file)),
        }
    }

    /// Gives back the disk space of what a write has put into the log that does not count, as it failed or its
    /// process was killed. Where another process is writing, that is left to it.
    pub(in crate::sqlite) fn give_back_space(&self) {
        if !self.mode.writes() {
            return;
        }
        let path = self.log();
        match log::ends_in_a_commit(&path) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return tracing::debug!(%error, "the log is not looked at"),
        }
        if let Err(error) = self.try_give_back_space(&mut self.writer.lock(), &path) {
            tracing::warn!(file = %self.file.display(), %error, "the disk space of a write that failed is not given back");
        }
    }

    fn try_give_back_space(&self, writer: &mut Connection, path: &Path) -> Result<()> {
        self.check_not_replaced()?;
        writer.busy_timeout(LOG_PATIENCE).map_err(engine_error)?;
        // As the only writer: nobody appends to the log now, and readers read no further than commits.
        let cut = match Transaction::begin_write(writer) {
            Ok((transaction, _)) => {
                let cut = log::cut_after_commits(path);
                let _ = transaction.rollback();
                cut.map_err(|error| io_error(format!("{} cannot be cut", path.display()), error))
            }
            Err(error) => {
                tracing::debug!(%error, "another process is writing");
                Ok(())
            }
        };
        be_patient(writer).map_err(engine_error)?;
        cut
    }

    /// Empties the log where it has become long. SQLite does so by itself, but only at a moment
    /// when nobody reads, and with many readers there may be none.
    pub(in crate::sqlite) fn shorten_log(&self, writer: &mut Connection) {
        let bytes = fs::metadata(self.log()).map_or(0, |log| log.len());
        if bytes < self.log_bytes_next.load(Ordering::Relaxed) {
            return;
        }
        let emptied = empty_log(writer);
        let next = match emptied {
            Ok(true) => LOG_BYTES_MAX,
            _ => bytes.saturating_mul(2),
        };
        tracing::debug!(bytes, next, ?emptied, "the log has become long");
        self.log_bytes_next.store(next, Ordering::Relaxed);
    }

    /// The error of a commit, by its cause.
    pub(in crate::sqlite) fn commit_error(&self, error: rusqlite::Error) -> Error {
        let end = fs::metadata(self.log()).map_or(0, |log| log.len());
        error::commit_error(&self.file, end, error)
    }
}

/// The log of a file.
fn log_of(file: &Path) -> PathBuf {
    let mut path = file.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// Whether the log could be emptied.
fn empty_log(writer: &mut Connection) -> rusqlite::Result<bool> {
    writer.busy_timeout(LOG_PATIENCE)?;
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    be_patient(writer)?;
    busy.map(|busy: i64| busy == 0)
}
