//! Following the log: a thread, while anybody watches, that reads what others have committed and
//! puts it into the ring of recent commits.

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

/// How often the log is read where the server does not tell of commits.
pub const WATCH_POLL: Duration = Duration::from_millis(20);

/// How often it is read where the server tells of them.
const QUIET_POLL: Duration = Duration::from_millis(500);

/// How long the follower waits before it tries to connect again.
const RETRY: Duration = Duration::from_millis(200);

/// How long one attempt to connect goes on.
const RECONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// Rows that are read at once.
const ROWS_MAX: i64 = 128;

/// What the watchers share with the thread; it ends when they are gone.
#[derive(Default)]
pub(in crate::postgres) struct Following {
    /// Why nothing is heard at the moment.
    failure: Mutex<Option<String>>,
}

impl Following {
    /// Whether the follower hears what happens.
    pub(in crate::postgres) fn result(&self) -> Result<()> {
        let failure = self.failure.lock().clone();
        let unavailable = |failure| Error::new(ErrorKind::Unavailable, failure);
        failure.map_or(Ok(()), |failure| Err(unavailable(failure)))
    }
}

impl Engine {
    /// Joins those who watch; the first has the follower started. What happened before `after` may
    /// be a gap.
    pub(in crate::postgres) fn follow(self: &Arc<Self>, after: Version) -> Arc<Following> {
        let mut following = self.following.lock();
        if let Some(following) = following.upgrade() {
            return following;
        }
        // Without a follower, the ring may have stayed behind.
        self.recent.push_foreign(after.min(self.seen()));
        let new = Arc::<Following>::default();
        *following = Arc::downgrade(&new);
        let (engine, watchers) = (Arc::downgrade(self), Arc::downgrade(&new));
        let setup = Arc::clone(&self.setup);
        let push = self.push;
        let started = thread::Builder::new()
            .name("espalier-postgres".into())
            .spawn(move || run(&setup, push, &engine, &watchers));
        if let Err(error) = started {
            *new.failure.lock() = Some(format!("no thread can be started to follow: {error}"));
        }
        new
    }
}

/// Follows until nobody watches any more.
fn run(setup: &Setup, push: Push, engine: &Weak<Engine>, watchers: &Weak<Following>) {
    while watchers.strong_count() > 0 {
        let Err(failure) = follow(setup, push, engine, watchers) else {
            return;
        };
        tracing::warn!(%failure, "the follower of {} has lost its connection", setup.place);
        if let Some(following) = watchers.upgrade() {
            *following.failure.lock() = Some(failure.into_error(setup).to_string());
        }
        thread::sleep(RETRY);
    }
}

fn follow(
    setup: &Setup,
    push: Push,
    engine: &Weak<Engine>,
    watchers: &Weak<Following>,
) -> std::result::Result<(), Failure> {
    let mut connection = reconnect(setup, RECONNECT_PATIENCE)?;
    if push == Push::Notify {
        connection.text(&format!("LISTEN {}", setup.channel()))?;
    }
    loop {
        loop {
            let (Some(engine), Some(following)) = (engine.upgrade(), watchers.upgrade()) else {
                return Ok(());
            };
            let rows = read(&mut connection, &engine)?;
            *following.failure.lock() = None;
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

/// Reads what comes after the newest commit that the ring has; returns how many rows there were.
fn read(connection: &mut Connection, engine: &Engine) -> std::result::Result<usize, Failure> {
    let newest = engine.recent.newest().0.cast_signed();
    let rows = connection.query(Query::LoggedAfter, &[&newest, &ROWS_MAX])?;
    for row in &rows {
        let version = engine.saw(version(row)?);
        // What is missing before it has been cut off the log.
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
