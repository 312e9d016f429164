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
}

impl Gap {
    fn get<'s>(&mut self, base: &'s dyn Snapshot, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>> {
        if self.range.as_ref().is_some_and(|range| range.contains(key)) {
            return Ok(None);
        }
        let found = base.get(key)?;
        if found.is_none() {
            self.misses += 1;
            if self.misses >= MISSES {
                self.misses = 0;
                self.range = Some(around(base, key)?);
            }
        }
        Ok(found)
    }
}

/// The range between the keys that stand before and after one that is absent, within its subspace:
/// an engine may bring many rows with the first, and those of other subspaces are large.
fn around(base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
    let KeyRange { start, end } = KeyRange::prefix(&key[..key.len().min(1)]);
    let from = KeyRange {
        start: key.to_vec(),
        end: end.clone(),
    };
    let upto = KeyRange::new(start.clone(), key.to_vec());
    let mut after = base.scan(&from, Direction::Forward)?;
    let mut before = base.scan(&upto, Direction::Backward)?;
    Ok(KeyRange {
        // The first key after another is the same with a zero.
        start: before
            .next()?
            .map_or(start, |(key, _)| [key, &[0]].concat()),
        end: after.next()?.map(|(key, _)| key.to_vec()).or(end),
    })
}
