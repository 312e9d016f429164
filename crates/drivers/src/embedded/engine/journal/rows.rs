//! In-memory rows over those of LMDB: the keys that were changed since the last merge. An entry is a value
//! or a deletion mark.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, Direction, KeyRange, Result};

/// The first byte of an entry with a value.
const PUT: u8 = 1;

/// The entry of a deleted key.
pub(in crate::embedded) const DELETED: &[u8] = &[0];

/// The entry of a key with a value.
pub(in crate::embedded) fn put_entry(value: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(1 + value.len());
    entry.push(PUT);
    entry.extend_from_slice(value);
    entry
}

/// The value of an entry; `None` for a deletion.
pub(in crate::embedded) fn entry_value(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [PUT, value @ ..] => Some(value),
        _ => None,
    }
}

/// Whether the bytes are a valid entry.
pub(super) fn is_entry(bytes: &[u8]) -> bool {
    bytes == DELETED || bytes.first() == Some(&PUT)
}

/// A cursor whose keys and values outlive it.
pub(in crate::embedded) trait RowCursor<'a> {
    /// Returns the next key and value, or `None` after the end (and on every later call).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>>;

    /// See [`espalier_keyspace::Cursor::seek`].
    fn seek(&mut self, key: &[u8]) -> Result<()>;
}

/// A key and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// A cursor that merges rows in memory with another cursor.
pub(in crate::embedded) struct OverlayCursor<'a> {
    upper: espalier_keyspace::ByteMapCursor<'a>,
    lower: Box<dyn RowCursor<'a> + 'a>,
    direction: Direction,
    /// The next pair of each of the two, if it was read already.
    next_upper: Lookahead<'a>,
    next_lower: Lookahead<'a>,
}

/// The next pair of a cursor.
#[derive(Clone, Copy)]
enum Lookahead<'a> {
    NotRead,
    Read(Option<Pair<'a>>),
}

impl<'a> OverlayCursor<'a> {
    /// Merges the entries of `rows` in `range` with `lower`, a cursor over the same range; returns `lower`
    /// itself if there are none.
    pub(in crate::embedded) fn overlay(
        rows: &'a ByteMap,
        range: &KeyRange,
        direction: Direction,
        lower: Box<dyn RowCursor<'a> + 'a>,
    ) -> Box<dyn RowCursor<'a> + 'a> {
        if rows.is_empty() || !rows.has_any(range) {
            return lower;
        }
        Box::new(Self {
            upper: rows.scan(range, direction),
            lower,
            direction,
            next_upper: Lookahead::NotRead,
            next_lower: Lookahead::NotRead,
        })
    }

    /// Takes the next pair of either cursor; an entry in memory hides the same key lower.
    fn next_merged(&mut self) -> Result<Option<MergedPair<'a>>> {
        let upper = match self.next_upper {
            Lookahead::Read(pair) => pair,
            Lookahead::NotRead => self.upper.next(),
        };
        let lower = match self.next_lower {
            Lookahead::Read(pair) => pair,
            Lookahead::NotRead => self.lower.next()?,
        };
        (self.next_upper, self.next_lower) = (Lookahead::Read(upper), Lookahead::Read(lower));
        let (Some((key, entry)), Some(pair)) = (upper, lower) else {
            return Ok(match (upper, lower) {
                (Some((key, entry)), _) => {
                    self.next_upper = Lookahead::NotRead;
                    Some(MergedPair::Upper(key, entry))
                }
                (None, Some(pair)) => {
                    self.next_lower = Lookahead::NotRead;
                    Some(MergedPair::Lower(pair))
                }
                (None, None) => None,
            });
        };
        let order = match self.direction {
            Direction::Forward => key.cmp(pair.0),
            Direction::Backward => pair.0.cmp(key),
        };
        if order.is_gt() {
            self.next_lower = Lookahead::NotRead;
            return Ok(Some(MergedPair::Lower(pair)));
        }
        self.next_upper = Lookahead::NotRead;
        if order.is_eq() {
            self.next_lower = Lookahead::NotRead;
        }
        Ok(Some(MergedPair::Upper(key, entry)))
    }
}

/// The next pair and its source.
enum MergedPair<'a> {
    Upper(&'a [u8], &'a [u8]),
    Lower(Pair<'a>),
}

impl<'a> RowCursor<'a> for OverlayCursor<'a> {
    fn next(&mut self) -> Result<Option<Pair<'a>>> {
        loop {
            match self.next_merged()? {
                None => return Ok(None),
                Some(MergedPair::Lower(pair)) => return Ok(Some(pair)),
                Some(MergedPair::Upper(key, entry)) => {
                    if let Some(value) = entry_value(entry) {
                        return Ok(Some((key, value)));
                    }
                }
            }
        }
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.upper.seek(key);
        (self.next_upper, self.next_lower) = (Lookahead::NotRead, Lookahead::NotRead);
        self.lower.seek(key)
    }
}

/// The value of a key from the first of `layers` with an entry for it; calls `lower` if none has one.
pub(in crate::embedded) fn lookup<'a, E>(
    layers: [Option<&'a ByteMap>; 3],
    key: &[u8],
    lower: impl FnOnce() -> std::result::Result<Option<&'a [u8]>, E>,
) -> std::result::Result<Option<Cow<'a, [u8]>>, E> {
    let entry = layers.into_iter().flatten().find_map(|rows| rows.get(key));
    let value = match entry {
        Some(entry) => entry_value(entry),
        None => lower()?,
    };
    Ok(value.map(Cow::Borrowed))
}
