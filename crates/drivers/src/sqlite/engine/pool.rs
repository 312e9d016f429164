//! The pool of connections that read. Each snapshot uses one of its own.

use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection::open_reader;
use super::error::engine_error;
use super::open::Engine;
use super::transaction::{begin_read, end_read};

/// The most snapshots of one open file at the same time. Each uses two file descriptors and up to 2 MiB.
pub const SNAPSHOTS_MAX: usize = 256;

/// The most idle connections that are kept for later snapshots.
const IDLE_MAX: usize = 16;

/// The connections that read.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Connection>,
    /// The number of connections in use.
    in_use: usize,
}

/// A connection in a read transaction. Dropping it ends the transaction and returns the connection to the pool.
pub(in crate::sqlite) struct Reader {
    engine: Arc<Engine>,
    /// `None` only while it is dropped.
    connection: Option<Connection>,
    version: Version,
}

impl Engine {
    /// Begins a read transaction on the newest state.
    pub(in crate::sqlite) fn read(self: &Arc<Self>) -> Result<Reader> {
        let connection = self.take_connection()?;
        match begin_read(&connection) {
            Ok(version) => Ok(Reader {
                engine: Arc::clone(self),
                connection: Some(connection),
                version,
            }),
            Err(error) => {
                self.readers.state.lock().in_use -= 1;
                Err(engine_error(error))
            }
        }
    }

    fn take_connection(&self) -> Result<Connection> {
        {
            let mut state = self.readers.state.lock();
            if state.in_use >= SNAPSHOTS_MAX {
                let message =
                    format!("{SNAPSHOTS_MAX} snapshots are open, which is the limit; drop some");
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            state.in_use += 1;
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
        }
        let opened = self.check_not_replaced();
        let opened = opened.and_then(|()| open_reader(&self.file, self.mode).map_err(engine_error));
        opened.inspect_err(|_| self.readers.state.lock().in_use -= 1)
    }

    fn return_connection(&self, connection: Connection) {
        let mut state = self.readers.state.lock();
        state.in_use -= 1;
        if state.idle.len() < IDLE_MAX {
            state.idle.push(connection);
        } else {
            drop(state);
            drop(connection);
        }
    }
}

impl Reader {
    /// The version of the state that the transaction reads.
    pub(in crate::sqlite) fn version(&self) -> Version {
        self.version
    }

    /// The connection.
    pub(in crate::sqlite) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("not dropped")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            end_read(&connection);
            self.engine.return_connection(connection);
        }
    }
}
