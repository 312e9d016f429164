//! Rows in memory over those of LMDB: what keys hold that were changed since. An entry is a value, or
//! says that the key is removed.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, Direction, KeyRange, Result};

/// What the entry of a key that holds a value begins with.
const PUT: u8 = 1;

/// The entry of a key that is removed.
pub(in crate::embedded) const REMOVED: &[u8] = &[0];

/// The entry of a key that holds `value`.
pub(in crate::embedded) fn put(value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(1 + value.len());
    entry.push(PUT);
    entry.extend_from_slice(value);
    entry
}

/// What an entry says that its key holds.
pub(in crate::embedded) fn held(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [PUT, value @ ..] => Some(value),
        _ => None,
    }
}

/// Whether these bytes are an entry.
pub(super) fn is_entry(bytes: &[u8]) -> bool {
    bytes == REMOVED || bytes.first() == Some(&PUT)
}

/// A walk through keys and values that outlive it.
pub(in crate::embedded) trait Run<'a> {
    /// The next key and value, or `None` past the end (and ever after).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>>;

    /// As [`espalier_keyspace::Cursor::seek`].
    fn seek(&mut self, key: &[u8]) -> Result<()>;
}

/// A key with what it holds.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// Entries laid over a walk.
pub(in crate::embedded) struct Over<'a> {
    above: espalier_keyspace::Pairs<'a>,
    below: Box<dyn Run<'a> + 'a>,
    direction: Direction,
    /// What each of the two comes to next, where it was asked already.
    next_above: Ahead<'a>,
    next_below: Ahead<'a>,
}

/// What a walk comes to next.
#[derive(Clone, Copy)]
enum Ahead<'a> {
    NotAsked,
    Asked(Option<Pair<'a>>),
}

impl<'a> Over<'a> {
    /// The entries of `rows` in `range` over `below`, which is a walk through the same range; `below`
    /// itself where there are none.
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

    /// Takes the next pair of either walk: the one above hides the same key below.
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

/// What comes next, and from where.
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

/// What a key holds by the first of `layers` that has an entry of it; `below` is asked where none has.
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
