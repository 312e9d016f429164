//! The connections that read, one for each snapshot, kept for the next.

use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection::open_reader;
use super::error::engine_error;
use super::open::Engine;
use super::transaction::{begin_read, end_read};

/// Snapshots that one opened file may hold at once. Each takes two file descriptors and up to 2 MiB.
pub const SNAPSHOTS_MAX: usize = 256;

/// Connections that are kept for later snapshots.
const IDLE_MAX: usize = 16;

/// Connections that read.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// How many are out.
    taken: usize,
}

/// A connection in a read transaction; dropping it ends the transaction and returns the connection.
pub(in crate::sqlite) struct Reader {
    engine: Arc<Engine>,
    /// `None` only while it is dropped.
    connection: Option<Connection>,
    version: Version,
}

impl Engine {
    /// Begins to read the newest state.
    pub(in crate::sqlite) fn read(self: &Arc<Self>) -> Result<Reader> {
        let connection = self.take()?;
        match begin_read(&connection) {
            Ok(version) => Ok(Reader {
                engine: Arc::clone(self),
                connection: Some(connection),
                version,
            }),
            Err(error) => {
                self.readers.state.lock().taken -= 1;
                Err(engine_error(error))
            }
        }
    }

    fn take(&self) -> Result<Connection> {
        {
            let mut state = self.readers.state.lock();
            if state.taken >= SNAPSHOTS_MAX {
                let message =
                    format!("{SNAPSHOTS_MAX} snapshots are held at once, the most; drop some");
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            state.taken += 1;
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
        }
        let opened = self.check_not_replaced();
        let opened = opened.and_then(|()| open_reader(&self.file, self.mode).map_err(engine_error));
        opened.inspect_err(|_| self.readers.state.lock().taken -= 1)
    }

    fn give_back(&self, connection: Connection) {
        let mut state = self.readers.state.lock();
        state.taken -= 1;
        if state.idle.len() < IDLE_MAX {
            state.idle.push(connection);
        } else {
            drop(state);
            drop(connection);
        }
    }
}

impl Reader {
    /// The version of the state that is read.
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
            self.engine.give_back(connection);
        }
    }
}
