//! A source of rows in key order.

use espalier_keyspace::{Cursor, Direction, KeyRange, Snapshot};

use super::marker::Marker;
use crate::error::Result;
use crate::subspace::Subspace;

/// A row: key and value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// A source of rows.
pub(super) trait Rows {
    /// The next row; `None` at the end.
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>>;
}

/// Whether a row with this key is transferred. Compiled schema sets are not: they are derived, and a foreign
/// file must not provide data that this program trusts as its own.
pub(super) fn is_transferred(key: &[u8]) -> bool {
    key.first() != Some(&(Subspace::Compiled as u8))
}

/// The rows of a snapshot that are [transferred](is_transferred), without the marker of a transfer.
pub(super) struct Scanned<'a> {
    cursor: Box<dyn Cursor + 'a>,
    marker: Vec<u8>,
    current: Row,
}

impl<'a> Scanned<'a> {
    pub(super) fn all(snapshot: &'a dyn Snapshot) -> Result<Self> {
        Self::range(snapshot, &KeyRange::all())
    }

    pub(super) fn range(snapshot: &'a dyn Snapshot, range: &KeyRange) -> Result<Self> {
        Ok(Self {
            cursor: snapshot.scan(range, Direction::Forward)?,
            marker: Marker::key(),
            current: Row::default(),
        })
    }
}

impl Rows for Scanned<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            let Some((key, value)) = self.cursor.next()? else {
                return Ok(None);
            };
            if key == self.marker || !is_transferred(key) {
                continue;
            }
            let (own_key, own_value) = &mut self.current;
            own_key.clear();
            own_key.extend_from_slice(key);
            own_value.clear();
            own_value.extend_from_slice(value);
            return Ok(Some((own_key, own_value)));
        }
    }
}
