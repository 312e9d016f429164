//! Reads the rows of an index.

use std::ops::{Bound, ControlFlow};

use espalier_keyspace::{Direction, KeyRange};

use crate::definition::Kind;
use crate::layout::{shared_row, split_key, take_key, unique_row};
use crate::row_reader::Reader;
use crate::value::{ordered_prefix, skip};
use crate::{Error, Query, Result, Value};

/// One entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The full encoding of the value; empty if the query is for one exact value.
    pub(crate) full: Vec<u8>,
    /// The key of the document.
    pub(crate) key: u64,
}

/// The key of the document that has a value in a unique index.
pub(crate) fn unique_key(
    reader: &mut dyn Reader,
    index: &[u8],
    value: &Value,
) -> Result<Option<u64>> {
    let stored = reader.get(&unique_row(index, value))?;
    stored.map(|stored| take_key(&stored)).transpose()
}

/// The keys of the documents that have a value in an index that is not unique, in order.
pub(crate) fn shared_keys(
    reader: &mut dyn Reader,
    index: &[u8],
    value: &Value,
) -> Result<Vec<u64>> {
    let start = unique_row(index, value);
    let mut keys = Vec::new();
    let mut is_whole = true;
    reader.scan(
        &KeyRange::prefix(&start),
        Direction::Forward,
        &mut |row, _| {
            let rest = &row[start.len()..];
            if is_document_key(rest) {
                keys.push(take_key(rest)?);
            } else {
                is_whole = false;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    if is_whole {
        return Ok(keys);
    }
    let found = find(reader, index, Kind::Partition, &Query::value(value.clone()))?;
    Ok(found.into_iter().map(|entry| entry.key).collect())
}

/// The entries that match a query.
pub(crate) fn find(
    reader: &mut dyn Reader,
    index: &[u8],
    kind: Kind,
    query: &Query,
) -> Result<Vec<Entry>> {
    let mut found = FoundEntries {
        entries: Vec::new(),
        is_shortened: false,
    };
    if query.is_always_empty {
        return Ok(Vec::new());
    }
    let range = range(index, kind, query);
    reader.scan(&range, query.direction, &mut |row, stored| {
        let (short, stored, key) = parse(&row[index.len()..], stored, kind)?;
        let full = if stored.is_empty() { short } else { stored };
        if found.is_enough(query, full) {
            return Ok(ControlFlow::Break(()));
        }
        if query.matches(full, key) {
            found.is_shortened |= !stored.is_empty();
            let full = full.to_vec();
            found.entries.push(Entry { full, key });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut entries = found.entries;
    if found.is_shortened {
        entries.sort_by(|one, two| (&one.full, one.key).cmp(&(&two.full, two.key)));
        if query.direction == Direction::Backward {
            entries.reverse();
        }
    }
    entries.truncate(query.entries_needed());
    entries.drain(..query.offset.min(entries.len()));
    Ok(entries)
}

struct FoundEntries {
    entries: Vec<Entry>,
    /// Whether there are entries with shortened keys, which may be out of order.
    is_shortened: bool,
}

impl FoundEntries {
    /// Whether there are enough entries, and no later row with the prefix of the last one can sort before it.
    fn is_enough(&self, query: &Query, next: &[u8]) -> bool {
        if self.entries.len() < query.entries_needed() {
            return false;
        }
        let last = self.entries.last();
        let shared = last.and_then(|last| Some(&last.full[..ordered_prefix(&last.full)?]));
        shared.is_none_or(|shared| !next.starts_with(shared))
    }
}

/// The range of rows that can match a query. If a bound is a long string, the rows near it are not in the
/// order of values, and the range is wider.
pub(crate) fn range(index: &[u8], kind: Kind, query: &Query) -> KeyRange {
    let mut range = range_of_bounds(index, query);
    let Some((value, key)) = &query.after else {
        return range;
    };
    if ordered_prefix(value.full()).is_some() {
        return range;
    }
    let mut last = match kind {
        Kind::Unique => unique_row(index, value),
        Kind::Partition | Kind::Tags => shared_row(index, value, *key),
    };
    match query.direction {
        Direction::Forward => range.start = range.start.max(last),
        Direction::Backward => {
            last.push(0);
            range.end = range.end.map(|end| end.min(last));
        }
    }
    range
}

fn range_of_bounds(index: &[u8], query: &Query) -> KeyRange {
    if let Some(value) = query.equal() {
        return KeyRange::prefix(&unique_row(index, value));
    }
    let whole = KeyRange::prefix(index);
    let row = |value: &Value| match ordered_prefix(value.full()) {
        Some(length) => (
            KeyRange::prefix(&[index, &value.full()[..length]].concat()),
            Width::Wide,
        ),
        None => (KeyRange::prefix(&unique_row(index, value)), Width::Exact),
    };
    let start = match &query.from {
        Bound::Unbounded => whole.start,
        Bound::Included(value) => row(value).0.start,
        Bound::Excluded(value) => match row(value) {
            (row, Width::Exact) => row.end.unwrap_or(row.start),
            (row, Width::Wide) => row.start,
        },
    };
    let end = match &query.to {
        Bound::Unbounded => whole.end,
        Bound::Included(value) => row(value).0.end,
        Bound::Excluded(value) => match row(value) {
            (row, Width::Exact) => Some(row.start),
            (row, Width::Wide) => row.end,
        },
    };
    KeyRange { start, end }
}

enum Width {
    Exact,
    Wide,
}

/// Parses a row of an index: the value as encoded in the key, the full value if the row has it, and the key
/// of the document.
pub(crate) fn parse<'a>(
    rest: &'a [u8],
    stored: &'a [u8],
    kind: Kind,
) -> Result<(&'a [u8], &'a [u8], u64)> {
    if kind == Kind::Unique {
        let mut stored = stored;
        let key = split_key(&mut stored)?;
        return Ok((rest, stored, key));
    }
    let mut at = rest;
    while !is_document_key(at) {
        if at.is_empty() {
            return Err(Error::corrupt("a row of an index has no document key"));
        }
        skip(&mut at)?;
    }
    Ok((&rest[..rest.len() - at.len()], stored, take_key(at)?))
}

/// Whether these bytes are a document key only: a number that is a component of a value is never the last
/// element of a row.
fn is_document_key(rest: &[u8]) -> bool {
    const ZERO: u8 = 0x14;
    rest.first().is_some_and(|&tag| {
        (ZERO..=ZERO + 8).contains(&tag) && rest.len() == usize::from(tag - ZERO) + 1
    })
}

/// The first row after all entries of a value.
pub(crate) fn after_value(index: &[u8], short: &[u8]) -> Option<Vec<u8>> {
    KeyRange::prefix(&[index, short].concat()).end
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::tuple;

    use super::*;

    #[test]
    fn a_key_is_distinguished_from_a_number_before_it() {
        for key in [0, 1, 255, 256, u64::from(u32::MAX), i64::MAX as u64] {
            for number in [0_u64, 1, 255, 0x1400, u64::MAX] {
                let value = Value::of(number).expect("a value");
                let mut row = value.short().to_vec();
                tuple::put_unsigned(&mut row, key);
                let (short, _, found) = parse(&row, &[], Kind::Partition).expect("a row");
                assert_eq!((short, found), (value.short(), key));
            }
        }
    }
}
