//! In-memory rows over those of LMDB: the keys that were changed since the last merge. An entry is a value
//! or a deletion mark.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, Direction, KeyRange, Result};

/// The first byte of an entry with a value.
const PUT: u8 = 1;

/// The entry of a deleted key.
pub(in crate::embedded) const REMOVED: &[u8] = &[0];

/// The entry of a key with a value.
pub(in crate::embedded) fn put(value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(1 + value.len());
    entry.push(PUT);
    entry.extend_from_slice(value);
    entry
}

/// The value of an entry; `None` for a deletion.
pub(in crate::embedded) fn held(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [PUT, value @ ..] => Some(value),
        _ => None,
    }
}

/// Whether the bytes are a valid entry.
pub(super) fn is_entry(bytes: &[u8]) -> bool {
    bytes == REMOVED || bytes.first() == Some(&PUT)
}

/// A cursor whose keys and values outlive it.
pub(in crate::embedded) trait Run<'a> {
    /// Returns the next key and value, or `None` after the end (and on every later call).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>>;

    /// See [`espalier_keyspace::Cursor::seek`].
    fn seek(&mut self, key: &[u8]) -> Result<()>;
}

/// A key and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// A cursor that merges rows in memory with another cursor.
pub(in crate::embedded) struct Over<'a> {
    above: espalier_keyspace::Pairs<'a>,
    below: Box<dyn Run<'a> + 'a>,
    direction: Direction,
    /// The next pair of each of the two, if it was read already.
    next_above: Ahead<'a>,
    next_below: Ahead<'a>,
}

/// The next pair of a cursor.
#[derive(Clone, Copy)]
enum Ahead<'a> {
    NotAsked,
    Asked(Option<Pair<'a>>),
}

impl<'a> Over<'a> {
    /// Merges the entries of `rows` in `range` with `below`, a cursor over the same range; returns `below`
    /// itself if there are none.
    pub(in crate::embedded) fn lay(
        rows: &'a ByteMap,
        range: &KeyRange,
        direction: Direction,
        below: Box<dyn Run<'a> + 'a>,
    ) -> Box<dyn Run<'a> + 'a> {
        if rows.is_empty() || !rows.has_any(range) {
            return below;
        }
        Box::new(Self {
            above: rows.scan(range, direction),
            below,
            direction,
            next_above: Ahead::NotAsked,
            next_below: Ahead::NotAsked,
        })
    }

    /// Takes the next pair of either cursor; an entry in memory hides the same key below.
    fn step(&mut self) -> Result<Option<Step<'a>>> {
        let above = match self.next_above {
            Ahead::Asked(pair) => pair,
            Ahead::NotAsked => self.above.next(),
        };
        let below = match self.next_below {
            Ahead::Asked(pair) => pair,
            Ahead::NotAsked => self.below.next()?,
        };
        (self.next_above, self.next_below) = (Ahead::Asked(above), Ahead::Asked(below));
        let (Some((key, entry)), Some(pair)) = (above, below) else {
            return Ok(match (above, below) {
                (Some((key, entry)), _) => {
                    self.next_above = Ahead::NotAsked;
                    Some(Step::Above(key, entry))
                }
                (None, Some(pair)) => {
                    self.next_below = Ahead::NotAsked;
                    Some(Step::Below(pair))
                }
                (None, None) => None,
            });
        };
        let order = match self.direction {
            Direction::Forward => key.cmp(pair.0),
            Direction::Backward => pair.0.cmp(key),
        };
        if order.is_gt() {
            self.next_below = Ahead::NotAsked;
            return Ok(Some(Step::Below(pair)));
        }
        self.next_above = Ahead::NotAsked;
        if order.is_eq() {
            self.next_below = Ahead::NotAsked;
        }
        Ok(Some(Step::Above(key, entry)))
    }
}

/// The next pair and its source.
enum Step<'a> {
    Above(&'a [u8], &'a [u8]),
    Below(Pair<'a>),
}

impl<'a> Run<'a> for Over<'a> {
    fn next(&mut self) -> Result<Option<Pair<'a>>> {
        loop {
            match self.step()? {
                None => return Ok(None),
                Some(Step::Below(pair)) => return Ok(Some(pair)),
                Some(Step::Above(key, entry)) => {
                    if let Some(value) = held(entry) {
                        return Ok(Some((key, value)));
                    }
                }
            }
        }
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.above.seek(key);
        (self.next_above, self.next_below) = (Ahead::NotAsked, Ahead::NotAsked);
        self.below.seek(key)
    }
}

/// The value of a key from the first of `layers` with an entry for it; calls `below` if none has one.
pub(in crate::embedded) fn get<'a, E>(
    layers: [Option<&'a ByteMap>; 3],
    key: &[u8],
    below: impl FnOnce() -> std::result::Result<Option<&'a [u8]>, E>,
) -> std::result::Result<Option<Cow<'a, [u8]>>, E> {
    let entry = layers.into_iter().flatten().find_map(|rows| rows.get(key));
    let value = match entry {
        Some(entry) => held(entry),
        None => below()?,
    };
    Ok(value.map(Cow::Borrowed))
}
