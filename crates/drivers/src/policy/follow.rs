//! Following the commits of an engine: a thread that waits for the engine's watch, and what is
//! known of how current the view is.
//!
//! Two numbers say what a reader may be shown. The *floor* is the newest version that this
//! process has committed or been told of: no reader sees less. The *freshness* is the last moment
//! at which the view was known to hold all that the engine had: the engine is asked for its newest
//! version every so often, because a watch that is silent may also be one that is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use espalier_keyspace::{
    Batch, Committed, Driver, Error, ErrorKind, KeyRange, Residence, Result, Step, Version, Watch,
    WatchEvent, WatchKind,
};
use parking_lot::{Condvar, Mutex};

use super::keeper::Keeper;
use super::steps::Steps;

/// How often an engine that does not push is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How long one wait for an engine that pushes lasts: as long as closing takes at most.
const PUSH_WAIT: Duration = Duration::from_millis(100);

/// How long to wait before an engine that failed is tried again: this, doubled each time.
const AGAIN_MIN: Duration = Duration::from_millis(20);

/// The same at most.
const AGAIN_MAX: Duration = Duration::from_secs(1);

/// The longest that a reader waits for the view to reach what this process knows to exist, while
/// following works: a large key space may have to be read again.
const REACH_MAX: Duration = Duration::from_secs(60);

/// How long a commit waits for its turn to change the view itself: the view may be read again just
/// then.
const TAKING_WAIT: Duration = Duration::from_millis(1);

/// How long a gap that a commit of this process may be waits for that commit's answer, which comes about
/// then: reading everything again takes longer.
const OWN_WAIT: Duration = Duration::from_millis(50);

/// The engine is asked so many times within the bound.
const ASKS: u32 = 4;

/// Whether the engine is asked how current the view is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heart {
    /// Often enough to know that the view is no older than this.
    Bound(Duration),
    /// Never: readers ask the engine themselves.
    Still,
}

/// An engine, what is kept of it, and how far it was followed.
pub(super) struct Following<K> {
    engine: Arc<dyn Driver>,
    keeper: K,
    heart: Heart,
    /// Whether the engine has to be looked at for commits.
    polls: bool,
    /// Held by the one who takes in what the engine tells.
    watch: Mutex<Option<Box<dyn Watch>>>,
    /// Held while the view is changed.
    taking: Mutex<Steps>,
    /// Commits of this process that are under way.
    committing: AtomicUsize,
    floor: AtomicU64,
    doubts: AtomicU64,
    settled: AtomicU64,
    started: Instant,
    /// Nanoseconds after the start.
    fresh_ns: AtomicU64,
    status: Mutex<Status>,
    /// The view or the status changed.
    changed: Condvar,
    /// The thread has something to do.
    wake: Condvar,
}

#[derive(Default)]
struct Status {
    failure: Option<String>,
    /// When the engine was asked, and the version that it had, until the view reaches that.
    asked: Option<(Instant, Version)>,
    /// When the view changed last.
    moved: Option<Instant>,
    next_ask: Option<Instant>,
    is_stopping: bool,
}

/// A commit that is under way: counted until this is dropped, by a panic too.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<K: Keeper> Following<K> {
    pub(super) fn new(engine: Arc<dyn Driver>, keeper: K, heart: Heart) -> Self {
        Self {
            polls: engine.capability().watch == WatchKind::Poll,
            floor: AtomicU64::new(keeper.version().0),
            engine,
            keeper,
            heart,
            watch: Mutex::new(None),
            taking: Mutex::default(),
            committing: AtomicUsize::new(0),
            doubts: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            started: Instant::now(),
            fresh_ns: AtomicU64::new(0),
            status: Mutex::default(),
            changed: Condvar::new(),
            wake: Condvar::new(),
        }
    }

    pub(super) fn engine(&self) -> &dyn Driver {
        &*self.engine
    }

    pub(super) fn keeper(&self) -> &K {
        &self.keeper
    }

    /// No reader from now on sees less than this version.
    pub(super) fn require(&self, version: Version) {
        self.floor.fetch_max(version.0, Ordering::AcqRel);
    }

    /// The next reader is to see all that the engine has by then.
    pub(super) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until the view may be shown: it has what this process knows of, and is no older than
    /// its bound.
    pub(super) fn catch_up(&self) -> Result<()> {
        let doubts = self.doubts.load(Ordering::Acquire);
        if self.settled.load(Ordering::Acquire) < doubts {
            self.require_newest()?;
            self.settled.fetch_max(doubts, Ordering::AcqRel);
        }
        self.reach(Version(self.floor.load(Ordering::Acquire)))?;
        if self.is_fresh() {
            return Ok(());
        }
        self.await_freshness()
    }

    /// No reader from now on sees less than the engine has now, which is returned.
    pub(super) fn require_newest(&self) -> Result<Version> {
        let newest = self.ask()?;
        self.require(newest);
        Ok(newest)
    }

    /// Waits until the view has all that the engine has now.
    pub(super) fn catch_up_with_engine(&self) -> Result<()> {
        let asked = Instant::now();
        self.require_newest()?;
        self.reach(Version(self.floor.load(Ordering::Acquire)))?;
        self.refresh(asked);
        Ok(())
    }

    /// Waits so long for a version; returns whether the view has reached it.
    pub(super) fn try_reach(&self, version: Version, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            if self.polls {
                self.pump();
            }
            let mut status = self.status.lock();
            if self.keeper.version() >= version {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            let until = if self.polls {
                deadline.min(now + POLL / 10)
            } else {
                deadline
            };
            self.changed.wait_until(&mut status, until);
        }
    }

    /// What there is to say of following, beside what is kept.
    pub(super) fn residence(&self) -> Residence {
        let bound = match self.heart {
            Heart::Bound(bound) => Some(bound),
            Heart::Still => None,
        };
        Residence {
            version: Some(self.keeper.version()),
            lag: bound.map(|_| self.lag()),
            lag_max: bound,
            failure: self.status.lock().failure.clone(),
            ..Residence::default()
        }
    }

    fn ask(&self) -> Result<Version> {
        Ok(self.engine.snapshot()?.version())
    }

    fn lag(&self) -> Duration {
        let fresh = Duration::from_nanos(self.fresh_ns.load(Ordering::Acquire));
        self.started.elapsed().saturating_sub(fresh)
    }

    fn is_fresh(&self) -> bool {
        match self.heart {
            Heart::Bound(bound) => self.lag() <= bound,
            Heart::Still => true,
        }
    }

    /// The view has all that the engine had at that moment.
    fn refresh(&self, moment: Instant) {
        let after = moment.saturating_duration_since(self.started);
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        self.fresh_ns.fetch_max(after_ns, Ordering::AcqRel);
    }

    fn reach(&self, version: Version) -> Result<()> {
        if self.keeper.version() >= version {
            return Ok(());
        }
        let start = Instant::now();
        while !self.try_reach(version, PUSH_WAIT) {
            let waited = start.elapsed();
            let is_failing = self.status.lock().failure.is_some();
            if waited > REACH_MAX || (is_failing && waited > self.patience()) {
                return Err(self.behind(&format!(
                    "does not have version {} yet, which this process knows of",
                    version.0
                )));
            }
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        match self.heart {
            Heart::Bound(bound) => bound,
            Heart::Still => PUSH_WAIT,
        }
    }

    /// The thread may not have had its turn for a while: it gets one before readers are refused.
    fn await_freshness(&self) -> Result<()> {
        let deadline = Instant::now() + self.patience();
        let mut status = self.status.lock();
        status.next_ask = None;
        self.wake.notify_all();
        while !self.is_fresh() {
            if self.changed.wait_until(&mut status, deadline).timed_out() {
                drop(status);
                let bound_ms = self.patience().as_millis();
                return Err(self.behind(&format!(
                    "is older than its bound of {bound_ms} ms (staleness_ms)"
                )));
            }
        }
        Ok(())
    }

    fn behind(&self, what: &str) -> Error {
        let lag_ms = self.lag().as_millis();
        let failure = self.status.lock().failure.clone();
        let why = failure.unwrap_or_else(|| "it did not answer in time".to_owned());
        let message = format!(
            "what is in memory of the engine {what}; it was current {lag_ms} ms ago. The engine: {why}"
        );
        Error::new(ErrorKind::Unavailable, message)
    }

    /// Takes in what the engine tells at once, where nobody else is doing so.
    fn pump(&self) {
        let Some(mut watch) = self.watch.try_lock() else {
            return;
        };
        if let Err(error) = self.drain(&mut watch) {
            *watch = None;
            self.failed(&error);
        }
    }

    fn drain(&self, watch: &mut Option<Box<dyn Watch>>) -> Result<()> {
        while self.step(watch, Duration::ZERO)? {}
        Ok(())
    }

    /// Takes in one event; returns whether there was one in time.
    fn step(&self, watch: &mut Option<Box<dyn Watch>>, timeout: Duration) -> Result<bool> {
        let watch = match watch {
            Some(watch) => watch,
            None => watch.insert(self.engine.watch(KeyRange::all(), self.keeper.version())?),
        };
        let Some(event) = watch.next(timeout)? else {
            return Ok(false);
        };
        if let WatchEvent::Gap { version } = event {
            self.await_own(version);
        }
        let mut steps = self.taking.lock();
        // What was read again may be ahead of what is told, and so may what was committed here.
        match event {
            WatchEvent::Commit { version, changes } if version > self.keeper.version() => {
                self.keeper.apply(version, &changes);
            }
            WatchEvent::Gap { version } if version > self.keeper.version() => {
                self.keeper.reload(&*self.engine, version)?;
            }
            WatchEvent::Commit { .. } | WatchEvent::Gap { .. } => return Ok(true),
        }
        steps.go_on(&self.keeper);
        drop(steps);
        self.moved();
        Ok(true)
    }

    /// Has the engine commit, and takes in what it did.
    pub(super) fn commit(&self, batch: Batch) -> Result<Committed> {
        let _under_way = UnderWay::new(&self.committing);
        let outcome = self.engine.commit_step(batch);
        if let Ok(Committed {
            version,
            step: Some(step),
        }) = &outcome
        {
            self.take_step(*version, step);
        }
        outcome
    }

    /// Waits for the commits of this process that are under way, where one of them may be what the
    /// engine tells only as a gap.
    fn await_own(&self, version: Version) {
        let start = Instant::now();
        // A commit that fails, or is not taken in, wakes nobody: it is looked for now and then.
        while self.committing.load(Ordering::Acquire) > 0
            && start.elapsed() < OWN_WAIT
            && !self.try_reach(version, OWN_WAIT / 10)
        {}
    }

    /// Takes in what this process has committed, where the view has all that came before it. Else
    /// the engine tells it, later.
    fn take_step(&self, version: Version, step: &Step) {
        let Some(mut steps) = self.taking.try_lock_for(TAKING_WAIT) else {
            return;
        };
        let is_taken = steps.take(&self.keeper, version, step);
        drop(steps);
        if is_taken {
            self.moved();
        }
    }

    /// The view has moved on.
    fn moved(&self) {
        self.status.lock().moved = Some(Instant::now());
        self.resolve();
    }

    /// Sees whether the view has what the engine was found to have.
    fn resolve(&self) {
        let mut status = self.status.lock();
        let reached = status
            .asked
            .take_if(|(_, version)| *version <= self.keeper.version());
        if let Some((moment, _)) = reached {
            self.refresh(moment);
        }
        drop(status);
        self.changed.notify_all();
    }

    fn failed(&self, error: &Error) {
        let mut status = self.status.lock();
        if status.failure.is_none() {
            tracing::warn!(engine = self.engine.name(), %error, "the engine cannot be followed");
        }
        status.failure = Some(error.to_string());
    }

    fn recovered(&self) {
        let mut status = self.status.lock();
        if status.failure.take().is_some() {
            tracing::info!(engine = self.engine.name(), "the engine is followed again");
        }
    }

    /// Follows until it is told to stop.
    fn run(&self) {
        let mut again = AGAIN_MIN;
        loop {
            let pause = match self.turn() {
                Ok(pause) => {
                    self.recovered();
                    again = AGAIN_MIN;
                    pause
                }
                Err(error) => {
                    *self.watch.lock() = None;
                    self.failed(&error);
                    again = (again * 2).min(AGAIN_MAX);
                    Some(again)
                }
            };
            let mut status = self.status.lock();
            if let Some(pause) = pause.filter(|_| !status.is_stopping) {
                self.wake.wait_for(&mut status, pause);
            }
            if status.is_stopping {
                return;
            }
        }
    }

    /// One round; returns how long to wait before the next.
    fn turn(&self) -> Result<Option<Duration>> {
        self.beat()?;
        let mut watch = self.watch.lock();
        self.drain(&mut watch)?;
        if self.polls {
            return Ok(Some(POLL));
        }
        let timeout = match self.status.lock().next_ask {
            Some(next) => next.saturating_duration_since(Instant::now()),
            None => PUSH_WAIT,
        };
        self.step(&mut watch, timeout.min(PUSH_WAIT))?;
        Ok(None)
    }

    /// Asks how current the view is, when it is time.
    fn beat(&self) -> Result<()> {
        let Heart::Bound(bound) = self.heart else {
            return Ok(());
        };
        let moment = Instant::now();
        let mut status = self.status.lock();
        if status.next_ask.is_some_and(|next| moment < next) {
            return Ok(());
        }
        status.next_ask = Some(moment + bound / ASKS);
        let asked = status.asked;
        let is_silent = asked.is_some_and(|(asked, _)| {
            asked.elapsed() > bound / 2 && status.moved.is_none_or(|moved| moved < asked)
        });
        drop(status);
        let version = self.ask()?;
        if is_silent {
            // The engine has moved on, and its watch says nothing of it.
            tracing::warn!(engine = self.engine.name(), "a silent watch is begun again");
            let mut watch = self.watch.lock();
            *watch = None;
            let steps = self.taking.lock();
            self.keeper.reload(&*self.engine, version)?;
            drop(steps);
            self.moved();
        }
        // The oldest question counts until it is answered: under many commits, each next one
        // would have to wait again.
        self.status.lock().asked.get_or_insert((moment, version));
        self.resolve();
        Ok(())
    }
}

/// Whoever holds this has the engine followed.
pub(super) struct Follower<K: Keeper> {
    following: Arc<Following<K>>,
    thread: Option<JoinHandle<()>>,
}

impl<K: Keeper> Follower<K> {
    pub(super) fn start(following: Following<K>) -> Result<Self> {
        following.turn_first()?;
        let following = Arc::new(following);
        let thread = thread::Builder::new()
            .name(format!("follow {}", following.engine.name()))
            .spawn({
                let following = Arc::clone(&following);
                move || following.run()
            })
            .map_err(|error| {
                Error::new(
                    ErrorKind::Engine,
                    "no thread can be started to follow the engine",
                )
                .with_source(error)
            })?;
        let thread = Some(thread);
        Ok(Self { following, thread })
    }

    pub(super) fn following(&self) -> &Arc<Following<K>> {
        &self.following
    }
}

impl<K: Keeper> Following<K> {
    /// Begins to watch, so that an engine that cannot be followed is not opened.
    fn turn_first(&self) -> Result<()> {
        self.beat()?;
        self.drain(&mut self.watch.lock())
    }
}

impl<K: Keeper> Drop for Follower<K> {
    fn drop(&mut self) {
        self.following.status.lock().is_stopping = true;
        self.following.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so, and there is nothing to do about it here.
            let _ = thread.join();
        }
    }
}
