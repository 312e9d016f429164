//! The common interface for reading rows, from a snapshot or from a transaction.

use std::borrow::Cow;
use std::ops::ControlFlow;

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use crate::Result;
use crate::layout::Keys;

/// Called for each row of a scan.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>;

/// A source of rows.
pub(crate) trait Reader {
    /// The value of a row.
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>>;

    /// Visits the rows of a range until the visitor returns `Break`.
    fn scan(&mut self, range: &KeyRange, direction: Direction, visit: Visit<'_>) -> Result<()>;
}

/// The rows of documents, in the order of their keys; `None` for documents that do not exist.
pub(crate) fn read_rows<'a>(
    snapshot: &'a dyn Snapshot,
    keys: &Keys,
    documents: &[u64],
) -> Result<Vec<Option<Cow<'a, [u8]>>>> {
    let rows: Vec<_> = documents.iter().map(|key| keys.document(*key)).collect();
    let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
    Ok(snapshot.get_many(&rows)?)
}

/// The rows of a snapshot.
pub(crate) struct View<'a>(pub(crate) &'a dyn Snapshot);

impl Reader for View<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.0.get(key)?)
    }

    fn scan(&mut self, range: &KeyRange, direction: Direction, visit: Visit<'_>) -> Result<()> {
        let mut cursor = self.0.scan(range, direction)?;
        while let Some((key, value)) = cursor.next()? {
            if visit(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
