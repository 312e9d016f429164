//! What is known to be absent.
//!
//! Where many new keys come, most lookups in what is below find nothing. The two keys that stand
//! around one that is absent tell that all between them are, without another lookup.

use std::borrow::Cow;

use espalier_keyspace::{Direction, KeyRange, Result, Snapshot};

/// The keys around are looked for after this many lookups found nothing: one or two are not worth
/// the scan.
const MISSES: u32 = 4;

/// A range of keys that are absent in one snapshot. It is asked about that snapshot alone.
#[derive(Debug, Default)]
pub(crate) struct Gap {
    range: Option<KeyRange>,
    misses: u32,
}

impl Gap {
    /// The value of a key in the snapshot.
    pub fn get<'s>(&mut self, base: &'s dyn Snapshot, key: &[u8]) -> Result<Option<Cow<'s, [u8]>>> {
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

/// The range between the keys that stand before and after one that is absent.
fn around(base: &dyn Snapshot, key: &[u8]) -> Result<KeyRange> {
    let from = KeyRange {
        start: key.to_vec(),
        end: None,
    };
    let upto = KeyRange::new(Vec::new(), key.to_vec());
    let mut after = base.scan(&from, Direction::Forward)?;
    let mut before = base.scan(&upto, Direction::Backward)?;
    Ok(KeyRange {
        // The first key after another is the same with a zero.
        start: before
            .next()?
            .map_or_else(Vec::new, |(key, _)| [key, &[0]].concat()),
        end: after.next()?.map(|(key, _)| key.to_vec()),
    })
}
