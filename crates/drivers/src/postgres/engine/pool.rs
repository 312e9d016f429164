//! The connections that read, one for each snapshot, kept for the next.

use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::{Error, ErrorKind, Expected, Result, Version};
use parking_lot::{Condvar, Mutex};

use super::connection::Connection;
use super::open::{Engine, SNAPSHOT_PATIENCE};
use crate::prefetched::Prefetched;

/// Connections that are kept for later snapshots.
const IDLE_MAX: usize = 16;

/// Connections that read.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// How many are out.
    taken: usize,
}

/// A connection that is out; dropping it ends its transaction and returns it.
pub(in crate::postgres) struct Lease {
    engine: Arc<Engine>,
    /// `None` when it broke.
    connection: Option<Connection>,
}

impl Engine {
    /// Begins to read the newest state, with what is expected to be read of it.
    pub(in crate::postgres) fn read(
        self: &Arc<Self>,
        expected: &Expected,
    ) -> Result<(Lease, (Version, Prefetched))> {
        self.admit()?;
        let mut lease = Lease {
            engine: Arc::clone(self),
            connection: None,
        };
        while let Some(mut kept) = self.take_idle() {
            // A kept connection may have broken since, when the server was restarted for one.
            match kept.begin_read(expected) {
                Ok((version, prefetched)) => {
                    lease.connection = Some(kept);
                    return Ok((lease, (self.saw(version), prefetched)));
                }
                Err(failure) if failure.is_loss() => {}
                Err(failure) => return Err(failure.into_error(&self.setup)),
            }
        }
        let mut connection = self.connect()?;
        let begun = connection.begin_read(expected);
        let (version, prefetched) = begun.map_err(|failure| failure.into_error(&self.setup))?;
        lease.connection = Some(connection);
        Ok((lease, (self.saw(version), prefetched)))
    }

    /// Counts one more, where there is room for it in time.
    fn admit(&self) -> Result<()> {
        let most = self.setup.config.snapshots_max;
        let deadline = Instant::now() + SNAPSHOT_PATIENCE;
        let mut state = self.readers.state.lock();
        while state.taken >= most {
            let waited = self.readers.returned.wait_until(&mut state, deadline);
            if waited.timed_out() && state.taken >= most {
                let message = format!(
                    "{most} snapshots are held at once, the most; drop some or raise snapshots="
                );
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
        state.taken += 1;
        Ok(())
    }

    fn take_idle(&self) -> Option<Connection> {
        self.readers.state.lock().idle.pop()
    }
}

impl Lease {
    /// The connection.
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
        state.taken -= 1;
        if state.idle.len() < IDLE_MAX {
            state.idle.extend(connection.take());
        }
        drop(state);
        self.engine.readers.returned.notify_one();
    }
}
