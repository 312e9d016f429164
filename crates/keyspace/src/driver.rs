//! The contract between the store and an engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::{Batch, Capability, Expect, KeyRange, Lens, Precondition, Residence, Result, Take};

/// The number of a committed state of one key space: a later state has a larger one.
///
/// Commits that become visible in one step (a group that shares a flush) share their version, so
/// that no version names a state that nobody could ever see. A commit that changes nothing (a
/// delete of what is absent, an empty batch) returns the newest version and makes no new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key to the largest.
    Forward,
    /// From the largest key to the smallest.
    Backward,
}

/// An engine that keeps an ordered key space. Shared between threads; every call may come at any
/// time. Calls block (the edges of Espalier are asynchronous, the core is not).
pub trait Driver: Send + Sync + 'static {
    /// The name users choose the driver by, as in the URL: `memory`, `embedded`, ...
    fn name(&self) -> &'static str;

    /// What this driver has beyond the contract. Constant for a driver value.
    fn capability(&self) -> Capability;

    /// A consistent view of the newest committed state, unaffected by later commits. Taken for
    /// every request, so it costs microseconds (a round trip at most on a remote engine) and
    /// waits for no writer, but for a change of some keys in memory. An engine that keeps only so much of the past refuses to read
    /// from a snapshot that is older, with [`crate::ErrorKind::SnapshotTooOld`]. A driver may limit
    /// how many are held at once, and refuses more as [`crate::ErrorKind::Unavailable`].
    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>>;

    /// As [`Self::snapshot`], with what will be read from it. An engine behind a network brings that
    /// along in the same round trip, where it can; the others do not ask `expect`, which is called
    /// once at most. What was not expected is read all the same, and what was expected need not be.
    fn snapshot_expecting(&self, _expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot()
    }

    /// As [`Self::snapshot_expecting`], for whoever works out a change that a commit will require to be one
    /// of the newest state still. A driver that knows a state without asking its engine may show that, and
    /// does where that saves a round trip and is probably the newest: the commit tells where it was not,
    /// and [`Self::is_current`] who decides to commit nothing.
    fn snapshot_to_change(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot_expecting(expect)
    }

    /// Applies the batch if all its preconditions hold, else applies nothing and returns
    /// [`crate::ErrorKind::Conflict`] with the key of the first that does not. On return the
    /// change is visible to every later snapshot and as durable as the driver was asked to be.
    /// Calls [`Batch::check_limits`] before anything else. Concurrent commits may share a flush.
    /// An error means that nothing was applied, except
    /// [`crate::ErrorKind::OutcomeUnknown`].
    fn commit(&self, batch: Batch) -> Result<Version> {
        Ok(self.commit_step(batch)?.version)
    }

    /// As [`Self::commit`], and gives the batch back where the driver can say for sure between which two
    /// versions it alone makes the difference: for whoever has the first of them in memory, and
    /// need not be told the change that it made itself.
    fn commit_step(&self, batch: Batch) -> Result<Committed>;

    /// Like [`Self::commit`], for changes that should not be held in memory: calls `fill` once
    /// (never again, not even on retry) with a [`Writer`], and applies what it wrote all or
    /// nothing. When `fill` returns an error, nothing is applied and the error is returned.
    /// Preconditions are tested before `fill` is called. `fill` may take snapshots (they do not
    /// show the write); it must not call [`Self::commit`] or `write`, which wait for each other.
    ///
    /// What is applied is never applied over another state than the one that `fill` read through the
    /// writer and its views. An engine that others cannot change meanwhile has them wait, and such a
    /// write never loses. Where they can (behind a network, without transactions that stay open), the
    /// write is refused as a [`crate::ErrorKind::Conflict`] when a key or a range that it read holds
    /// something else at the end, or the preconditions do not hold any more, and nothing is applied: so
    /// whoever writes tries again, see [`crate::Contention`]. What `fill` read of snapshots that it took
    /// itself is the business of the preconditions.
    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version>;

    /// Every commit after `after` that touches `range`, in order, whoever made it. A commit that
    /// the driver cannot tell any more shows as [`WatchEvent::Gap`].
    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>>;

    /// How much is stored. May take time linear in the number of keys.
    fn usage(&self) -> Result<Usage>;

    /// Examines the engine's own structures; one finding for each fault. Linear in the data.
    fn check(&self) -> Result<Vec<Finding>>;

    /// Makes everything committed so far durable, also where commits are relaxed.
    fn flush(&self) -> Result<()>;

    /// Whether a snapshot of version `seen` showed all that was committed, by whomever, before this
    /// call; later ones do where it did not. Snapshots do so anyway, except where a driver shows what
    /// it has in memory (by a policy, or by [`Self::snapshot_to_change`]): there, whoever has decided to
    /// refuse a change, or that there is nothing to change, asks this, and decides again where the answer
    /// is no. A change that is made needs no asking, as its preconditions tell, and so costs no round trip
    /// beside its own.
    fn is_current(&self, _seen: Version) -> Result<bool> {
        Ok(true)
    }

    /// Has every later [`Self::snapshot`] show all that was committed, by whomever, before this call: for
    /// whoever decides on something that no precondition will tell of.
    fn catch_up(&self) -> Result<()> {
        self.is_current(Version::default()).map(drop)
    }

    /// What of the engine is kept in memory, and how current that is. Costs little, but for
    /// [`crate::Policy::Ram`], where it is linear in the keys.
    fn residence(&self) -> Residence {
        Residence::default()
    }

    /// Brings everything on disk up to date, what follows from the rows too. Called when nobody is
    /// going to commit for a while, as at the end of a process that serves. The driver goes on
    /// working.
    fn bring_up_to_date(&self) -> Result<()> {
        self.flush()
    }

    /// Gives the driver a lens, which one that can store what people read keeps. Called once, by
    /// the one who opened the driver, before anything else is committed. Where people have changed
    /// what they read while nobody had the engine open, `take` is called for each such document; it
    /// may commit. Its first error ends the call. Drivers that store nothing readably do nothing.
    fn use_lens(&self, _lens: Arc<dyn Lens>, _take: Take<'_>) -> Result<()> {
        Ok(())
    }
}

/// What a commit came to.
#[derive(Clone, Debug)]
pub struct Committed {
    /// As [`Driver::commit`] returns it.
    pub version: Version,
    /// How the key space came there, where that is sure.
    pub step: Option<Step>,
}

impl Committed {
    /// A batch that alone makes the difference between a version and the one before it, where it
    /// makes any.
    pub fn alone(version: Version, batch: Batch) -> Self {
        let from = version.0.checked_sub(1).map(Version);
        let from = from.filter(|_| batch.surely_changes());
        let step = from.map(|from| Step { from, batch });
        Self { version, step }
    }
}

/// What lies between two versions.
#[derive(Clone, Debug)]
pub struct Step {
    /// The older one.
    pub from: Version,
    /// All that changed.
    pub batch: Batch,
}

/// What [`Driver::write`] calls to have the changes told.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Writer) -> Result<()>;

/// A consistent read view. Dropping it releases what it holds back.
pub trait Snapshot {
    /// The version of the last commit that is visible.
    fn version(&self) -> Version;

    /// The value of `key`. Borrowed from the engine where the engine can.
    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>>;

    /// The values of keys, as [`Self::get`] of each and in their order. An engine behind a network
    /// brings many of them in one round trip; all of them are in memory at once.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// The keys of `range` in the given order. Costs one descent, then constant time a key (on a
    /// remote engine: a round trip a page).
    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>>;
}

/// A position in a scan. What it lends is valid until the next call.
pub trait Cursor {
    /// The next key and value, or `None` past the end (and ever after).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;

    /// Moves to the first key at or after `key` (at or before, going backward) within the range of
    /// the scan, so that the next call to [`Self::next`] returns it. One descent.
    fn seek(&mut self, key: &[u8]) -> Result<()>;
}

/// Whether a key was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existed {
    /// The key was absent; it now holds the value.
    No,
    /// The key was there, and was left as it was.
    Yes,
}

/// Where [`Driver::write`] takes its operations; they apply in order. Checks each operation
/// against the named limits.
pub trait Writer {
    /// Sets `key` to `value`.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Sets `key` to `value` if it is absent, also from earlier in the same write.
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed>;

    /// The value of `key` as this write would leave it now.
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>>;

    /// A read view of the state as this write would leave it now, for as long as nothing more is
    /// written. Its version is that of the state before the write. Costs nothing by itself; its
    /// reads cost what those of [`Driver::snapshot`] cost.
    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>>;

    /// Removes `key`.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Removes every key of `range`.
    fn delete_range(&mut self, range: &KeyRange) -> Result<()>;

    /// Adds `delta` to the counter at `key`.
    fn add(&mut self, key: &[u8], delta: i64) -> Result<()>;
}

/// One changed key (or range), as a [`Watch`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key holds the value (for an `add`, the sum).
    Put {
        /// The key.
        key: Vec<u8>,
        /// What it holds.
        value: Vec<u8>,
    },
    /// The key is absent.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// Every key of the range is absent.
    DeleteRange(KeyRange),
}

/// What a [`Watch`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// One version: its changes under the watched range, in the order they were applied. What
    /// had no effect is left out, and a deleted range is told as far as it is watched.
    Commit {
        /// The commit's version.
        version: Version,
        /// Its changes, never empty.
        changes: Vec<Change>,
    },
    /// Commits up to `version` may have touched the range, and cannot be told one by one (too
    /// long ago, too large to keep, or made by another process on an engine that does not tell).
    /// Read the range again from a snapshot of at least this version.
    Gap {
        /// The last version of the gap.
        version: Version,
    },
}

/// A stream of changes. Bounded: a watcher that is too slow gets a [`WatchEvent::Gap`].
pub trait Watch: Send {
    /// The next event, waiting at most `timeout`; `None` when there was none in that time.
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>>;
}

/// How much an engine holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Keys stored.
    pub keys: u64,
    /// Bytes on disk (or in memory), overhead included where the engine tells.
    pub bytes: u64,
}

/// A fault that [`Driver::check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where: a key, a page, a file.
    pub place: String,
    /// What is wrong, in a sentence.
    pub problem: String,
}
