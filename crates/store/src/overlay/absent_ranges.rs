//! A cache of absent key ranges.
//!
//! While many new keys are inserted, most lookups in the base find nothing. The two neighbours of an absent
//! key prove that all keys between them are absent, which saves further lookups.

use std::borrow::Cow;
use std::cell::RefCell;

use espalier_keyspace::{Direction, KeyRange, Result, Snapshot};

// Bulk edits mostly look up keys that are absent: docs/decisions/0012.
/// The neighbours are looked up after this many lookups found nothing: for one or two the scan is not worth
/// it.
const MISSES_BEFORE_SCAN: u32 = 4;

/// Ranges of keys that are absent in one snapshot, one for each subspace. They must be used with that
/// snapshot only.
#[derive(Debug, Default)]
pub(crate) struct AbsentRanges {
    /// One gap for each first byte of the keys.
    gaps: RefCell<Vec<(u8, AbsentRange)>>,
}

impl AbsentRanges {
    /// The value of a key in the snapshot.
    pub fn get<'s>(&self, base: &'s dyn Snapshot, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>> {
        let Some(&byte) = key.first() else {
            return base.get(key);
        };
        let mut gaps = self.gaps.borrow_mut();
        let index = gaps.iter().position(|(of, _)| *of == byte);
        let at = index.unwrap_or_else(|| {
            gaps.push((byte, AbsentRange::default()));
            gaps.len() - 1
        });
        gaps[at].1.get(base, key)
    }
}

/// A range of keys that are absent.
#[derive(Debug, Default)]
struct AbsentRange {
    range: Option<KeyRange>,
    misses: u32,
    /// The first key that was looked up since the range was found.
    first: Vec<u8>,
}

impl AbsentRange {
    fn get<'s>(&mut self, base: &'s dyn Snapshot, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>> {
        if self.range.as_ref().is_some_and(|range| range.contains(key)) {
            return Ok(None);
        }
        let found = base.get(key)?;
        if found.is_none() {
            if self.misses == 0 {
                self.first = key.to_vec();
            }
            self.misses += 1;
            if self.misses >= MISSES_BEFORE_SCAN {
                self.misses = 0;
                self.range = Some(self.find_range(base, key)?);
            }
        }
        Ok(found)
    }

    /// The absent range around a key, starting at the first absent key that was looked up. Most lookups are
    /// in ascending order, so the range before that key is looked up only the second time.
    fn find_range(&self, base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
        let first = self.first.as_slice().min(key);
        let mut range = after(base, first)?;
        if !range.is_before_end(key) {
            range = after(base, key)?;
        }
        if self.range.is_some() {
            range.start = before(base, key)?;
        }
        Ok(range)
    }
}

/// The range from an absent key to its successor within the same subspace: an engine may fetch many rows with
/// the first one, and those of other subspaces are large.
fn after(base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
    let mut range = KeyRange {
        start: key.to_vec(),
        ..subspace(key)
    };
    let next = base.scan(&range, Direction::Forward)?.next()?.map(owned);
    range.end = next.or(range.end);
    Ok(range)
}

/// The start of the absent range that ends at such a key.
fn before(base: &dyn Snapshot, key: &[u8]) -> Result<Vec<u8>> {
    let KeyRange { start, .. } = subspace(key);
    let upto = KeyRange::new(start.clone(), key.to_vec());
    let last = base.scan(&upto, Direction::Backward)?.next()?.map(owned);
    // The immediate successor of a key is the key with a zero byte appended.
    Ok(last.map_or(start, |last| [&last[..], &[0]].concat()))
}

fn owned((key, _): (&[u8], &[u8])) -> Vec<u8> {
    key.to_vec()
}

fn subspace(key: &[u8]) -> KeyRange {
    KeyRange::prefix(&key[..key.len().min(1)])
}
