//! The contract between the store and a storage engine.

use std::borrow::Cow;
use std::time::Duration;

use crate::{Batch, Capability, DriverExtension, KeyRange, Precondition, Result};

/// The version number of a committed state of one key space. Versions increase with every change.
///
/// Commits that become visible in one step (a group that shares a flush) share their version, so every
/// version names a state that readers could observe. A commit that changes nothing (a delete of an absent
/// key, an empty batch) returns the newest version and creates no new one.
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

// No interactive transactions, because etcd and Redis have none: docs/decisions/0001.
/// An engine that stores an ordered key space. Shared between threads; every method may be called at any
/// time. Calls block (the front ends of Espalier are asynchronous, the core is not).
///
/// A driver implements all methods but the last one. Prefetching, caches and human-readable data are
/// optional: they are methods of [`DriverExtension`], and callers use them through the methods of the same
/// names on `dyn Driver`.
pub trait Driver: Send + Sync + 'static {
    /// The driver's name, as used in the URL: `memory`, `embedded`, ...
    fn name(&self) -> &'static str;

    /// The optional capabilities of this driver. Constant for a driver value.
    fn capability(&self) -> Capability;

    /// Returns a consistent view of the newest committed state, unaffected by later commits. Called for
    /// every request, so it costs microseconds (at most one round trip on a remote engine). It does not
    /// wait for writers, except for small in-memory changes. An engine with limited history fails reads
    /// from a snapshot that is too old with [`crate::ErrorKind::SnapshotTooOld`]. A driver may limit the
    /// number of open snapshots, and rejects more with [`crate::ErrorKind::Unavailable`].
    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>>;

    /// Applies the batch if all its preconditions hold. Otherwise applies nothing and returns
    /// [`crate::ErrorKind::Conflict`] with the key of the first precondition that does not hold. On return
    /// the change is visible to every later snapshot and as durable as the driver is configured to be.
    /// Calls [`Batch::check_limits`] before anything else. Concurrent commits may share a flush. An error
    /// means that nothing was applied, except [`crate::ErrorKind::OutcomeUnknown`].
    ///
    /// If the driver is certain that the batch is the only change between two versions, it returns the batch
    /// as a [`Step`]. A cache that holds the older version then applies the batch itself and does not need
    /// to receive it from the engine.
    fn commit(&self, batch: Batch) -> Result<Committed>;

    /// Like [`Self::commit`], for changes that are too large to hold in memory: calls `fill` exactly once
    /// (no second time on a retry) with a [`Writer`], and applies everything that it wrote or nothing. If
    /// `fill` returns an error, nothing is applied and the error is returned. Preconditions are tested
    /// before `fill` is called. `fill` may take snapshots (they do not show the write). It must not call
    /// [`Self::commit`] or `write`: these wait for each other.
    ///
    /// The write is applied only to the state that `fill` read through the writer and its views. An engine
    /// that can lock out other writers makes them wait, and such a write never conflicts. Otherwise (behind
    /// a network, without long transactions), if a key or a range that `fill` read has changed at the end,
    /// or a precondition no longer holds, nothing is applied and the write fails with
    /// [`crate::ErrorKind::Conflict`]. The caller then retries, see [`crate::ConflictRetry`]. What `fill`
    /// reads from snapshots that it took itself is protected by the preconditions only.
    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version>;

    /// Watches every commit after `after` that touches `range`, in order, made by any process. A commit
    /// that the driver can no longer report appears as [`WatchEvent::Gap`].
    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>>;

    /// Returns how much is stored. May take time linear in the number of keys.
    fn usage(&self) -> Result<Usage>;

    /// Checks the engine's own structures and returns one finding for each fault. Linear in the data.
    fn check(&self) -> Result<Vec<Finding>>;

    /// Makes all commits so far durable, also with relaxed durability.
    fn flush(&self) -> Result<()>;

    /// Returns the optional methods, if the driver has any. Called for every request.
    fn extension(&self) -> Option<&dyn DriverExtension> {
        None
    }
}

/// The result of a commit.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The version that has the change.
    pub version: Version,
    /// The step to this version, if it is known for certain.
    pub step: Option<Step>,
}

impl Committed {
    /// The result of a batch that is the only change between `version` and the version before it. Without a
    /// step, if the batch may have changed nothing.
    pub fn alone(version: Version, batch: Batch) -> Self {
        let from = version.0.checked_sub(1).map(Version);
        let from = from.filter(|_| batch.always_creates_version());
        let step = from.map(|from| Step { from, batch });
        Self { version, step }
    }
}

/// The difference between two versions.
#[derive(Clone, Debug)]
pub struct Step {
    /// The older version.
    pub from: Version,
    /// All changes since that version.
    pub batch: Batch,
}

/// The callback of [`Driver::write`] that writes the changes.
pub type WriteBody<'a> = &'a mut dyn FnMut(&mut dyn Writer) -> Result<()>;

/// A consistent read view. Dropping it releases its resources.
pub trait Snapshot {
    /// The version of the last commit that is visible.
    fn version(&self) -> Version;

    /// Returns the value of `key`, borrowed from the engine if possible.
    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>>;

    /// Returns the values of `keys`, in their order, as [`Self::get`] does for each. An engine behind a
    /// network reads many of them in one round trip; all values are in memory at once.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Scans the keys of `range` in the given order. Costs one descent, then constant time per key (on a
    /// remote engine: one round trip per page).
    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>>;
}

/// A position in a scan. Returned slices are valid until the next call.
pub trait Cursor {
    /// Returns the next key and value, or `None` after the end of the range (and on every later call).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;

    /// Moves to the first key at or after `key` (at or before, going backward) within the range of
    /// the scan, so that the next call to [`Self::next`] returns it. One descent.
    fn seek(&mut self, key: &[u8]) -> Result<()>;
}

/// Whether a key existed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExisted {
    /// The key was absent; it now holds the value.
    No,
    /// The key existed and was left unchanged.
    Yes,
}

/// Receives the operations of a [`Driver::write`]; they apply in order. Checks each operation against the
/// size limits.
pub trait Writer {
    /// Sets `key` to `value`.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Sets `key` to `value` if it is absent, also counting operations of the same write.
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted>;

    /// Returns the value of `key` including the operations of this write so far.
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>>;

    /// Returns a read view of the state including this write so far, valid until the next operation. Its
    /// version is that of the state before the write. The call itself is free; reads cost the same as those
    /// of [`Driver::snapshot`].
    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>>;

    /// Removes `key`.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Removes every key of `range`.
    fn delete_range(&mut self, range: &KeyRange) -> Result<()>;

    /// Adds `delta` to the counter at `key`.
    fn add(&mut self, key: &[u8], delta: i64) -> Result<()>;
}

/// One changed key or range, as reported by a [`Watch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key now has this value (for an `add`, the sum).
    Put {
        /// The key.
        key: Vec<u8>,
        /// The value.
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

/// An event of a [`Watch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// One version: its changes within the watched range, in the order they were applied. Operations
    /// without effect are omitted; a deleted range is clipped to the watched range.
    Commit {
        /// The commit's version.
        version: Version,
        /// Its changes, never empty.
        changes: Vec<Change>,
    },
    /// Commits up to `version` may have touched the range, but cannot be reported individually (too old,
    /// too large to keep, or made by another process on an engine without notifications). Read the range
    /// again from a snapshot of at least this version.
    Gap {
        /// The last version of the gap.
        version: Version,
    },
}

/// A stream of changes with a bounded buffer: a watcher that is too slow gets a [`WatchEvent::Gap`].
pub trait Watch: Send {
    /// Returns the next event, waiting at most `timeout`; `None` if there was none in that time.
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>>;
}

/// The amount of stored data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of keys.
    pub keys: u64,
    /// Bytes on disk (or in memory), including overhead if the engine reports it.
    pub bytes: u64,
}

/// A fault found by [`Driver::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The faulty key, page or file.
    pub place: String,
    /// The problem, in one sentence.
    pub problem: String,
}
