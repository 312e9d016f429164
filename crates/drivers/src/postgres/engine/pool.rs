//! The pool of connections that read. Each snapshot uses one of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind, PrefetchList, Result, Version};
use parking_lot::{Condvar, Mutex};

use super::connection::Connection;
use super::open::{Engine, SNAPSHOT_TIMEOUT};
use crate::prefetched::Prefetched;

/// The most idle connections that are kept for later snapshots.
const IDLE_MAX: usize = 16;

/// How long a snapshot waits while no connection is returned, if more snapshots are open than connections are kept. Most
/// snapshots end sooner than a connection is opened; those that do not must not hold up others.
const REUSE_WAIT: Duration = Duration::from_millis(10);

/// The connections that read.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<PoolState>,
    returned: Condvar,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Connection>,
    /// The number of connections in use.
    in_use: usize,
    /// The number of connections that were returned so far.
    returned: u64,
}

/// A connection in use. Dropping it ends the transaction and returns the connection to the pool.
pub(in crate::postgres) struct Lease {
    engine: Arc<Engine>,
    /// `None` if no connection could be opened.
    connection: Option<Connection>,
}

impl Engine {
    /// Begins a read transaction on the newest state, and prefetches what is expected to be read.
    pub(in crate::postgres) fn read(
        self: &Arc<Self>,
        expected: &PrefetchList,
    ) -> Result<(Lease, (Version, Prefetched))> {
        self.reserve()?;
        let mut lease = Lease {
            engine: Arc::clone(self),
            connection: None,
        };
        while let Some(mut kept) = self.take_idle() {
            // An idle connection may have broken, for example by a restart of the server.
            match kept.begin_read(expected) {
                Ok((version, prefetched)) => {
                    lease.connection = Some(kept);
                    return Ok((lease, (self.note_seen(version), prefetched)));
                }
                Err(failure) if failure.is_connection_lost() => {}
                Err(failure) => return Err(failure.into_error(&self.setup)),
            }
        }
        let mut connection = self.connect()?;
        let begun = connection.begin_read(expected);
        let (version, prefetched) = begun.map_err(|failure| failure.into_error(&self.setup))?;
        lease.connection = Some(connection);
        Ok((lease, (self.note_seen(version), prefetched)))
    }

    /// Waits until fewer snapshots are open than the limit, and counts one more.
    fn reserve(&self) -> Result<()> {
        let most = self.setup.config.snapshots_max;
        let deadline = Instant::now() + SNAPSHOT_TIMEOUT;
        let mut state = self.readers.state.lock();
        while state.in_use >= most {
            let waited = self.readers.returned.wait_until(&mut state, deadline);
            if waited.timed_out() && state.in_use >= most {
                let message = format!(
                    "{most} snapshots are open, which is the limit; drop some or raise snapshots="
                );
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
        state.in_use += 1;
        Ok(())
    }

    /// A connection that is not in use; `None` if one has to be opened.
    fn take_idle(&self) -> Option<Connection> {
        let mut deadline = Instant::now() + REUSE_WAIT;
        let mut state = self.readers.state.lock();
        let mut returned = state.returned;
        while state.idle.is_empty() && state.in_use > IDLE_MAX {
            let waited = self.readers.returned.wait_until(&mut state, deadline);
            if waited.timed_out() {
                // Others, which wait too, took those that were returned.
                if state.returned == returned {
                    break;
                }
                returned = state.returned;
                deadline = Instant::now() + REUSE_WAIT;
            }
        }
        state.idle.pop()
    }
}

impl Lease {
    /// The connection. Fails if it was lost.
    pub(in crate::postgres) fn connection(&mut self) -> Result<&mut Connection> {
        let open = self.connection.as_mut().filter(|open| open.is_open());
        open.ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                "the connection of this snapshot was lost; take a new one",
            )
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut connection = self.connection.take().filter(Connection::is_open);
        if let Some(connection) = &mut connection {
            connection.post("ROLLBACK");
        }
        let mut state = self.engine.readers.state.lock();
        state.in_use -= 1;
        state.returned += 1;
        if state.idle.len() < IDLE_MAX {
            state.idle.extend(connection.take());
        }
        drop(state);
        self.engine.readers.returned.notify_one();
    }
}
