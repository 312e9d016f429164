//! Connections to the file, and how long they wait for others.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::Durability;

/// How long a commit waits for the writers of other processes: a minute.
pub const BUSY_PATIENCE: Duration = Duration::from_secs(60);

/// How long the first waits are, while another process is probably about to finish.
const SHORT_WAIT: Duration = Duration::from_micros(200);
const SHORT_WAITS: u32 = 50;

/// How long the later ones are.
const LONG_WAIT: Duration = Duration::from_millis(2);

/// Statements that a connection keeps compiled: more than there are.
const STATEMENTS_MAX: usize = 32;

/// Kibibytes of pages that the writer keeps: 64 MiB. A transaction that changes more spills to the
/// log.
const WRITER_CACHE_KIB: i64 = 64 << 10;

/// Kibibytes of pages that each reader keeps: 2 MiB. The operating system has the others.
const READER_CACHE_KIB: i64 = 2 << 10;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite) enum Mode {
    /// Together with other processes: the index of the log is a file that they share.
    Shared,
    /// By this process alone, with the index of the log in its memory: there is no disk space for that file.
    Alone,
    /// To be read, from a read-only file system, with the log that is there.
    Read,
    /// To be read, from a read-only file system, where there is no log.
    ReadWithoutLog,
}

impl Mode {
    /// Whether anything can be changed.
    pub(in crate::sqlite) fn writes(self) -> bool {
        matches!(self, Self::Shared | Self::Alone)
    }

    fn flags(self) -> OpenFlags {
        match self {
            Self::Shared | Self::Alone => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Self::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::ReadWithoutLog => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        }
    }
}

/// The connection that writes. Makes the file where it does not exist.
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
    // What is replaced fires the trigger of what is deleted, too.
    connection.pragma_update(None, "recursive_triggers", true)?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn open_reader(file: &Path, mode: Mode) -> rusqlite::Result<Connection> {
    let connection = open(file, mode, OpenFlags::empty())?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// What SQLite calls the access to files by which one process has a database alone, and needs no shared memory.
const ALONE: &std::ffi::CStr = c"unix-excl";

fn open(file: &Path, mode: Mode, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = mode.flags() | flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = match mode {
        Mode::Shared | Mode::Read => Connection::open_with_flags(file, flags)?,
        Mode::Alone => Connection::open_with_flags_and_vfs(file, flags, ALONE)?,
        Mode::ReadWithoutLog => Connection::open_with_flags(immutable(file), flags)?,
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    be_patient(&mut connection)?;
    Ok(connection)
}

/// The URI of a file that nobody can change.
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

/// Waits for others, shortly at first.
pub(super) fn be_patient(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

fn wait(waits: i32) -> bool {
    let waits = waits.unsigned_abs();
    if waits < SHORT_WAITS {
        thread::sleep(SHORT_WAIT);
        return true;
    }
    thread::sleep(LONG_WAIT);
    LONG_WAIT * (waits - SHORT_WAITS) < BUSY_PATIENCE
}
