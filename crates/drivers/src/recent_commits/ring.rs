//! The ring buffer, and waiting for new commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Change, KeyRange, Version, WatchEvent};
use parking_lot::{Condvar, Mutex};

use super::changes::Changes;
use super::recorder::Recorder;

/// Maximum number of commits kept for watchers.
pub(crate) const RECENT_COMMITS_MAX: usize = 4096;

/// Maximum bytes of changes kept for watchers: 16 MiB.
pub(crate) const RECENT_BYTES_MAX: usize = 16 << 20;

/// Maximum wait of a watcher in one call: a day.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The deadline of a call with this timeout.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(WAIT_MAX)
}

/// The recent commits of an engine.
pub(crate) struct RecentCommits {
    ring: Mutex<Ring>,
    pushed: Condvar,
}

struct Ring {
    records: VecDeque<Arc<Record>>,
    bytes: usize,
    /// Commits up to this version are no longer available.
    forgotten: Version,
    newest: Version,
}

struct Record {
    version: Version,
    changes: Option<Changes>,
}

impl Record {
    fn bytes(&self) -> usize {
        self.changes
            .as_ref()
            .map_or(0, |changes| changes.bytes().len())
    }
}

impl RecentCommits {
    /// An empty ring that starts after `newest`.
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

    /// Appends a commit and wakes the watchers. Versions must increase.
    pub(crate) fn push(&self, version: Version, recorder: Recorder) {
        let mut ring = self.ring.lock();
        debug_assert!(version > ring.newest, "versions of commits increase");
        ring.push(version, recorder.into_changes());
        self.pushed.notify_all();
    }

    /// The newest version in the ring.
    pub(crate) fn newest(&self) -> Version {
        self.ring.lock().newest
    }

    /// Appends a commit if it is the next one, and wakes the watchers.
    pub(crate) fn push_next(&self, version: Version, recorder: Recorder) {
        let mut ring = self.ring.lock();
        if version.0 == ring.newest.0 + 1 {
            ring.push(version, recorder.into_changes());
            self.pushed.notify_all();
        }
    }

    /// Appends a gap up to `version`, made by other processes, unless the ring contains it already.
    pub(crate) fn push_foreign(&self, version: Version) {
        let mut ring = self.ring.lock();
        if version > ring.newest {
            ring.push(version, None);
            self.pushed.notify_all();
        }
    }

    /// Appends a commit and wakes the watchers. If it is not the next one, or its changes are unknown, the
    /// ring restarts after it: that commit and those before it can be read elsewhere.
    pub(crate) fn push_or_reset(&self, version: Version, changes: Option<Changes>) {
        let mut ring = self.ring.lock();
        if version.0 == ring.newest.0 + 1 && changes.is_some() {
            ring.push(version, changes);
        } else {
            ring.records.clear();
            ring.bytes = 0;
            (ring.forgotten, ring.newest) = (version, version);
        }
        self.pushed.notify_all();
    }

    /// The newest version that is no longer in the ring.
    pub(crate) fn forgotten(&self) -> Version {
        self.ring.lock().forgotten
    }

    /// Returns the first event in `range` after `after`, and advances `after`; `None` if there is none yet.
    pub(crate) fn event(&self, range: &KeyRange, after: &mut Version) -> Option<WatchEvent> {
        loop {
            let record = match self.ring.lock().first_after(*after)? {
                NextRecord::Forgotten(version) => {
                    *after = version;
                    return Some(WatchEvent::Gap { version });
                }
                NextRecord::Record(record) => record,
            };
            let version = record.version;
            *after = version;
            if let Some(event) = event_of(version, record.changes.as_ref(), range) {
                return Some(event);
            }
        }
    }

    /// Waits until a commit after `after` is pushed, or until `deadline`.
    pub(crate) fn wait(&self, after: Version, deadline: Instant) {
        let mut ring = self.ring.lock();
        if ring.newest <= after {
            self.pushed.wait_until(&mut ring, deadline);
        }
    }
}

enum NextRecord {
    Forgotten(Version),
    Record(Arc<Record>),
}

impl Ring {
    fn push(&mut self, version: Version, changes: Option<Changes>) {
        let record = Record { version, changes };
        self.newest = version;
        self.bytes += record.bytes();
        self.records.push_back(Arc::new(record));
        while self.records.len() > RECENT_COMMITS_MAX || self.bytes > RECENT_BYTES_MAX {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes();
            self.forgotten = oldest.version;
        }
    }

    fn first_after(&self, after: Version) -> Option<NextRecord> {
        if after < self.forgotten {
            return Some(NextRecord::Forgotten(self.forgotten));
        }
        let at = self
            .records
            .partition_point(|record| record.version <= after);
        self.records.get(at).cloned().map(NextRecord::Record)
    }
}

/// The event of a commit for a watched range; `None` if the commit does not touch it. Without `changes`, a
/// gap.
pub(crate) fn event_of(
    version: Version,
    changes: Option<&Changes>,
    range: &KeyRange,
) -> Option<WatchEvent> {
    let Some(changes) = changes else {
        return Some(WatchEvent::Gap { version });
    };
    let changes = changes.iter();
    let changes: Vec<_> = changes
        .filter_map(|change| change.in_range(range))
        .collect();
    (!changes.is_empty()).then_some(WatchEvent::Commit { version, changes })
}

/// The part of a change within a range.
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
    use super::super::recorder::RECORD_BYTES_MAX;
    use super::*;

    fn commit_of(key: &[u8], value_bytes: usize) -> Recorder {
        let mut recorder = Recorder::new();
        recorder.put(key, &vec![0; value_bytes]);
        recorder
    }

    #[test]
    fn evicted_commits_are_a_gap_and_the_rest_is_reported() {
        let recent = RecentCommits::after(Version(7));
        for number in 0..RECENT_COMMITS_MAX as u64 + 5 {
            recent.push(Version(8 + number), commit_of(b"k", 1));
        }
        let (range, mut after) = (KeyRange::all(), Version(7));
        let gap = recent.event(&range, &mut after);
        let version = Version(12);
        assert_eq!(gap, Some(WatchEvent::Gap { version }));
        let mut reported = 0;
        while let Some(event) = recent.event(&range, &mut after) {
            assert!(matches!(event, WatchEvent::Commit { .. }));
            reported += 1;
        }
        assert_eq!(reported, RECENT_COMMITS_MAX);
    }

    #[test]
    fn bytes_are_bounded() {
        let recent = RecentCommits::after(Version(0));
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
    fn commits_outside_the_range_are_skipped() {
        let recent = RecentCommits::after(Version(0));
        recent.push(Version(1), commit_of(b"a", 1));
        recent.push(Version(2), commit_of(b"b", 1));
        let mut after = Version(0);
        assert_eq!(recent.event(&KeyRange::prefix(b"c"), &mut after), None);
        assert_eq!(after, Version(2));
    }
}
