//! The follower: a thread that runs while there are watchers. It reads the commits of other processes from the
//! log and adds them to the ring of recent commits.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use parking_lot::Mutex;
use tokio_postgres::Row;

use super::connection::Connection;
use super::error::Failure;
use super::log::decode;
use super::open::{Engine, Push, reconnect};
use super::reads::version;
use super::setup::Setup;
use super::statements::Query;
use crate::recent_commits::Recorder;

/// How often the log is read if the server does not notify of commits.
pub const WATCH_POLL: Duration = Duration::from_millis(20);

/// How often the log is read, without a notification, if the server notifies of commits.
const QUIET_POLL: Duration = Duration::from_millis(500);

/// How long the follower waits before it reconnects.
const RETRY: Duration = Duration::from_millis(200);

/// The timeout of one attempt to reconnect.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The most rows of one query.
const ROWS_MAX: i64 = 128;

/// The state that the watchers share with the thread. The thread ends when all watchers are dropped.
#[derive(Default)]
pub(in crate::postgres) struct Follower {
    /// Why the follower cannot read the log at the moment.
    failure: Mutex<Option<String>>,
}

impl Follower {
    /// Fails if the follower cannot read the log at the moment.
    pub(in crate::postgres) fn result(&self) -> Result<()> {
        let failure = self.failure.lock().clone();
        let unavailable = |failure| Error::new(ErrorKind::Unavailable, failure);
        failure.map_or(Ok(()), |failure| Err(unavailable(failure)))
    }
}

impl Engine {
    /// Adds a watcher, and starts the follower for the first one. Commits before `after` may be reported as a gap.
    pub(in crate::postgres) fn follow(self: &Arc<Self>, after: Version) -> Arc<Follower> {
        let mut follower = self.follower.lock();
        if let Some(follower) = follower.upgrade() {
            return follower;
        }
        // Without a follower, the ring may lack commits of other processes.
        self.recent.push_foreign(after.min(self.newest_seen()));
        let new = Arc::<Follower>::default();
        *follower = Arc::downgrade(&new);
        let (engine, watchers) = (Arc::downgrade(self), Arc::downgrade(&new));
        let setup = Arc::clone(&self.setup);
        let push = self.push;
        let started = thread::Builder::new()
            .name("espalier-postgres".into())
            .spawn(move || run(&setup, push, &engine, &watchers));
        if let Err(error) = started {
            *new.failure.lock() = Some(format!(
                "cannot start the thread that follows commits: {error}"
            ));
        }
        new
    }
}

/// Follows the log until there are no watchers.
fn run(setup: &Setup, push: Push, engine: &Weak<Engine>, watchers: &Weak<Follower>) {
    while watchers.strong_count() > 0 {
        let Err(failure) = follow(setup, push, engine, watchers) else {
            return;
        };
        tracing::warn!(%failure, "the follower of {} has lost its connection", setup.address);
        if let Some(follower) = watchers.upgrade() {
            *follower.failure.lock() = Some(failure.into_error(setup).to_string());
        }
        thread::sleep(RETRY);
    }
}

fn follow(
    setup: &Setup,
    push: Push,
    engine: &Weak<Engine>,
    watchers: &Weak<Follower>,
) -> std::result::Result<(), Failure> {
    let mut connection = reconnect(setup, RECONNECT_TIMEOUT)?;
    if push == Push::Notify {
        connection.text(&format!("LISTEN {}", setup.channel()))?;
    }
    loop {
        loop {
            let (Some(engine), Some(follower)) = (engine.upgrade(), watchers.upgrade()) else {
                return Ok(());
            };
            let rows = read(&mut connection, &engine)?;
            *follower.failure.lock() = None;
            if rows < ROWS_MAX as usize {
                break;
            }
        }
        connection.wait_notified(match push {
            Push::Notify => QUIET_POLL,
            Push::Never => WATCH_POLL,
        })?;
    }
}

/// Reads the commits after the newest one in the ring. Returns how many rows were read.
fn read(connection: &mut Connection, engine: &Engine) -> std::result::Result<usize, Failure> {
    let newest = engine.recent.newest().0.cast_signed();
    let rows = connection.query(Query::LoggedAfter, &[&newest, &ROWS_MAX])?;
    for row in &rows {
        let version = engine.note_seen(version(row)?);
        // Missing versions before it were truncated from the log.
        engine.recent.push_foreign(Version(version.0 - 1));
        match changes(row)? {
            Some(recorder) => engine.recent.push_next(version, recorder),
            None => engine.recent.push_foreign(version),
        }
    }
    Ok(rows.len())
}

fn changes(row: &Row) -> std::result::Result<Option<Recorder>, Failure> {
    let bytes: Option<&[u8]> = row.try_get(1).map_err(Failure::Database)?;
    Ok(bytes.and_then(decode))
}
