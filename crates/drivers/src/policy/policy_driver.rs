//! The interface of a policy's cache, and the driver over it.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Batch, CacheStatus, Capability, Change, Committed, Driver, DriverExtension, Error, ErrorKind,
    KeyRange, Precondition, Prefetch, Purpose, Result, Snapshot, Step, Version, Watch, WatchEvent,
    WriteBody, forward_driver,
};

use super::follower::{Follower, FollowerThread};

/// The result of applying a commit of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepResult {
    /// Applied to the view.
    Applied,
    /// A preceding commit is not applied yet.
    Early,
    /// Cannot be applied.
    Skipped,
}

/// The cache of a policy. Changes are applied one at a time, by the thread that currently follows the
/// engine.
pub(super) trait PolicyCache: Sized + Send + Sync + 'static {
    /// Whether everything is in memory, so that a read never blocks.
    const IS_COMPLETE: bool = false;

    /// The version up to which the engine was followed.
    fn version(&self) -> Version;

    /// Applies one commit, which is later than [`Self::version`].
    fn apply(&self, version: Version, changes: &[Change]);

    /// Reloads from the engine after a gap up to `least`.
    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()>;

    /// Applies a commit of this process that follows [`Self::version`]. A commit that is not applied comes
    /// through the watch.
    fn apply_step(&self, _version: Version, _step: &Step) -> StepResult {
        StepResult::Skipped
    }

    /// Creates a snapshot with expected reads; a complete cache ignores them.
    fn snapshot(
        follower: &Arc<Follower<Self>>,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>>;

    /// See [`DriverExtension::is_current`]; true for snapshots that read the engine.
    fn is_current(_follower: &Follower<Self>, _seen: Version) -> Result<bool> {
        Ok(true)
    }

    /// The state of the cache.
    fn cache_status(follower: &Follower<Self>) -> CacheStatus;
}

/// The driver of a policy: an engine and its cache.
pub(super) struct PolicyDriver<K: PolicyCache> {
    engine: Arc<dyn Driver>,
    follower: FollowerThread<K>,
}

impl<K: PolicyCache> PolicyDriver<K> {
    /// Follows the engine from the version of the cache.
    pub(super) fn start(follower: Follower<K>) -> Result<Self> {
        Ok(Self {
            engine: Arc::clone(follower.engine()),
            follower: FollowerThread::start(follower)?,
        })
    }

    fn follower(&self) -> &Arc<Follower<K>> {
        self.follower.follower()
    }

    /// Makes a commit visible to the next reader of this process. After a conflict or an unknown outcome,
    /// the next reader waits for the engine's newest version; otherwise it would decide on the same state
    /// again.
    fn on_outcome(&self, outcome: std::result::Result<Version, &Error>) {
        match outcome {
            Ok(version) => self.follower().require(version),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Conflict | ErrorKind::OutcomeUnknown
                ) =>
            {
                self.follower().request_sync();
            }
            Err(_) => {}
        }
    }
}

impl<K: PolicyCache> Driver for PolicyDriver<K> {
    forward_driver!(name, usage, check, flush => self.engine);

    fn capability(&self) -> Capability {
        let capability = self.engine.capability();
        Capability {
            remote: capability.remote && !K::IS_COMPLETE,
            ..capability
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        K::snapshot(self.follower(), &|_| {})
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        let outcome = self.follower().commit(batch);
        self.on_outcome(outcome.as_ref().map(|committed| committed.version));
        outcome
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        let outcome = self.engine.write(preconditions, fill);
        self.on_outcome(outcome.as_ref().copied());
        outcome
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        Ok(Box::new(PolicyWatch {
            inner: self.engine.watch(range, after)?,
            follower: Arc::clone(self.follower()),
        }))
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl<K: PolicyCache> DriverExtension for PolicyDriver<K> {
    forward_driver!(tombstones_passed, flush_all, set_lens => self.engine);

    fn snapshot_for(
        &self,
        _purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        K::snapshot(self.follower(), expect)
    }

    fn is_current(&self, seen: Version) -> Result<bool> {
        K::is_current(self.follower(), seen)
    }

    fn catch_up(&self) -> Result<()> {
        self.is_current(Version::default()).map(drop)
    }

    fn cache_status(&self) -> CacheStatus {
        K::cache_status(self.follower())
    }
}

/// The engine's watch. Later snapshots include the reported events.
struct PolicyWatch<K: PolicyCache> {
    inner: Box<dyn Watch>,
    follower: Arc<Follower<K>>,
}

impl<K: PolicyCache> Watch for PolicyWatch<K> {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let event = self.inner.next(timeout)?;
        if let Some(WatchEvent::Commit { version, .. } | WatchEvent::Gap { version }) = &event {
            self.follower.require(*version);
        }
        Ok(event)
    }
}
