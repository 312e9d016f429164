//! Opening the tables, and what is open.

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
use super::follow::Following;
use super::format;
use super::log::Record;
use super::pending::Pending;
use super::pool::Pool;
use super::setup::Setup;
use super::transaction::Transaction;
use crate::commit_queue::CommitQueue;
use crate::effective_durability::Promise;
use crate::postgres::Config;
use crate::recent_commits::RecentCommits;

/// How long a call waits for a server that has gone to come back.
pub const RECONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// How long taking a snapshot waits while as many as may be are held.
pub const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(5);

const RECONNECT_RETRY: Duration = Duration::from_millis(50);

/// Whether the server tells of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    Notify,
    Never,
}

/// An open schema.
pub(in crate::postgres) struct Engine {
    pub(in crate::postgres) setup: Arc<Setup>,
    pub(super) readers: Pool,
    /// The connection of the leader of a group of commits; `None` when it broke.
    writer: Mutex<Option<Connection>>,
    /// Commits that wait for their turn.
    pub(in crate::postgres) queue: CommitQueue,
    /// The newest commits, for watchers.
    pub(in crate::postgres) recent: RecentCommits,
    /// The newest version that this process has seen.
    seen: AtomicU64,
    pub(super) push: Push,
    /// Whether the newest commit found the version that this process had seen last.
    is_alone: AtomicBool,
    /// Tells the commits of this process from those of others.
    identity: u64,
    commits: AtomicU64,
    pub(super) following: Mutex<Weak<Following>>,
    /// Who fills the columns for people, where there are some.
    pub(in crate::postgres) lens: RwLock<Option<Arc<dyn Lens>>>,
}

/// Whether the schema has tables of ours, or others in their place.
pub(in crate::postgres) fn exists(config: Config) -> espalier_keyspace::Result<bool> {
    let setup = Setup::new(config);
    let told = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(told)?;
    format::exists(&mut connection, &setup).map_err(told)
}

/// What the server does with commits of a session like ours, as it is set now. Others of its family may
/// not have these settings.
pub(in crate::postgres) fn promise(config: Config) -> espalier_keyspace::Result<Promise> {
    let setup = Setup::new(config);
    let told = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(told)?;
    for setting in ["fsync", "synchronous_commit"] {
        match connection.read(&format!("SHOW {setting}")) {
            Ok(rows) if rows == [["off"]] => {
                return Ok(Promise::Relaxed(Some(format!("{setting} is off"))));
            }
            Ok(_) => {}
            Err(failure) => failure.still_open().map_err(told)?,
        }
    }
    Ok(Promise::Durable)
}

/// Opens a schema.
pub(in crate::postgres) fn open(config: Config) -> espalier_keyspace::Result<Engine> {
    let setup = Setup::new(config);
    let told = |failure: Failure| failure.into_error(&setup);
    let mut connection = first_connection(&setup).map_err(told)?;
    let newest = format::check_or_create(&mut connection, &setup)?;
    let is_readable = format::make_readable(&mut connection, &setup)?;
    let setup = Arc::new(setup.with_columns(is_readable));
    let told = |failure: Failure| failure.into_error(&setup);
    connection.prepare(&setup).map_err(told)?;
    let notify = connection.text(&format!("NOTIFY {}", setup.channel()));
    let push = match notify {
        Ok(()) => Push::Notify,
        Err(failure) => {
            tracing::info!(%failure, "the server does not tell of commits; it is asked for them");
            failure.still_open().map_err(told)?;
            Push::Never
        }
    };
    Ok(Engine {
        setup: Arc::clone(&setup),
        readers: Pool::default(),
        writer: Mutex::new(Some(connection)),
        queue: CommitQueue::default(),
        recent: RecentCommits::after(newest),
        seen: AtomicU64::new(newest.0),
        push,
        is_alone: AtomicBool::new(true),
        identity: RandomState::new().build_hasher().finish(),
        commits: AtomicU64::new(0),
        following: Mutex::default(),
        lens: RwLock::default(),
    })
}

/// Connects to a server that may still be starting.
fn first_connection(setup: &Setup) -> Result<Connection, Failure> {
    connect_in_time(setup, setup.connect_timeout(), Failure::is_starting)
}

/// Connects, again and again for a time while the failure is one that passes.
pub(super) fn connect_in_time(
    setup: &Setup,
    patience: Duration,
    may_pass: fn(&Failure) -> bool,
) -> Result<Connection, Failure> {
    let deadline = Instant::now() + patience;
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
    /// A new connection, ready for use; waits a moment for a server that has gone.
    pub(super) fn connect(&self) -> espalier_keyspace::Result<Connection> {
        reconnect(&self.setup, RECONNECT_PATIENCE)
            .map_err(|failure| failure.into_error(&self.setup))
    }

    /// Runs `act` with the connection that writes, which is kept if it is still good. Only the
    /// leader of a group of commits does.
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

    /// The version that the state is guessed to have, where that has been right.
    pub(in crate::postgres) fn guessed_version(&self) -> Option<Version> {
        let is_alone = self.is_alone.load(Ordering::Relaxed);
        is_alone.then(|| self.seen())
    }

    /// Notes whether a commit found the version that was seen last.
    pub(in crate::postgres) fn found(&self, before: Version) {
        let is_alone = before == self.seen();
        self.is_alone.store(is_alone, Ordering::Relaxed);
    }

    /// Ends a transaction: writes what is pending and commits.
    pub(in crate::postgres) fn finish(
        &self,
        transaction: Transaction<'_>,
        pending: &Pending<'_>,
        record: &Record,
    ) -> Result<(), Failure> {
        transaction.commit(pending, record, &self.setup, self.push)
    }

    /// Notes that a version was seen, and returns it.
    pub(in crate::postgres) fn saw(&self, version: Version) -> Version {
        self.seen.fetch_max(version.0, Ordering::Relaxed);
        version
    }

    /// The newest version that was seen.
    pub(super) fn seen(&self) -> Version {
        Version(self.seen.load(Ordering::Relaxed))
    }

    /// What a new commit is known by.
    pub(in crate::postgres) fn new_id(&self) -> [u8; 16] {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.identity.to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        id
    }
}

/// A connection to a server that may just have been lost.
pub(super) fn reconnect(setup: &Setup, patience: Duration) -> Result<Connection, Failure> {
    let may_pass = |failure: &Failure| failure.is_loss() || failure.is_starting();
    let mut connection = connect_in_time(setup, patience, may_pass)?;
    connection.prepare(setup)?;
    Ok(connection)
}
