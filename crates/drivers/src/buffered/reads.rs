//! What a write was told of the snapshot that it is over.

use std::collections::BTreeMap;

use blake3::{Hash, Hasher};
use espalier_keyspace::{Direction, Error, KeyRange, Result, Snapshot};

use crate::range_set::RangeSet;

/// Single keys that one write may have been told of and that are preconditions of its commit. With
/// more, they are looked at again, as ranges are.
const GUARDS_MAX: usize = 100_000;

/// Bytes of the values of these keys: 64 MiB.
const GUARD_BYTES_MAX: usize = 64 << 20;

/// Keys that are looked at again in one question.
const KEYS_AT_ONCE: usize = 1000;

/// What a write was told.
#[derive(Default)]
pub(super) struct Reads {
    /// Single keys, while they are not too many.
    guards: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    guard_bytes: usize,
    /// All single keys, once they are.
    keys: BTreeMap<Vec<u8>, Option<Hash>>,
    /// Where nothing was found.
    bare: RangeSet,
    stretches: Vec<Stretch>,
}

/// All that the snapshot holds in a range.
struct Stretch {
    range: KeyRange,
    direction: Direction,
    digest: Hash,
}

impl Reads {
    /// What is known of a range without reading: that it is empty.
    pub(super) fn is_bare(&self, range: &KeyRange) -> bool {
        self.bare.covers(range)
    }

    /// The same of a key.
    pub(super) fn is_bare_at(&self, key: &[u8]) -> bool {
        self.bare.around(key).is_some()
    }

    /// The write was told what a key holds.
    pub(super) fn key(&mut self, key: &[u8], value: Option<&[u8]>) {
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

    /// What is to be tested by preconditions.
    pub(super) fn take_guards(&mut self) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        std::mem::take(&mut self.guards)
    }

    /// Whether there is more than that.
    pub(super) fn need_looking(&self) -> bool {
        !self.keys.is_empty() || !self.stretches.is_empty() || !self.bare.is_empty()
    }

    /// Fails with a conflict where a later state tells anything else.
    pub(super) fn look_again(&self, newest: &dyn Snapshot) -> Result<()> {
        for range in self.bare.iter() {
            if let Some((key, _)) = newest.scan(&range, Direction::Forward)?.next()? {
                return Err(Error::conflict(key));
            }
        }
        for stretch in &self.stretches {
            stretch.look_again(newest)?;
        }
        let keys: Vec<_> = self.keys.iter().collect();
        for part in keys.chunks(KEYS_AT_ONCE) {
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

impl Stretch {
    fn look_again(&self, newest: &dyn Snapshot) -> Result<()> {
        let mut digest = Hasher::new();
        let mut cursor = newest.scan(&self.range, self.direction)?;
        while let Some((key, value)) = cursor.next()? {
            take_in(&mut digest, key, value);
        }
        match digest.finalize() == self.digest {
            true => Ok(()),
            false => Err(Error::conflict(&self.range.start)),
        }
    }
}

fn take_in(digest: &mut Hasher, key: &[u8], value: &[u8]) {
    digest.update(&(key.len() as u64).to_le_bytes());
    digest.update(key);
    digest.update(&(value.len() as u64).to_le_bytes());
    digest.update(value);
}

/// What a scan of the snapshot has shown since it began, or since it was last moved.
pub(super) struct Run {
    /// What lies before the scan.
    range: KeyRange,
    direction: Direction,
    last: Option<Vec<u8>>,
    digest: Hasher,
}

impl Run {
    pub(super) fn new(range: KeyRange, direction: Direction) -> Self {
        Self {
            range,
            direction,
            last: None,
            digest: Hasher::new(),
        }
    }

    /// What it was to show.
    pub(super) fn rest(&self) -> KeyRange {
        self.range.clone()
    }

    /// It has shown a pair.
    pub(super) fn pair(&mut self, key: &[u8], value: &[u8]) {
        take_in(&mut self.digest, key, value);
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }

    /// It has come to the end of a range.
    pub(super) fn ended(self, reads: &mut Reads) {
        let range = self.range.clone();
        self.covered(range, reads);
    }

    /// It has come to keys that are of no matter: those from `start` to `end`.
    pub(super) fn came_to(self, start: &[u8], end: Option<&[u8]>, reads: &mut Reads) {
        let mut range = self.range.clone();
        match (self.direction, end) {
            (Direction::Forward, _) => range.end = Some(start.to_vec()),
            (Direction::Backward, Some(end)) => range.start = range.start.max(end.to_vec()),
            (Direction::Backward, None) => return,
        }
        self.covered(range, reads);
    }

    /// It was left where it is.
    pub(super) fn left(self, reads: &mut Reads) {
        let Some(last) = self.last.clone() else {
            return;
        };
        let mut range = self.range.clone();
        match self.direction {
            Direction::Forward => range.end = Some([&last, &[0][..]].concat()),
            Direction::Backward => range.start = last,
        }
        self.covered(range, reads);
    }

    fn covered(self, range: KeyRange, reads: &mut Reads) {
        if range.is_empty() {
            return;
        }
        match self.last {
            None => reads.bare.insert(&range),
            Some(_) => reads.stretches.push(Stretch {
                range,
                direction: self.direction,
                digest: self.digest.finalize(),
            }),
        }
    }
}
