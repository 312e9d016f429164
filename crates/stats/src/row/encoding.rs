//! The encoding of rows: a kind byte, then entries.

use crate::number::{take_number, take_text};
use crate::{Error, Number, Result};

/// A row of values.
pub(super) const LEAF: u8 = 0;

/// A row whose values are in 16 other rows.
pub(super) const SPREAD: u8 = 1;

/// A decoded row.
pub(crate) enum Row<'a> {
    /// A row with values: its entries.
    Leaf(&'a [u8]),
    /// A row whose values are in the rows below it.
    Spread,
}

/// Decodes a stored row.
pub(crate) fn row(stored: &[u8]) -> Result<Row<'_>> {
    match stored.split_first() {
        Some((&LEAF, entries)) => Ok(Row::Leaf(entries)),
        Some((&SPREAD, [])) => Ok(Row::Spread),
        _ => Err(Error::corrupt("a stored row is of an unknown kind")),
    }
}

/// A value in a row.
pub(crate) struct Entry<'a> {
    /// The text form of its path.
    pub(crate) path: &'a [u8],
    /// Its value.
    pub(crate) number: Number,
}

impl<'a> Entry<'a> {
    /// Removes one entry from the front of `bytes`.
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
