//! The read set of a streamed write: everything that it read from its snapshot.

use std::collections::BTreeMap;

use blake3::{Hash, Hasher};
use espalier_keyspace::{Direction, Error, KeyRange, Result, Snapshot};

use crate::range_set::RangeSet;

/// Maximum number of single keys that become preconditions of the commit. More keys are validated like
/// ranges.
const GUARDS_MAX: usize = 100_000;

/// Maximum bytes of the values of these keys: 64 MiB.
const GUARD_BYTES_MAX: usize = 64 << 20;

/// Keys that are validated in one read.
const KEYS_PER_READ: usize = 1000;

/// The reads of a streamed write.
#[derive(Default)]
pub(super) struct ReadSet {
    /// Single keys that become preconditions, while they are within the limits.
    guards: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    guard_bytes: usize,
    /// All single keys with the hashes of their values, after a limit was exceeded.
    keys: BTreeMap<Vec<u8>, Option<Hash>>,
    /// Ranges without keys.
    empty_ranges: RangeSet,
    scanned_ranges: Vec<ScannedRange>,
}

/// The digest of all pairs in a range.
struct ScannedRange {
    range: KeyRange,
    direction: Direction,
    digest: Hash,
}

impl ReadSet {
    /// Whether a range is known to be empty.
    pub(super) fn is_known_empty(&self, range: &KeyRange) -> bool {
        self.empty_ranges.covers(range)
    }

    /// Whether a key is known to be absent.
    pub(super) fn is_known_empty_at(&self, key: &[u8]) -> bool {
        self.empty_ranges.around(key).is_some()
    }

    /// Records that the write read a key.
    pub(super) fn record_key(&mut self, key: &[u8], value: Option<&[u8]>) {
        if !self.keys.is_empty() {
            self.keys.insert(key.to_vec(), value.map(blake3::hash));
            return;
        }
        self.guard_bytes += value.map_or(0, <[u8]>::len);
        self.guards.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        if self.guards.len() > GUARDS_MAX || self.guard_bytes > GUARD_BYTES_MAX {
            let guards = std::mem::take(&mut self.guards).into_iter();
            self.keys = guards
                .map(|(key, value)| (key, value.as_deref().map(blake3::hash)))
                .collect();
        }
    }

    /// Takes the reads that become preconditions.
    pub(super) fn take_guards(&mut self) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        std::mem::take(&mut self.guards)
    }

    /// Whether there are other reads, which need validation.
    pub(super) fn needs_validation(&self) -> bool {
        !self.keys.is_empty() || !self.scanned_ranges.is_empty() || !self.empty_ranges.is_empty()
    }

    /// Fails with a conflict if a later state differs from what was read.
    pub(super) fn validate(&self, newest: &dyn Snapshot) -> Result<()> {
        for range in self.empty_ranges.iter() {
            if let Some((key, _)) = newest.scan(&range, Direction::Forward)?.next()? {
                return Err(Error::conflict(key));
            }
        }
        for scanned in &self.scanned_ranges {
            scanned.validate(newest)?;
        }
        let keys: Vec<_> = self.keys.iter().collect();
        for part in keys.chunks(KEYS_PER_READ) {
            let names: Vec<&[u8]> = part.iter().map(|(key, _)| key.as_slice()).collect();
            let values = newest.get_many(&names)?;
            for ((key, held), value) in part.iter().zip(values) {
                if value.as_deref().map(blake3::hash) != **held {
                    return Err(Error::conflict(key));
                }
            }
        }
        Ok(())
    }
}

impl ScannedRange {
    fn validate(&self, newest: &dyn Snapshot) -> Result<()> {
        let mut digest = Hasher::new();
        let mut cursor = newest.scan(&self.range, self.direction)?;
        while let Some((key, value)) = cursor.next()? {
            update_digest(&mut digest, key, value);
        }
        match digest.finalize() == self.digest {
            true => Ok(()),
            false => Err(Error::conflict(&self.range.start)),
        }
    }
}

fn update_digest(digest: &mut Hasher, key: &[u8], value: &[u8]) {
    digest.update(&(key.len() as u64).to_le_bytes());
    digest.update(key);
    digest.update(&(value.len() as u64).to_le_bytes());
    digest.update(value);
}

/// Records the pairs returned by a scan since its start or its last seek.
pub(super) struct ScanRecorder {
    /// The range that the scan has left.
    range: KeyRange,
    direction: Direction,
    last: Option<Vec<u8>>,
    digest: Hasher,
}

impl ScanRecorder {
    pub(super) fn new(range: KeyRange, direction: Direction) -> Self {
        Self {
            range,
            direction,
            last: None,
            digest: Hasher::new(),
        }
    }

    /// The range of the scan.
    pub(super) fn rest(&self) -> KeyRange {
        self.range.clone()
    }

    /// Records a pair.
    pub(super) fn record(&mut self, key: &[u8], value: &[u8]) {
        update_digest(&mut self.digest, key, value);
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }

    /// Ends at the end of the range.
    pub(super) fn finish_at_end(self, reads: &mut ReadSet) {
        let range = self.range.clone();
        self.add_to(range, reads);
    }

    /// Ends before a range that the write has deleted, from `start` to `end`.
    pub(super) fn finish_before(self, start: &[u8], end: Option<&[u8]>, reads: &mut ReadSet) {
        let mut range = self.range.clone();
        match (self.direction, end) {
            (Direction::Forward, _) => range.end = Some(start.to_vec()),
            (Direction::Backward, Some(end)) => range.start = range.start.max(end.to_vec()),
            (Direction::Backward, None) => return,
        }
        self.add_to(range, reads);
    }

    /// Ends at the last pair that was returned.
    pub(super) fn finish_at_last(self, reads: &mut ReadSet) {
        let Some(last) = self.last.clone() else {
            return;
        };
        let mut range = self.range.clone();
        match self.direction {
            Direction::Forward => range.end = Some([&last, &[0][..]].concat()),
            Direction::Backward => range.start = last,
        }
        self.add_to(range, reads);
    }

    fn add_to(self, range: KeyRange, reads: &mut ReadSet) {
        if range.is_empty() {
            return;
        }
        match self.last {
            None => reads.empty_ranges.insert(&range),
            Some(_) => reads.scanned_ranges.push(ScannedRange {
                range,
                direction: self.direction,
                digest: self.digest.finalize(),
            }),
        }
    }
}
