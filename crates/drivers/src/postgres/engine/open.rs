//! Opens a schema, and holds the state of an open one.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Lens, Version};
use parking_lot::{Mutex, RwLock};

use super::connection::Connection;
use super::error::Failure;
use super::follower::Follower;
use super::format;
use super::log::LogRecord;
use super::pool::Pool;
use super::setup::Setup;
use super::transaction::Transaction;
use super::write_set::WriteSet;
use crate::effective_durability::EffectiveDurability;
use crate::group_commit_queue::CommitQueue;
use crate::postgres::Config;
use crate::recent_commits::RecentCommits;

/// How long a call tries to reconnect to a server that is down.
pub const RECONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long taking a snapshot waits while the limit of open snapshots is reached.
pub const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(5);

const RECONNECT_RETRY: Duration = Duration::from_millis(50);

/// Whether the server supports `NOTIFY`, so that it notifies of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    Notify,
    Never,
}

/// An open schema.
pub(in crate::postgres) struct Engine {
    pub(in crate::postgres) setup: Arc<Setup>,
    pub(super) readers: Pool,
    /// The connection that the leader of a group of commits uses; `None` if it is in use or broke.
    writer: Mutex<Option<Connection>>,
    /// Commits that wait for the writer.
    pub(in crate::postgres) queue: CommitQueue,
    /// The newest commits, for watchers.
    pub(in crate::postgres) recent: RecentCommits,
    /// The newest version that this process has seen.
    newest_seen: AtomicU64,
    pub(super) push: Push,
    /// Whether, at the last commit that locked the state, no other process had committed in between.
    is_sole_writer: AtomicBool,
    /// A random number that makes the commit ids of this process unique.
    identity: u64,
    commits: AtomicU64,
    pub(super) follower: Mutex<Weak<Follower>>,
    /// Computes the readable columns; `None` if there are none or no lens is set.
    pub(in crate::postgres) lens: RwLock<Option<Arc<dyn Lens>>>,
}

/// Returns whether the schema has the table `state`, of Espalier or of others.
pub(in crate::postgres) fn exists(config: Config) -> espalier_keyspace::Result<bool> {
    let setup = Setup::new(config);
    let failed = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(failed)?;
    format::exists(&mut connection, &setup).map_err(failed)
}

/// The durability of commits with the server's current settings. PostgreSQL-compatible servers may lack these
/// settings.
pub(in crate::postgres) fn durability(
    config: Config,
) -> espalier_keyspace::Result<EffectiveDurability> {
    let setup = Setup::new(config);
    let failed = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(failed)?;
    for setting in ["fsync", "synchronous_commit"] {
        match connection.read(&format!("SHOW {setting}")) {
            Ok(rows) if rows == [["off"]] => {
                return Ok(EffectiveDurability::Relaxed(Some(format!(
                    "{setting} is off"
                ))));
            }
            Ok(_) => {}
            Err(failure) => failure.unless_refusal().map_err(failed)?,
        }
    }
    Ok(EffectiveDurability::Durable)
}

/// Opens a schema.
pub(in crate::postgres) fn open(config: Config) -> espalier_keyspace::Result<Engine> {
    let setup = Setup::new(config);
    let failed = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(failed)?;
    let newest = format::check_or_create(&mut connection, &setup)?;
    let is_readable = format::set_readable(&mut connection, &setup)?;
    let setup = Arc::new(setup.with_columns(is_readable));
    let failed = |failure: Failure| failure.into_error(&setup);
    connection.prepare(&setup).map_err(failed)?;
    let notify = connection.text(&format!("NOTIFY {}", setup.channel()));
    let push = match notify {
        Ok(()) => Push::Notify,
        Err(failure) => {
            tracing::info!(%failure, "the server does not support NOTIFY; the log of commits is polled");
            failure.unless_refusal().map_err(failed)?;
            Push::Never
        }
    };
    Ok(Engine {
        setup: Arc::clone(&setup),
        readers: Pool::default(),
        writer: Mutex::new(Some(connection)),
        queue: CommitQueue::default(),
        recent: RecentCommits::after(newest),
        newest_seen: AtomicU64::new(newest.0),
        push,
        is_sole_writer: AtomicBool::new(true),
        identity: RandomState::new().build_hasher().finish(),
        commits: AtomicU64::new(0),
        follower: Mutex::default(),
        lens: RwLock::default(),
    })
}

/// Connects to a server that may still be starting.
fn first_connection(setup: &Setup) -> Result<Connection, Failure> {
    connect_in_time(setup, setup.connect_timeout(), Failure::is_starting)
}

/// Connects. Retries until the timeout while the failure is transient.
pub(super) fn connect_in_time(
    setup: &Setup,
    timeout: Duration,
    may_pass: fn(&Failure) -> bool,
) -> Result<Connection, Failure> {
    let deadline = Instant::now() + timeout;
    loop {
        match Connection::open(setup) {
            Err(failure) if may_pass(&failure) && Instant::now() < deadline => {
                thread::sleep(RECONNECT_RETRY);
            }
            opened => return opened,
        }
    }
}

impl Engine {
    /// Opens a connection that is ready for use. Retries for a while if the server is down.
    pub(super) fn connect(&self) -> espalier_keyspace::Result<Connection> {
        reconnect(&self.setup, RECONNECT_TIMEOUT).map_err(|failure| failure.into_error(&self.setup))
    }

    /// Runs `act` with the connection that writes, and keeps the connection if it is still usable. Only the leader
    /// of a group of commits may call this.
    pub(in crate::postgres) fn with_writer<T>(
        &self,
        act: impl FnOnce(&mut Connection) -> espalier_keyspace::Result<T>,
    ) -> espalier_keyspace::Result<T> {
        let kept = self.writer.lock().take();
        let mut connection = match kept {
            Some(kept) => kept,
            None => self.connect()?,
        };
        let acted = act(&mut connection);
        if connection.is_open() {
            *self.writer.lock() = Some(connection);
        }
        acted
    }

    /// The version to assume in an optimistic commit; `None` if another process has committed recently.
    pub(in crate::postgres) fn assumed_version(&self) -> Option<Version> {
        let is_sole_writer = self.is_sole_writer.load(Ordering::Relaxed);
        is_sole_writer.then(|| self.newest_seen())
    }

    /// Records whether a commit found the version that was seen last.
    pub(in crate::postgres) fn note_base_version(&self, before: Version) {
        let is_sole_writer = before == self.newest_seen();
        self.is_sole_writer.store(is_sole_writer, Ordering::Relaxed);
    }

    /// Writes the write set and commits the transaction.
    pub(in crate::postgres) fn finish(
        &self,
        transaction: Transaction<'_>,
        write_set: &WriteSet<'_>,
        record: &LogRecord,
    ) -> Result<(), Failure> {
        transaction.commit(write_set, record, &self.setup, self.push)
    }

    /// Records that a version was seen, and returns it.
    pub(in crate::postgres) fn note_seen(&self, version: Version) -> Version {
        self.newest_seen.fetch_max(version.0, Ordering::Relaxed);
        version
    }

    /// The newest version that was seen.
    pub(super) fn newest_seen(&self) -> Version {
        Version(self.newest_seen.load(Ordering::Relaxed))
    }

    /// A unique id for a commit.
    pub(in crate::postgres) fn new_id(&self) -> [u8; 16] {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.identity.to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        id
    }
}

/// Opens a connection that is ready for use. Retries until the timeout if the server is down or starting.
pub(super) fn reconnect(setup: &Setup, timeout: Duration) -> Result<Connection, Failure> {
    let may_pass = |failure: &Failure| failure.is_connection_lost() || failure.is_starting();
    let mut connection = connect_in_time(setup, timeout, may_pass)?;
    connection.prepare(setup)?;
    Ok(connection)
}
