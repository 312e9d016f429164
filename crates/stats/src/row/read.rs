//! Rows as they are stored: a byte for what they are, then entries.

use crate::number::{take_number, take_text};
use crate::{Error, Number, Result};

/// A row of values.
pub(super) const LEAF: u8 = 0;

/// A row whose values are in 16 others.
pub(super) const SPREAD: u8 = 1;

/// What a row is.
pub(crate) enum Row<'a> {
    /// One with values: its entries.
    Leaf(&'a [u8]),
    /// One whose values are in the rows below.
    Spread,
}

/// What a stored row is.
pub(crate) fn row(stored: &[u8]) -> Result<Row<'_>> {
    match stored.split_first() {
        Some((&LEAF, entries)) => Ok(Row::Leaf(entries)),
        Some((&SPREAD, [])) => Ok(Row::Spread),
        _ => Err(Error::corrupt("a stored row is of no known kind")),
    }
}

/// A value in a row.
pub(crate) struct Entry<'a> {
    /// Its path, as it is written.
    pub(crate) path: &'a [u8],
    /// Its value.
    pub(crate) number: Number,
}

impl<'a> Entry<'a> {
    /// Takes one entry off the front of `bytes`.
    pub(super) fn take(bytes: &mut &'a [u8]) -> Result<Self> {
        Ok(Self {
            path: take_text(bytes)?,
            number: take_number(bytes)?,
        })
    }
}

/// The entries of a row, in order.
pub(crate) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = Result<Entry<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let entry = Entry::take(&mut bytes);
        if entry.is_err() {
            bytes = &[];
        }
        Some(entry)
    })
}
