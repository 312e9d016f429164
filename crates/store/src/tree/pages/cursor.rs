//! The position of a page in its list, as text that clients return.
//!
//! A cursor names no page but a place in the order of the entries: after or before one of them, which need not exist any
//! more. The server keeps nothing for it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use espalier_yang::{DataError, ErrorTag, ErrorType};

use crate::error::Error;
use crate::fragment::{put_varint, take_varint};

/// The first byte of a cursor.
const FORMAT: u8 = 1;

/// The number of bytes of a hash that distinguishes the cursors of different queries.
const QUERY_BYTES: usize = 8;

/// The side of an entry where a position is, in the direction of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The page begins after the entry.
    After,
    /// The page ends before the entry.
    Before,
}

/// The entry at a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Its place in the order of a leaf; empty in the order of the list.
    pub sort: Vec<u8>,
    /// The part of its key that identifies it in the list.
    pub entry: Vec<u8>,
}

/// A position, and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub side: Side,
    pub at: Position,
    /// The keys of the entry, if its key in the tree has a position in place of them.
    pub keys: Vec<u8>,
    /// The number of entries before the position, and the state of the list that this is the number of.
    pub rank: Option<(u64, ListState)>,
}

/// A state of a list whose number of entries is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListState {
    /// The version of the last change of what contains the list.
    pub version: u64,
    /// The number of entries.
    pub total: u64,
}

/// The hash of a query, equal for all its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueryHash([u8; QUERY_BYTES]);

impl QueryHash {
    /// That of a query with these parts.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut hash = [0; QUERY_BYTES];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..QUERY_BYTES]);
        Self(hash)
    }
}

impl Cursor {
    /// The text for a query.
    pub fn text(&self, query: QueryHash) -> String {
        let mut bytes = vec![FORMAT, u8::from(self.side == Side::Before)];
        bytes.extend_from_slice(&query.0);
        let rank = self.rank.map(|(rank, state)| (rank + 1, state));
        let (rank, state) = rank.unwrap_or_default();
        for number in [rank, state.version, state.total] {
            put_varint(&mut bytes, number);
        }
        for part in [&self.at.sort, &self.keys] {
            put_varint(&mut bytes, part.len() as u64);
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&self.at.entry);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes the cursor of a request for a page of the same query; `None` for any other text.
    pub fn parse(text: &str, query: QueryHash) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (head, mut rest) = bytes.split_at_checked(2 + QUERY_BYTES)?;
        let side = match head[..2] {
            [FORMAT, 0] => Side::After,
            [FORMAT, 1] => Side::Before,
            _ => return None,
        };
        if head[2..] != query.0 {
            return None;
        }
        let rank = take_varint(&mut rest).ok()?;
        let state = ListState {
            version: take_varint(&mut rest).ok()?,
            total: take_varint(&mut rest).ok()?,
        };
        let mut part = || {
            let length = usize::try_from(take_varint(&mut rest).ok()?).ok()?;
            let (part, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(part.to_vec())
        };
        let (sort, keys) = (part()?, part()?);
        let entry = rest.to_vec();
        Some(Self {
            side,
            at: Position { sort, entry },
            keys,
            rank: rank.checked_sub(1).map(|rank| (rank, state)),
        })
    }
}

/// The error of a cursor that is none of the query.
pub(super) fn not_found() -> Error {
    let message = "the cursor is none of this query: repeat the other parameters of the page that returned it";
    let error = DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Application);
    error
        .with_app_tag("ietf-list-pagination:cursor-not-found")
        .on_element("cursor")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        Cursor {
            side: Side::Before,
            at: Position {
                sort: vec![1, 2],
                entry: vec![3, 0, 255],
            },
            keys: vec![7],
            rank: Some((
                0,
                ListState {
                    version: 9,
                    total: 3,
                },
            )),
        }
    }

    #[test]
    fn texts_are_of_one_query() {
        let (one, other) = (QueryHash::of(&[b"a", b"b"]), QueryHash::of(&[b"ab", b""]));
        let text = cursor().text(one);
        assert_eq!(Cursor::parse(&text, one), Some(cursor()));
        assert_eq!(Cursor::parse(&text, other), None);
    }

    #[test]
    fn no_text_is_a_panic() {
        let query = QueryHash::of(&[]);
        let text = cursor().text(query);
        for end in 0..text.len() {
            let cut = Cursor::parse(&text[..end], query);
            assert!(cut.is_none_or(|cut| cut.at.entry.len() < 3), "{end}");
            let mut changed = text.clone().into_bytes();
            changed[end] = b'_';
            let _ = Cursor::parse(std::str::from_utf8(&changed).unwrap(), query);
        }
        assert_eq!(Cursor::parse("ä", query), None);
    }
}
