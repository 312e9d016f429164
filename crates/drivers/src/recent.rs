//! The newest commits of an engine, kept so that watchers can be told of them.
//!
//! A ring with two limits, commits and bytes. What has fallen out of it, and what was too large to
//! be put in, is told as a gap. Recording moves what the commit already owns, so it costs little
//! even when nobody watches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Change, KeyRange, Version, WatchEvent};
use parking_lot::{Condvar, Mutex};

/// The most commits that are kept for watchers.
pub(crate) const RECENT_COMMITS_MAX: usize = 4096;

/// The most bytes of keys and values that are kept for watchers: 16 MiB.
pub(crate) const RECENT_BYTES_MAX: usize = 16 << 20;

/// The most bytes of keys and values of one commit that is kept: 1 MiB. A larger one is a gap.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// Bytes that a change takes beside its key and value, about.
const CHANGE_OVERHEAD_BYTES: usize = 64;

/// The longest that a watcher waits in one call, whatever it asked for: a day.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// When a call that may wait `timeout` has to return.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(WAIT_MAX)
}

/// The changes of a commit while it is applied.
pub(crate) struct Recorder {
    /// `None` when there were too many to keep.
    changes: Option<Vec<Change>>,
    bytes: usize,
    effect: Effect,
}

/// Whether a commit changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    Changed,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            changes: Some(Vec::new()),
            bytes: 0,
            effect: Effect::Nothing,
        }
    }

    /// One that keeps nothing, and knows whether there were changes.
    #[cfg(feature = "memory")]
    pub(crate) fn counting() -> Self {
        Self {
            changes: None,
            ..Self::new()
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// The changes in order; `None` when there were too many to keep.
    #[cfg(feature = "postgres")]
    pub(crate) fn changes(&self) -> Option<&[Change]> {
        self.changes.as_deref()
    }

    /// Records what another recorder has, after its own.
    #[cfg(feature = "postgres")]
    pub(crate) fn append(&mut self, other: Self) {
        if other.effect == Effect::Changed {
            self.effect = Effect::Changed;
        }
        self.bytes += other.bytes;
        let kept = self.bytes <= RECORD_BYTES_MAX;
        let changes = self.changes.take().zip(other.changes);
        self.changes = changes.filter(|_| kept).map(|(mut all, mut further)| {
            all.append(&mut further);
            all
        });
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.record(key.len() + value.len(), || Change::Put {
            key: key.to_vec(),
            value: value.to_vec(),
        });
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.record(key.len(), || Change::Delete { key: key.to_vec() });
    }

    pub(crate) fn delete_range(&mut self, range: &KeyRange) {
        let bytes = range.start.len() + range.end.as_ref().map_or(0, Vec::len);
        self.record(bytes, || Change::DeleteRange(range.clone()));
    }

    fn record(&mut self, bytes: usize, change: impl FnOnce() -> Change) {
        self.effect = Effect::Changed;
        self.bytes += bytes + CHANGE_OVERHEAD_BYTES;
        if self.bytes > RECORD_BYTES_MAX {
            self.changes = None;
        }
        if let Some(changes) = &mut self.changes {
            changes.push(change());
        }
    }
}

/// The newest commits of an engine.
pub(crate) struct Recent {
    ring: Mutex<Ring>,
    pushed: Condvar,
}

struct Ring {
    records: VecDeque<Arc<Record>>,
    bytes: usize,
    /// No commit up to this one can be told.
    forgotten: Version,
    newest: Version,
}

struct Record {
    version: Version,
    changes: Option<Vec<Change>>,
    bytes: usize,
}

impl Recent {
    /// A ring that begins after `newest`.
    pub(crate) fn after(newest: Version) -> Self {
        Self {
            ring: Mutex::new(Ring {
                records: VecDeque::new(),
                bytes: 0,
                forgotten: newest,
                newest,
            }),
            pushed: Condvar::new(),
        }
    }

    /// Appends a commit and wakes the watchers. Versions only grow.
    #[cfg(any(test, feature = "memory", feature = "embedded", feature = "sqlite"))]
    pub(crate) fn push(&self, version: Version, recorder: Recorder) {
        let mut ring = self.ring.lock();
        debug_assert!(version > ring.newest, "versions of commits grow");
        ring.push(version, recorder.changes, recorder.bytes);
        self.pushed.notify_all();
    }

    /// The newest version that it knows of.
    #[cfg(feature = "postgres")]
    pub(crate) fn newest(&self) -> Version {
        self.ring.lock().newest
    }

    /// Appends a commit if it is the next one, and wakes the watchers.
    #[cfg(feature = "postgres")]
    pub(crate) fn push_next(&self, version: Version, recorder: Recorder) {
        let mut ring = self.ring.lock();
        if version.0 == ring.newest.0 + 1 {
            ring.push(version, recorder.changes, recorder.bytes);
            self.pushed.notify_all();
        }
    }

    /// Says that others made the commits up to `version`, where they are not known already.
    #[cfg(any(feature = "embedded", feature = "sqlite", feature = "postgres"))]
    pub(crate) fn push_foreign(&self, version: Version) {
        let mut ring = self.ring.lock();
        if version > ring.newest {
            ring.push(version, None, 0);
            self.pushed.notify_all();
        }
    }

    /// The first event under `range` after `after`, which moves on; `None` when there is none yet.
    pub(crate) fn event(&self, range: &KeyRange, after: &mut Version) -> Option<WatchEvent> {
        loop {
            let record = match self.ring.lock().first_after(*after)? {
                First::Forgotten(version) => {
                    *after = version;
                    return Some(WatchEvent::Gap { version });
                }
                First::Record(record) => record,
            };
            let version = record.version;
            *after = version;
            let Some(changes) = &record.changes else {
                return Some(WatchEvent::Gap { version });
            };
            let changes: Vec<_> = changes
                .iter()
                .filter_map(|change| clip(change, range))
                .collect();
            if !changes.is_empty() {
                return Some(WatchEvent::Commit { version, changes });
            }
        }
    }

    /// Waits until a commit after `after` is pushed, or `deadline`.
    pub(crate) fn wait(&self, after: Version, deadline: Instant) {
        let mut ring = self.ring.lock();
        if ring.newest <= after {
            self.pushed.wait_until(&mut ring, deadline);
        }
    }
}

enum First {
    Forgotten(Version),
    Record(Arc<Record>),
}

impl Ring {
    fn push(&mut self, version: Version, changes: Option<Vec<Change>>, bytes: usize) {
        let bytes = if changes.is_some() { bytes } else { 0 };
        self.newest = version;
        self.bytes += bytes;
        self.records.push_back(Arc::new(Record {
            version,
            changes,
            bytes,
        }));
        while self.records.len() > RECENT_COMMITS_MAX || self.bytes > RECENT_BYTES_MAX {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
            self.forgotten = oldest.version;
        }
    }

    fn first_after(&self, after: Version) -> Option<First> {
        if after < self.forgotten {
            return Some(First::Forgotten(self.forgotten));
        }
        let at = self
            .records
            .partition_point(|record| record.version <= after);
        self.records.get(at).cloned().map(First::Record)
    }
}

/// The part of a change that lies in a range.
pub(crate) fn clip(change: &Change, range: &KeyRange) -> Option<Change> {
    match change {
        Change::Put { key, .. } | Change::Delete { key } => {
            range.contains(key).then(|| change.clone())
        }
        Change::DeleteRange(deleted) => {
            let both = deleted.intersection(range);
            (!both.is_empty()).then_some(Change::DeleteRange(both))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit_of(key: &[u8], value_bytes: usize) -> Recorder {
        let mut recorder = Recorder::new();
        recorder.put(key, &vec![0; value_bytes]);
        recorder
    }

    #[test]
    fn what_fell_out_is_a_gap_and_the_rest_is_told() {
        let recent = Recent::after(Version(7));
        for number in 0..RECENT_COMMITS_MAX as u64 + 5 {
            recent.push(Version(8 + number), commit_of(b"k", 1));
        }
        let (range, mut after) = (KeyRange::all(), Version(7));
        let gap = recent.event(&range, &mut after);
        let version = Version(12);
        assert_eq!(gap, Some(WatchEvent::Gap { version }));
        let mut told = 0;
        while let Some(event) = recent.event(&range, &mut after) {
            assert!(matches!(event, WatchEvent::Commit { .. }));
            told += 1;
        }
        assert_eq!(told, RECENT_COMMITS_MAX);
    }

    #[test]
    fn bytes_are_bounded() {
        let recent = Recent::after(Version(0));
        for number in 1..100 {
            recent.push(Version(number), commit_of(b"k", RECORD_BYTES_MAX / 2));
        }
        assert!(recent.ring.lock().bytes <= RECENT_BYTES_MAX);
        recent.push(Version(100), commit_of(b"k", RECORD_BYTES_MAX));
        let mut after = Version(99);
        let version = Version(100);
        assert_eq!(
            recent.event(&KeyRange::all(), &mut after),
            Some(WatchEvent::Gap { version })
        );
    }

    #[test]
    fn commits_elsewhere_are_passed_over() {
        let recent = Recent::after(Version(0));
        recent.push(Version(1), commit_of(b"a", 1));
        recent.push(Version(2), commit_of(b"b", 1));
        let mut after = Version(0);
        assert_eq!(recent.event(&KeyRange::prefix(b"c"), &mut after), None);
        assert_eq!(after, Version(2));
    }
}
