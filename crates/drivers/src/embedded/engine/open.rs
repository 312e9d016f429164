//! Opens a directory, once per process.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result};
use heed::types::Bytes;
use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, WithoutTls};
use parking_lot::Mutex;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::directory::Engine;
use super::environment::{
    DATA_FILE, Keys, Lmdb, MAP_BYTES, MAP_BYTES_MIN, MAP_BYTES_STEP, READERS_MAX,
};
use super::error::engine_error;
use super::journal::has_journal;
use super::pages::{self, CheckedState};
use super::{damage_handler, format};
use crate::embedded::Config;
use crate::files::{Access, io_error, open_directory, path_error, private, sync_directory};

/// The directories that this process has open. A global, because LMDB's rule is global: an environment must
/// not be opened twice in a process (closing one would release the other's file locks).
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Engine>>>> = LazyLock::new(Mutex::default);

/// How long to wait for a directory that is being closed in this process.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a directory, or shares it if this process has it open with the same options.
pub(in crate::embedded) fn open(config: Config) -> Result<Arc<Engine>> {
    let dir = open_directory(&config.dir)?;
    let mut opened = OPEN.lock();
    if let Some(engine) = opened.get(&dir).and_then(Weak::upgrade) {
        return share(engine, &config);
    }
    opened.retain(|_, engine| engine.strong_count() > 0);
    let engine = Arc::new(open_new(dir.clone(), config)?);
    opened.insert(dir, Arc::downgrade(&engine));
    Ok(engine)
}

fn share(engine: Arc<Engine>, config: &Config) -> Result<Arc<Engine>> {
    let same = engine.config.durability == config.durability
        && engine.config.map_bytes == config.map_bytes
        && engine.config.headroom_bytes == config.headroom_bytes
        && engine.config.journal_bytes == config.journal_bytes;
    engine.journal.check_not_replaced()?;
    if same {
        return Ok(engine);
    }
    let message = format!(
        "this process has {} open with other options",
        engine.dir().display()
    );
    Err(Error::new(ErrorKind::Locked, message))
}

fn open_new(dir: PathBuf, config: Config) -> Result<Engine> {
    let access = Access::to(&dir);
    format::check_or_create(&dir, access)?;
    damage_handler::set_directory(&dir);
    let is_new = !dir.join(DATA_FILE).exists();
    if is_new && has_journal(&dir) {
        return Err(data_file_missing(&dir));
    }
    if access == Access::Write {
        allocate_locks(&dir)?;
    }
    let env = open_env(&dir, &config, access)?;
    if is_new {
        sync_names(&dir).map_err(|error| io_error("the directory cannot be flushed", error))?;
    }
    env.clear_stale_readers()
        .map_err(|error| engine_error(&dir, error))?;
    extend_to_last_page(&env, access)?;
    let keys = open_keys(&env)?;
    let base = Lmdb {
        dir,
        env,
        keys,
        gate: Default::default(),
        access,
    };
    Engine::new(config, Arc::new(base))
}

/// The error of a directory that has a journal, which is created after the data file, and no data file.
fn data_file_missing(dir: &Path) -> Error {
    let message = format!(
        "the file {DATA_FILE} in {} is missing, and the journal is there; nothing was changed: put the file back, or \
         restore a backup into another directory",
        dir.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// Makes the names of a new file and its directory durable: LMDB flushes only the file content.
fn sync_names(dir: &Path) -> io::Result<()> {
    sync_directory(dir)?;
    dir.parent().map_or(Ok(()), sync_directory)
}

/// LMDB's table of readers.
const LOCK_FILE: &str = "lock.mdb";

/// Bytes of it that are used with few readers: 8 KiB.
const LOCK_BYTES_MIN: u64 = 8 << 10;

/// Its full size: a slot for each reader, and two before them.
const LOCK_BYTES: u64 = (READERS_MAX as u64 + 2) * 64;

/// Allocates the blocks of that file. LMDB writes to it through a map, and writing to a mapped hole kills
/// the process when the disk is full. Must be called before LMDB opens the file: closing a file releases
/// all locks that the process has on it.
fn allocate_locks(dir: &Path) -> Result<()> {
    let path = dir.join(LOCK_FILE);
    let allocated = || -> io::Result<()> {
        let file = private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let found = file.metadata()?;
        let bytes = found.len().max(LOCK_BYTES);
        if found.len() == bytes && found.blocks() * 512 >= bytes {
            return Ok(());
        }
        let allocate = |bytes| rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes);
        match allocate(bytes).or_else(|_| allocate(LOCK_BYTES_MIN)) {
            // The file system does not support preallocation: nothing more can be done.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    };
    allocated().map_err(path_error(&path, "written"))
}

/// The initial map size.
fn first_map_bytes(dir: &Path, config: &Config) -> usize {
    let wanted = config.map_bytes.unwrap_or(MAP_BYTES).max(MAP_BYTES_MIN);
    let limit = rustix::process::getrlimit(rustix::process::Resource::As);
    match limit.current {
        Some(_) => wanted,
        None => {
            let used = fs::metadata(dir.join(DATA_FILE)).map_or(0, |data| data.len() as usize);
            wanted.max(used.saturating_add(config.headroom_bytes))
        }
    }
}

/// Opens the environment with the largest possible map, up to the configured size.
fn open_env(dir: &Path, config: &Config, access: Access) -> Result<Env<WithoutTls>> {
    let wanted = first_map_bytes(dir, config);
    let mut map_bytes = wanted
        .div_ceil(MAP_BYTES_STEP)
        .saturating_mul(MAP_BYTES_STEP);
    loop {
        match try_open(dir, map_bytes, access) {
            Err(heed::Error::Io(error))
                if error.kind() == io::ErrorKind::OutOfMemory && map_bytes > MAP_BYTES_MIN =>
            {
                map_bytes = (map_bytes / 2).next_multiple_of(MAP_BYTES_STEP);
            }
            Err(heed::Error::EnvAlreadyOpened) => await_close(dir)?,
            opened => return opened.map_err(|error| engine_error(dir, error)),
        }
    }
}

/// The last user in this process has left [`OPEN`], but LMDB may not be closed yet.
fn await_close(dir: &Path) -> Result<()> {
    let closed =
        heed::env_closing_event(dir).is_none_or(|closing| closing.wait_timeout(CLOSE_TIMEOUT));
    if closed {
        return Ok(());
    }
    Err(engine_error(dir, heed::Error::EnvAlreadyOpened))
}

fn try_open(dir: &Path, map_bytes: usize, access: Access) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(map_bytes).max_readers(READERS_MAX);
    if access == Access::Read {
        // SAFETY: this flag does not disable locking between processes. On a read-only file system LMDB has
        // no lock file, and no process can change the file.
        unsafe { options.flags(EnvFlags::READ_ONLY) };
    }
    // SAFETY: only LMDB changes the file (the format file excludes foreign ones, LMDB's lock file
    // synchronizes processes), and `OPEN` makes sure that this process opens it once.
    unsafe { options.open(dir) }
}

/// Extends a file that ends before its last page. LMDB itself leaves such files, if the pages at the end
/// were never written because they were unused. A truncated file looks the same, and reading beyond the end
/// of a mapped file kills the process; so all used pages are checked first.
fn extend_to_last_page(env: &Env<WithoutTls>, access: Access) -> Result<()> {
    if missing_bytes(env)? == 0 {
        return Ok(());
    }
    if access == Access::Read {
        return check_pages(&env.path().join(DATA_FILE));
    }
    // As the only writer: other processes extend the file too.
    let writing = env.write_txn();
    let writing = writing.map_err(|error| engine_error(env.path(), error))?;
    let missing = missing_bytes(env)?;
    if missing > 0 {
        let path = env.path().join(DATA_FILE);
        let act = path_error(&path, "extended");
        check_pages(&path)?;
        let file = fs::OpenOptions::new().write(true).open(&path);
        let lengthened = file.and_then(|file| file.set_len(file.metadata()?.len() + missing));
        lengthened.map_err(act)?;
    }
    writing.abort();
    Ok(())
}

/// Fails if a page of the newest state is damaged.
fn check_pages(path: &Path) -> Result<()> {
    let findings =
        pages::check_pages(path, CheckedState::Newest).map_err(path_error(path, "read"))?;
    match findings.unwrap_or_default().first() {
        None => Ok(()),
        Some(finding) => {
            let message = format!("{}: {}", finding.place, finding.problem);
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

fn missing_bytes(env: &Env<WithoutTls>) -> Result<u64> {
    let page_bytes = u64::from(env.unnamed_database_stat().page_size);
    let last = env.info().last_page_number as u64;
    let length = env.real_disk_size();
    let length = length.map_err(|error| engine_error(env.path(), error))?;
    let bytes = last
        .checked_add(1)
        .and_then(|pages| pages.checked_mul(page_bytes));
    let damaged = || {
        let path = env.path().join(DATA_FILE);
        let message = format!("{} is damaged: page {last} is missing", path.display());
        Error::new(ErrorKind::Corrupt, message)
    };
    Ok(bytes.ok_or_else(damaged)?.saturating_sub(length))
}

fn open_keys(env: &Env<WithoutTls>) -> Result<Keys> {
    let failed = |error| engine_error(env.path(), error);
    let txn = env.read_txn().map_err(failed)?;
    let opened = env.open_databases_and_commit(txn, |opener, txn| {
        let keys = opener.open_database::<Bytes, Bytes>(txn, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(keys))
    });
    let keys = opened.map_err(failed)?.commit().flatten();
    keys.ok_or_else(|| Error::new(ErrorKind::Corrupt, "the engine has no database of keys"))
}
