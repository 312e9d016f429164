//! Follows the commits of an engine on a thread that waits for the engine's watch, and tracks how current
//! the view is.
//!
//! Two values decide what a reader may see. The *floor* is the newest version that this process has
//! committed or has been notified of: no reader sees less. The *freshness* is the last time at which the
//! view was confirmed to contain everything in the engine. The engine's newest version is read
//! periodically, because a silent watch may also be a broken one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use espalier_keyspace::{
    Batch, CacheStatus, Committed, Driver, Error, ErrorKind, KeyRange, Result, Step, Version,
    Watch, WatchEvent, WatchKind,
};
use parking_lot::{Condvar, Mutex};

use super::pending_steps::PendingSteps;
use super::policy_driver::PolicyCache;

/// Poll interval for an engine without notifications.
const POLL: Duration = Duration::from_millis(10);

/// Duration of one wait for notifications; closing takes at most this long.
const PUSH_WAIT: Duration = Duration::from_millis(100);

/// The wait before an engine that failed is retried; doubled on each failure.
const RETRY_MIN: Duration = Duration::from_millis(20);

/// The maximum of that wait.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// How long a reader waits for the view to reach the floor, while following works: a large key space may
/// have to be read again.
const AWAIT_VERSION_MAX: Duration = Duration::from_secs(60);

/// How long a commit waits for the lock to update the view itself: the view may be in reloading.
const APPLY_LOCK_WAIT: Duration = Duration::from_millis(1);

// A large commit is a gap in the watch; reading everything again takes longer: docs/decisions/0028.
/// How long a gap, which may be a commit of this process, waits for the result of that commit, which
/// arrives at about the same time: reloading everything takes longer.
const OWN_COMMIT_WAIT: Duration = Duration::from_millis(50);

/// The newest version is read this many times within the staleness bound.
const CHECKS_PER_BOUND: u32 = 4;

/// Whether the freshness of the view is checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum FreshnessCheck {
    /// Often enough to confirm that the view is no older than this.
    Every(Duration),
    /// Never: readers query the engine themselves.
    Never,
}

/// An engine, its cache, and the progress of following it.
pub(super) struct Follower<K> {
    engine: Arc<dyn Driver>,
    cache: K,
    freshness_check: FreshnessCheck,
    /// Whether the engine must be polled for commits.
    polls: bool,
    /// Locked by the thread that applies events.
    watch: Mutex<Option<Box<dyn Watch>>>,
    /// Locked while the view is changed.
    pending_steps: Mutex<PendingSteps>,
    /// Commits of this process in progress.
    committing: AtomicUsize,
    floor: AtomicU64,
    syncs_requested: AtomicU64,
    syncs_done: AtomicU64,
    started: Instant,
    /// Nanoseconds since `started`.
    fresh_ns: AtomicU64,
    status: Mutex<Status>,
    /// Notified when the view or the status changed.
    changed: Condvar,
    /// Notified when the thread has work to do.
    wake: Condvar,
}

#[derive(Default)]
struct Status {
    failure: Option<String>,
    /// The time of a freshness check, and the engine's version then, until the view reaches it.
    pending_check: Option<(Instant, Version)>,
    /// When the view changed last.
    view_changed: Option<Instant>,
    next_check: Option<Instant>,
    is_stopping: bool,
}

/// Counts a commit in progress until it is dropped, also in a panic.
struct CommitInProgress<'a>(&'a AtomicUsize);

impl<'a> CommitInProgress<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for CommitInProgress<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<K: PolicyCache> Follower<K> {
    pub(super) fn new(engine: Arc<dyn Driver>, cache: K, freshness_check: FreshnessCheck) -> Self {
        Self {
            polls: engine.capability().watch == WatchKind::Poll,
            floor: AtomicU64::new(cache.version().0),
            engine,
            cache,
            freshness_check,
            watch: Mutex::new(None),
            pending_steps: Mutex::default(),
            committing: AtomicUsize::new(0),
            syncs_requested: AtomicU64::new(0),
            syncs_done: AtomicU64::new(0),
            started: Instant::now(),
            fresh_ns: AtomicU64::new(0),
            status: Mutex::default(),
            changed: Condvar::new(),
            wake: Condvar::new(),
        }
    }

    pub(super) fn engine(&self) -> &Arc<dyn Driver> {
        &self.engine
    }

    pub(super) fn cache(&self) -> &K {
        &self.cache
    }

    /// Raises the floor: no later reader sees an older version.
    pub(super) fn require(&self, version: Version) {
        self.floor.fetch_max(version.0, Ordering::AcqRel);
    }

    /// Makes the next reader wait for the engine's newest version.
    pub(super) fn request_sync(&self) {
        self.syncs_requested.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until the view may be read: it has reached the floor, and is no older than its bound.
    pub(super) fn catch_up(&self) -> Result<()> {
        let syncs_requested = self.syncs_requested.load(Ordering::Acquire);
        if self.syncs_done.load(Ordering::Acquire) < syncs_requested {
            self.require_newest()?;
            self.syncs_done.fetch_max(syncs_requested, Ordering::AcqRel);
        }
        self.await_version(Version(self.floor.load(Ordering::Acquire)))?;
        if self.is_fresh() {
            return Ok(());
        }
        self.await_freshness()
    }

    /// Raises the floor to the engine's newest version, and returns it.
    pub(super) fn require_newest(&self) -> Result<Version> {
        let newest = self.newest_version()?;
        self.require(newest);
        Ok(newest)
    }

    /// Waits until the view contains everything in the engine.
    pub(super) fn catch_up_with_engine(&self) -> Result<()> {
        let started = Instant::now();
        self.require_newest()?;
        self.await_version(Version(self.floor.load(Ordering::Acquire)))?;
        self.refresh(started);
        Ok(())
    }

    /// Waits at most `wait` for a version; returns whether the view has reached it.
    pub(super) fn try_await_version(&self, version: Version, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            if self.polls {
                self.poll_watch();
            }
            let mut status = self.status.lock();
            if self.cache.version() >= version {
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

    /// The follower's part of [`CacheStatus`].
    pub(super) fn cache_status(&self) -> CacheStatus {
        let bound = match self.freshness_check {
            FreshnessCheck::Every(bound) => Some(bound),
            FreshnessCheck::Never => None,
        };
        CacheStatus {
            version: Some(self.cache.version()),
            lag: bound.map(|_| self.lag()),
            lag_max: bound,
            failure: self.status.lock().failure.clone(),
            ..CacheStatus::default()
        }
    }

    fn newest_version(&self) -> Result<Version> {
        Ok(self.engine.snapshot()?.version())
    }

    fn lag(&self) -> Duration {
        let fresh = Duration::from_nanos(self.fresh_ns.load(Ordering::Acquire));
        self.started.elapsed().saturating_sub(fresh)
    }

    fn is_fresh(&self) -> bool {
        match self.freshness_check {
            FreshnessCheck::Every(bound) => self.lag() <= bound,
            FreshnessCheck::Never => true,
        }
    }

    /// Records that the view contains everything that the engine had at `moment`.
    fn refresh(&self, moment: Instant) {
        let after = moment.saturating_duration_since(self.started);
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        self.fresh_ns.fetch_max(after_ns, Ordering::AcqRel);
    }

    fn await_version(&self, version: Version) -> Result<()> {
        if self.cache.version() >= version {
            return Ok(());
        }
        let start = Instant::now();
        while !self.try_await_version(version, PUSH_WAIT) {
            let waited = start.elapsed();
            let is_failing = self.status.lock().failure.is_some();
            if waited > AWAIT_VERSION_MAX || (is_failing && waited > self.wait_limit()) {
                return Err(self.stale_error(&format!(
                    "has not reached version {}, which this process has seen",
                    version.0
                )));
            }
        }
        Ok(())
    }

    fn wait_limit(&self) -> Duration {
        match self.freshness_check {
            FreshnessCheck::Every(bound) => bound,
            FreshnessCheck::Never => PUSH_WAIT,
        }
    }

    /// Lets the thread check freshness before readers are rejected, as it may not have run for a while.
    fn await_freshness(&self) -> Result<()> {
        let deadline = Instant::now() + self.wait_limit();
        let mut status = self.status.lock();
        status.next_check = None;
        self.wake.notify_all();
        while !self.is_fresh() {
            if self.changed.wait_until(&mut status, deadline).timed_out() {
                drop(status);
                let bound_ms = self.wait_limit().as_millis();
                return Err(self.stale_error(&format!(
                    "is older than its bound of {bound_ms} ms (staleness_ms)"
                )));
            }
        }
        Ok(())
    }

    fn stale_error(&self, problem: &str) -> Error {
        let lag_ms = self.lag().as_millis();
        let failure = self.status.lock().failure.clone();
        let reason = failure.unwrap_or_else(|| "the engine did not answer in time".to_owned());
        let message = format!(
            "the in-memory view of the engine {problem}; it was current {lag_ms} ms ago. Reason: {reason}"
        );
        Error::new(ErrorKind::Unavailable, message)
    }

    /// Applies all pending events, unless another thread does so.
    fn poll_watch(&self) {
        let Some(mut watch) = self.watch.try_lock() else {
            return;
        };
        if let Err(error) = self.apply_pending(&mut watch) {
            *watch = None;
            self.failed(&error);
        }
    }

    fn apply_pending(&self, watch: &mut Option<Box<dyn Watch>>) -> Result<()> {
        while self.apply_event(watch, Duration::ZERO)? {}
        Ok(())
    }

    /// Applies one event; returns whether there was one in time.
    fn apply_event(&self, watch: &mut Option<Box<dyn Watch>>, timeout: Duration) -> Result<bool> {
        let watch = match watch {
            Some(watch) => watch,
            None => watch.insert(self.engine.watch(KeyRange::all(), self.cache.version())?),
        };
        let Some(event) = watch.next(timeout)? else {
            return Ok(false);
        };
        if let WatchEvent::Gap { version } = event {
            self.await_own_commits(version);
        }
        let mut steps = self.pending_steps.lock();
        // A reload or an own commit may have moved the view beyond this event.
        match event {
            WatchEvent::Commit { version, changes } if version > self.cache.version() => {
                self.cache.apply(version, &changes);
            }
            WatchEvent::Gap { version } if version > self.cache.version() => {
                self.cache.reload(&*self.engine, version)?;
            }
            WatchEvent::Commit { .. } | WatchEvent::Gap { .. } => return Ok(true),
        }
        steps.apply_waiting(&self.cache);
        drop(steps);
        self.on_view_changed();
        Ok(true)
    }

    /// Commits to the engine, and applies the result to the view.
    pub(super) fn commit(&self, batch: Batch) -> Result<Committed> {
        let _in_progress = CommitInProgress::new(&self.committing);
        let outcome = self.engine.commit(batch);
        if let Ok(Committed {
            version,
            step: Some(step),
        }) = &outcome
        {
            self.apply_step(*version, step);
        }
        outcome
    }

    /// Waits for the commits of this process in progress, as the gap may be one of them.
    fn await_own_commits(&self, version: Version) {
        let start = Instant::now();
        // A commit that fails, or is not applied to the view, notifies nobody: check periodically.
        while self.committing.load(Ordering::Acquire) > 0
            && start.elapsed() < OWN_COMMIT_WAIT
            && !self.try_await_version(version, OWN_COMMIT_WAIT / 10)
        {}
    }

    /// Applies a commit of this process, if the view contains all commits before it. Otherwise the watch
    /// delivers it later.
    fn apply_step(&self, version: Version, step: &Step) {
        let Some(mut steps) = self.pending_steps.try_lock_for(APPLY_LOCK_WAIT) else {
            return;
        };
        let is_applied = steps.apply(&self.cache, version, step);
        drop(steps);
        if is_applied {
            self.on_view_changed();
        }
    }

    /// Records a change of the view.
    fn on_view_changed(&self) {
        self.status.lock().view_changed = Some(Instant::now());
        self.update_freshness();
    }

    /// Updates the freshness if the view has reached the version of the last check.
    fn update_freshness(&self) {
        let mut status = self.status.lock();
        let reached = status
            .pending_check
            .take_if(|(_, version)| *version <= self.cache.version());
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

    /// Follows until it is stopped.
    fn run(&self) {
        let mut retry_wait = RETRY_MIN;
        loop {
            let pause = match self.run_once() {
                Ok(pause) => {
                    self.recovered();
                    retry_wait = RETRY_MIN;
                    pause
                }
                Err(error) => {
                    *self.watch.lock() = None;
                    self.failed(&error);
                    retry_wait = (retry_wait * 2).min(RETRY_MAX);
                    Some(retry_wait)
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

    /// Runs one round; returns how long to wait before the next.
    fn run_once(&self) -> Result<Option<Duration>> {
        self.check_freshness()?;
        let mut watch = self.watch.lock();
        self.apply_pending(&mut watch)?;
        if self.polls {
            return Ok(Some(POLL));
        }
        let timeout = match self.status.lock().next_check {
            Some(next) => next.saturating_duration_since(Instant::now()),
            None => PUSH_WAIT,
        };
        self.apply_event(&mut watch, timeout.min(PUSH_WAIT))?;
        Ok(None)
    }

    /// Checks freshness, if it is time.
    fn check_freshness(&self) -> Result<()> {
        let FreshnessCheck::Every(bound) = self.freshness_check else {
            return Ok(());
        };
        let moment = Instant::now();
        let mut status = self.status.lock();
        if status.next_check.is_some_and(|next| moment < next) {
            return Ok(());
        }
        status.next_check = Some(moment + bound / CHECKS_PER_BOUND);
        let pending_check = status.pending_check;
        let is_silent = pending_check.is_some_and(|(started, _)| {
            started.elapsed() > bound / 2
                && status.view_changed.is_none_or(|changed| changed < started)
        });
        drop(status);
        let version = self.newest_version()?;
        if is_silent {
            // The engine has a newer version, but its watch is silent.
            tracing::warn!(engine = self.engine.name(), "a silent watch is restarted");
            let mut watch = self.watch.lock();
            *watch = None;
            let steps = self.pending_steps.lock();
            self.cache.reload(&*self.engine, version)?;
            drop(steps);
            self.on_view_changed();
        }
        // The oldest check counts until the view reaches it: with many commits, a newer one would have to
        // wait again.
        self.status
            .lock()
            .pending_check
            .get_or_insert((moment, version));
        self.update_freshness();
        Ok(())
    }
}

/// Follows the engine on a thread while it exists.
pub(super) struct FollowerThread<K: PolicyCache> {
    follower: Arc<Follower<K>>,
    thread: Option<JoinHandle<()>>,
}

impl<K: PolicyCache> FollowerThread<K> {
    pub(super) fn start(follower: Follower<K>) -> Result<Self> {
        follower.start_watch()?;
        let follower = Arc::new(follower);
        let thread = thread::Builder::new()
            .name(format!("follow {}", follower.engine.name()))
            .spawn({
                let follower = Arc::clone(&follower);
                move || follower.run()
            })
            .map_err(|error| {
                Error::new(
                    ErrorKind::Engine,
                    "cannot start a thread to follow the engine",
                )
                .with_source(error)
            })?;
        let thread = Some(thread);
        Ok(Self { follower, thread })
    }

    pub(super) fn follower(&self) -> &Arc<Follower<K>> {
        &self.follower
    }
}

impl<K: PolicyCache> Follower<K> {
    /// Starts the watch, so that opening fails for an engine that cannot be followed.
    fn start_watch(&self) -> Result<()> {
        self.check_freshness()?;
        self.apply_pending(&mut self.watch.lock())
    }
}

impl<K: PolicyCache> Drop for FollowerThread<K> {
    fn drop(&mut self) {
        self.follower.status.lock().is_stopping = true;
        self.follower.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}
