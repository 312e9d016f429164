//! What is known to be absent.
//!
//! Where many new keys come, most lookups in what is below find nothing. The two keys that stand
//! around one that is absent tell that all between them are, without another lookup.

use std::borrow::Cow;
use std::cell::RefCell;

use espalier_keyspace::{Direction, KeyRange, Result, Snapshot};

/// The keys around are looked for after this many lookups found nothing: one or two are not worth
/// the scan.
const MISSES: u32 = 4;

/// Ranges of keys that are absent in one snapshot, one for each subspace. They are asked about that
/// snapshot alone.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// By the first byte of the keys.
    gaps: RefCell<Vec<(u8, Gap)>>,
}

impl Gaps {
    /// The value of a key in the snapshot.
    pub fn get<'s>(&self, base: &'s dyn Snapshot, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>> {
        let Some(&byte) = key.first() else {
            return base.get(key);
        };
        let mut gaps = self.gaps.borrow_mut();
        let known = gaps.iter().position(|(of, _)| *of == byte);
        let at = known.unwrap_or_else(|| {
            gaps.push((byte, Gap::default()));
            gaps.len() - 1
        });
        gaps[at].1.get(base, key)
    }
}

/// A range of keys that are absent.
#[derive(Debug, Default)]
struct Gap {
    range: Option<KeyRange>,
    misses: u32,
    /// The first of the keys that were looked for since the range was.
    first: Vec<u8>,
}

impl Gap {
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
            if self.misses >= MISSES {
                self.misses = 0;
                self.range = Some(self.around(base, key)?);
            }
        }
        Ok(found)
    }

    /// The range around a key that is absent, from the first that was. Most come in their order, and then
    /// nobody asks what is before that: so this is looked for the second time only.
    fn around(&self, base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
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

/// The range from a key that is absent to the one that stands after it, within its subspace: an engine
/// may bring many rows with the first, and those of other subspaces are large.
fn after(base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
    let mut range = KeyRange {
        start: key.to_vec(),
        ..subspace(key)
    };
    let next = base.scan(&range, Direction::Forward)?.next()?.map(owned);
    range.end = next.or(range.end);
    Ok(range)
}

/// Where the range begins that ends with such a key.
fn before(base: &dyn Snapshot, key: &[u8]) -> Result<Vec<u8>> {
    let KeyRange { start, .. } = subspace(key);
    let upto = KeyRange::new(start.clone(), key.to_vec());
    let last = base.scan(&upto, Direction::Backward)?.next()?.map(owned);
    // The first key after another is the same with a zero.
    Ok(last.map_or(start, |last| [&last[..], &[0]].concat()))
}

fn owned((key, _): (&[u8], &[u8])) -> Vec<u8> {
    key.to_vec()
}

fn subspace(key: &[u8]) -> KeyRange {
    KeyRange::prefix(&key[..key.len().min(1)])
}
