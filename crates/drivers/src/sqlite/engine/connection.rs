//! Connections to the file, and how long they wait for others.

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

/// The connection that writes. Makes the file where it does not exist.
pub(super) fn open_writer(file: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_CREATE)?;
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
pub(super) fn open_reader(file: &Path) -> rusqlite::Result<Connection> {
    let connection = open(file, OpenFlags::empty())?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    be_patient(&mut connection)?;
    Ok(connection)
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
