//! What a policy has to say for itself, and the driver that is made of it.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Capability, Change, Committed, Driver, Error, ErrorKind, Expect, Fill, Finding,
    KeyRange, Lens, Precondition, Residence, Result, Snapshot, Step, Take, Usage, Version, Watch,
    WatchEvent,
};

use super::follow::{Follower, Following};

/// What became of a commit of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    /// It is taken in.
    Step,
    /// It comes after another that is not taken in yet.
    Early,
    /// It is of no use.
    Nothing,
}

/// What a policy keeps in memory. Its changes come one after the other, from whoever follows the
/// engine at the moment.
pub(super) trait Keeper: Sized + Send + Sync + 'static {
    /// Whether everything is in memory, so that a read waits for nobody.
    const HOLDS_ALL: bool = false;

    /// The version up to which the engine was followed.
    fn version(&self) -> Version;

    /// Takes in one commit, which is later than [`Self::version`].
    fn apply(&self, version: Version, changes: &[Change]);

    /// Commits up to `least` at least cannot be told: begins again from the engine.
    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()>;

    /// Takes in what this process has committed itself, as the next after [`Self::version`]. What is not
    /// taken is told as the commits of others are.
    fn take_step(&self, _version: Version, _step: &Step) -> Took {
        Took::Nothing
    }

    /// A view for a reader.
    fn snapshot(following: &Arc<Following<Self>>) -> Result<Box<dyn Snapshot + Send>>;

    /// The same for a reader who says what it will read: one that has it in memory needs no telling.
    fn snapshot_expecting(
        following: &Arc<Following<Self>>,
        _expect: Expect<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        Self::snapshot(following)
    }

    /// See [`Driver::is_current`]: snapshots that ask the engine are.
    fn is_current(_following: &Following<Self>, _seen: Version) -> Result<bool> {
        Ok(true)
    }

    /// What is in memory.
    fn residence(following: &Following<Self>) -> Residence;
}

/// An engine with what is kept of it in memory.
pub(super) struct Kept<K: Keeper> {
    follower: Follower<K>,
}

impl<K: Keeper> Kept<K> {
    /// Follows the engine from where the keeper is.
    pub(super) fn follow(following: Following<K>) -> Result<Self> {
        let follower = Follower::start(following)?;
        Ok(Self { follower })
    }

    fn following(&self) -> &Arc<Following<K>> {
        self.follower.following()
    }

    fn engine(&self) -> &dyn Driver {
        self.following().engine()
    }

    /// Whoever committed sees it from now on. After a conflict, and after a commit of which
    /// nobody knows whether it happened, the next reader sees all that the engine has: else it
    /// would decide on the same state again.
    fn note(&self, outcome: std::result::Result<Version, &Error>) {
        match outcome {
            Ok(version) => self.following().require(version),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Conflict | ErrorKind::OutcomeUnknown
                ) =>
            {
                self.following().doubt();
            }
            Err(_) => {}
        }
    }
}

impl<K: Keeper> Driver for Kept<K> {
    fn name(&self) -> &'static str {
        self.engine().name()
    }

    fn capability(&self) -> Capability {
        let capability = self.engine().capability();
        Capability {
            remote: capability.remote && !K::HOLDS_ALL,
            ..capability
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        K::snapshot(self.following())
    }

    fn snapshot_expecting(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        K::snapshot_expecting(self.following(), expect)
    }

    fn commit_step(&self, batch: Batch) -> Result<Committed> {
        let outcome = self.following().commit(batch);
        self.note(outcome.as_ref().map(|committed| committed.version));
        outcome
    }

    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
        let outcome = self.engine().write(preconditions, fill);
        self.note(outcome.as_ref().copied());
        outcome
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        Ok(Box::new(KeptWatch {
            inner: self.engine().watch(range, after)?,
            following: Arc::clone(self.following()),
        }))
    }

    fn usage(&self) -> Result<Usage> {
        self.engine().usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        self.engine().check()
    }

    fn flush(&self) -> Result<()> {
        self.engine().flush()
    }

    fn is_current(&self, seen: Version) -> Result<bool> {
        K::is_current(self.following(), seen)
    }

    fn residence(&self) -> Residence {
        K::residence(self.following())
    }

    fn bring_up_to_date(&self) -> Result<()> {
        self.engine().bring_up_to_date()
    }

    fn use_lens(&self, lens: Arc<dyn Lens>, take: Take<'_>) -> Result<()> {
        self.engine().use_lens(lens, take)
    }
}

/// The engine's watch: what it told, later snapshots show.
struct KeptWatch<K: Keeper> {
    inner: Box<dyn Watch>,
    following: Arc<Following<K>>,
}

impl<K: Keeper> Watch for KeptWatch<K> {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let event = self.inner.next(timeout)?;
        if let Some(WatchEvent::Commit { version, .. } | WatchEvent::Gap { version }) = &event {
            self.following.require(*version);
        }
        Ok(event)
    }
}
