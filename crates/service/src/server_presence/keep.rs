//! Keeps the row of a server, and ends the sessions of dead ones.

use std::collections::BTreeSet;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use espalier_keyspace::Batch;
use espalier_store::{Result, Subspace};

use super::known_servers::{NAME_BEGIN, Others, OwnRow, PRESENCE_INTERVAL, server_of};
use super::process::Process;
use crate::identity::random_id;
use crate::service::Service;

/// The byte after [`Subspace::Service`] of the rows.
const SERVERS: u8 = 0x04;

impl Service {
    /// Makes this server known to the others that share the store. From now on, the sessions that it opens for
    /// connections end when it is killed. [`Self::keep_presence`] must be called periodically.
    ///
    /// # Errors
    /// Those of the engine; `operation-failed` if the operating system gives no random bytes.
    pub fn announce_presence(&self) -> Result<()> {
        // Without /proc, the sessions of a killed server remain until its locks are broken.
        let Some(process) = Process::current() else {
            return Ok(());
        };
        let id = random_id().map_err(crate::service::no_random_bytes)?;
        let row = OwnRow {
            id,
            process,
            changes: AtomicU64::new(0),
        };
        self.write_presence(&row)?;
        *self.presence().own.lock() = Some(Arc::new(row));
        Ok(())
    }

    /// The name of a new session that ends with its connection. Unique among all processes.
    pub fn connection_session_name(&self, number: u64) -> String {
        match &*self.presence().own.lock() {
            Some(own) => format!("{NAME_BEGIN}{}-{number}", own.id),
            None => {
                let started = self.sessions().totals().started.0;
                format!("{NAME_BEGIN}{started}-{}-{number}", process::id())
            }
        }
    }

    /// Changes the row of this server if its sessions hold something, and ends the sessions of servers that are dead.
    /// Does nothing more often than each [`PRESENCE_INTERVAL`]. Returns the number of ended sessions.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn keep_presence(&self) -> Result<usize> {
        let own = self.presence().own.lock().clone();
        let Some(own) = own else {
            return Ok(0);
        };
        let mut others = self.presence().others.lock();
        let now = Instant::now();
        let is_soon = |looked| now.duration_since(looked) < PRESENCE_INTERVAL;
        if others.looked.is_some_and(is_soon) {
            return Ok(0);
        }
        others.looked = Some(now);
        let holders = self.configuration().store().session_names()?;
        let (own_sessions, other_sessions): (BTreeSet<_>, BTreeSet<_>) = holders
            .iter()
            .filter_map(|name| Some((server_of(name)?, name)))
            .partition(|(server, _)| *server == own.id);
        if !own_sessions.is_empty() {
            self.write_presence(&own)?;
        }
        self.end_dead_sessions(&own.process, &mut others, &other_sessions)
    }

    /// Ends the sessions of other servers that are dead.
    fn end_dead_sessions(
        &self,
        observer: &Process,
        others: &mut Others,
        sessions: &BTreeSet<(&str, &String)>,
    ) -> Result<usize> {
        let servers: BTreeSet<&str> = sessions.iter().map(|(server, _)| *server).collect();
        others.seen.retain(|id, _| servers.contains(&**id));
        let snapshot = self.configuration().store().driver().snapshot()?;
        let mut dead = BTreeSet::new();
        for server in servers {
            let row = snapshot.get(&key_of(server))?;
            if others.is_dead(server, row.as_deref(), observer) {
                dead.insert(server);
            }
        }
        drop(snapshot);
        let mut ended = 0;
        for (_, session) in sessions.iter().filter(|(server, _)| dead.contains(server)) {
            tracing::warn!(
                session,
                "the server of a session is dead: the session is ended"
            );
            self.configuration().store().end_session(session)?;
            ended += 1;
        }
        for server in dead {
            self.remove_presence(server)?;
        }
        Ok(ended)
    }

    /// Removes the row of this server, whose sessions have ended.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn end_presence(&self) -> Result<()> {
        let own = self.presence().own.lock().take();
        match own {
            Some(own) => self.remove_presence(&own.id),
            None => Ok(()),
        }
    }

    fn write_presence(&self, own: &OwnRow) -> Result<()> {
        let changes = own.changes.fetch_add(1, Ordering::Relaxed);
        let mut batch = Batch::new();
        batch.put(key_of(&own.id), own.process.encode(changes));
        self.commit_presence(batch)
    }

    fn remove_presence(&self, server: &str) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(key_of(server));
        self.commit_presence(batch)
    }

    fn commit_presence(&self, batch: Batch) -> Result<()> {
        self.configuration().store().driver().commit(batch)?;
        Ok(())
    }
}

fn key_of(server: &str) -> Vec<u8> {
    let mut key = Subspace::Service.key();
    key.push(SERVERS);
    key.extend_from_slice(server.as_bytes());
    key
}
