//! Which servers of a store live: the sessions of a server that was killed are ended by another one, or by its successor.
//!
//! The names of sessions that end with their connections have the id of their server. A server has a row in the store,
//! and changes it while its sessions hold a lock, a confirmed commit or a private candidate. So a server that holds
//! nothing writes nothing. The decision is docs/decisions/0084.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use espalier_keyspace::Batch;
use espalier_keyspace::compact_encoding::{put_number, take_number};
use espalier_store::{Result, Subspace};
use parking_lot::Mutex;

use crate::identity::random_id;
use crate::service::Service;

/// How often a server changes its row, and looks at those of others.
pub const PRESENCE_INTERVAL: Duration = Duration::from_secs(5);

/// A server whose sessions hold something and whose row has not changed for this long is dead. By the clock of the
/// server that looks, so the clocks of different machines do not matter.
pub const PRESENCE_MAX: Duration = Duration::from_secs(60);

/// The byte after [`Subspace::Service`] of the rows.
const SERVERS: u8 = 0x04;

/// The begin of the names of sessions that end with their connections.
const NAME_BEGIN: &str = "netconf-";

/// The characters of an id.
const ID_CHARS: usize = 32;

/// The field of `/proc/PID/stat` with the start time of a process, counted from the one after its name.
const START_FIELD: usize = 19;

/// This server among the servers of its store.
#[derive(Default)]
pub(crate) struct ServerPresence {
    own: Mutex<Option<Arc<OwnRow>>>,
    others: Mutex<Others>,
}

/// The row of this server.
struct OwnRow {
    id: String,
    process: Process,
    changes: AtomicU64,
}

#[derive(Default)]
struct Others {
    looked: Option<Instant>,
    /// By id: the row, and since when it has been so.
    seen: HashMap<String, (Vec<u8>, Instant)>,
}

/// A process of a machine, for as long as that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    boot: u128,
    /// The inode of its namespace of process ids, as of a container.
    namespace: u64,
    id: u32,
    /// In clock ticks since the boot.
    started: u64,
}

impl Process {
    /// This process; `None` without `/proc`.
    fn current() -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?,
            namespace: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
            id: process::id(),
            started: start_of(process::id())?,
        })
    }

    /// Whether this process has ended; `false` if that is not known.
    fn is_ended(&self, observer: &Self) -> bool {
        let is_visible = (self.boot, self.namespace) == (observer.boot, observer.namespace);
        is_visible && start_of(self.id) != Some(self.started)
    }

    fn encode(&self, changes: u64) -> Vec<u8> {
        let mut row = self.boot.to_be_bytes().to_vec();
        for number in [self.namespace, self.id.into(), self.started, changes] {
            put_number(&mut row, number);
        }
        row
    }

    fn decode(row: &[u8]) -> Option<Self> {
        let (boot, mut rest) = row.split_first_chunk()?;
        Some(Self {
            boot: u128::from_be_bytes(*boot),
            namespace: take_number(&mut rest)?,
            id: take_number(&mut rest)?.try_into().ok()?,
            started: take_number(&mut rest)?,
        })
    }
}

/// When a process was started; `None` if there is none, or if it is a zombie.
fn start_of(id: u32) -> Option<u64> {
    let text = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).ok()?;
    // The name before the last parenthesis may have spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let started = fields.nth(START_FIELD - 1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

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

impl Others {
    /// Whether a server is dead, by its row now. A server without a row has ended, or was found dead before.
    fn is_dead(&mut self, server: &str, row: Option<&[u8]>, observer: &Process) -> bool {
        let Some(row) = row else {
            return true;
        };
        if Process::decode(row).is_some_and(|process| process.is_ended(observer)) {
            return true;
        }
        match self.seen.get(server) {
            Some((seen, since)) if seen == row => since.elapsed() >= PRESENCE_MAX,
            _ => {
                let seen = (row.to_vec(), Instant::now());
                self.seen.insert(server.to_owned(), seen);
                false
            }
        }
    }
}

/// The id of the server in the name of a session, with or without its user.
fn server_of(session: &str) -> Option<&str> {
    let name = session.rsplit('/').next()?;
    let (id, _) = name.strip_prefix(NAME_BEGIN)?.split_once('-')?;
    (id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

fn key_of(server: &str) -> Vec<u8> {
    let mut key = Subspace::Service.key();
    key.push(SERVERS);
    key.extend_from_slice(server.as_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ended_when_its_id_is_that_of_another() {
        let own = Process::current().expect("/proc");
        assert_eq!(Process::decode(&own.encode(7)), Some(own.clone()));
        assert!(!own.is_ended(&own));
        let earlier = Process {
            started: own.started - 1,
            ..own.clone()
        };
        assert!(earlier.is_ended(&own));
        for invisible in [
            Process {
                boot: own.boot ^ 1,
                ..earlier.clone()
            },
            Process {
                namespace: own.namespace + 1,
                ..earlier
            },
        ] {
            assert!(!invisible.is_ended(&own), "{invisible:?}");
        }
    }

    #[test]
    fn an_ended_process_that_is_not_waited_for_has_ended() {
        let mut child = process::Command::new("true").spawn().expect("true");
        let start = Instant::now();
        while start_of(child.id()).is_some() {
            assert!(start.elapsed() < Duration::from_secs(20));
        }
        child.wait().expect("an end");
    }

    #[test]
    fn names_of_sessions_have_the_id_of_their_server() {
        let id = random_id().expect("random bytes");
        let name = format!("{NAME_BEGIN}{id}-12");
        assert_eq!(server_of(&name), Some(&*id));
        assert_eq!(server_of(&format!("ma%2Fria/{name}")), Some(&*id));
        for other in ["netconf-1795955389018-5355-0", "netconf", "maria/x", ""] {
            assert_eq!(server_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_server_that_cannot_be_seen_is_dead_when_its_row_stays_the_same() {
        let own = Process::current().expect("/proc");
        let elsewhere = Process {
            boot: own.boot ^ 1,
            ..own.clone()
        };
        let mut others = Others::default();
        let id = random_id().expect("random bytes");
        assert!(others.is_dead(&id, None, &own));
        assert!(!others.is_dead(&id, Some(&elsewhere.encode(1)), &own));
        let age = |others: &mut Others| {
            let seen = others.seen.get_mut(&id).expect("a row");
            seen.1 = Instant::now().checked_sub(PRESENCE_MAX).expect("an uptime");
        };
        age(&mut others);
        assert!(!others.is_dead(&id, Some(&elsewhere.encode(2)), &own));
        age(&mut others);
        assert!(others.is_dead(&id, Some(&elsewhere.encode(2)), &own));
    }
}
