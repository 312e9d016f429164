//! Connections to the file, and how long they wait for the locks of other processes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::Durability;

/// How long a commit waits for writers in other processes: one minute.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// The length of the first [`SHORT_WAITS`] waits. Most writers finish within them.
const SHORT_WAIT: Duration = Duration::from_micros(200);
const SHORT_WAITS: u32 = 50;

/// The length of the later waits.
const LONG_WAIT: Duration = Duration::from_millis(2);

/// Compiled statements that a connection caches. There are fewer statements than this.
const STATEMENTS_MAX: usize = 32;

/// Page cache of the writer, in KiB: 64 MiB. A transaction that changes more spills to the log.
const WRITER_CACHE_KIB: i64 = 64 << 10;

/// Page cache of each reader, in KiB: 2 MiB. The operating system caches the other pages.
const READER_CACHE_KIB: i64 = 2 << 10;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite) enum Mode {
    /// Shared with other processes. The index of the log is a file in shared memory.
    Shared,
    /// By this process only. The index of the log is in its memory, as the disk has no space for the file.
    Exclusive,
    /// On a read-only file system, with the log that exists there.
    ReadOnly,
    /// On a read-only file system, without a log.
    ReadOnlyWithoutWal,
}

impl Mode {
    /// Returns whether the file can be changed.
    pub(in crate::sqlite) fn is_writable(self) -> bool {
        matches!(self, Self::Shared | Self::Exclusive)
    }

    fn flags(self) -> OpenFlags {
        match self {
            Self::Shared | Self::Exclusive => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Self::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::ReadOnlyWithoutWal => {
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI
            }
        }
    }
}

/// Opens the connection that writes. Creates the file if it does not exist.
pub(super) fn open_writer(
    file: &Path,
    mode: Mode,
    durability: Durability,
) -> rusqlite::Result<Connection> {
    let connection = open(file, mode, OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    let synchronous = match durability {
        Durability::Durable => "FULL",
        Durability::Relaxed => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // A row that INSERT OR REPLACE replaces then fires the delete trigger, too.
    connection.pragma_update(None, "recursive_triggers", true)?;
    Ok(connection)
}

/// Opens a connection that reads.
pub(super) fn open_reader(file: &Path, mode: Mode) -> rusqlite::Result<Connection> {
    let connection = open(file, mode, OpenFlags::empty())?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// The SQLite VFS that locks the database for one process and needs no shared memory.
const EXCLUSIVE_VFS: &std::ffi::CStr = c"unix-excl";

fn open(file: &Path, mode: Mode, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = mode.flags() | flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = match mode {
        Mode::Shared | Mode::ReadOnly => Connection::open_with_flags(file, flags)?,
        Mode::Exclusive => Connection::open_with_flags_and_vfs(file, flags, EXCLUSIVE_VFS)?,
        Mode::ReadOnlyWithoutWal => Connection::open_with_flags(immutable(file), flags)?,
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    set_busy_handler(&mut connection)?;
    Ok(connection)
}

/// Returns the URI that opens a file as immutable.
fn immutable(file: &Path) -> OsString {
    let mut uri = b"file:".to_vec();
    for &byte in file.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    OsString::from_vec(uri)
}

/// Makes the connection wait for locks up to [`BUSY_TIMEOUT`], with short waits first.
pub(super) fn set_busy_handler(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

fn wait(waits: i32) -> bool {
    let waits = waits.unsigned_abs();
    if waits < SHORT_WAITS {
        thread::sleep(SHORT_WAIT);
        return true;
    }
    thread::sleep(LONG_WAIT);
    LONG_WAIT * (waits - SHORT_WAITS) < BUSY_TIMEOUT
}
