//! The human-readable columns that SQL and document engines store next to key and value, so that rows can
//! be queried.
//!
//! A row with a null `path` was written without a lens, or before the rows that it depends on. The next
//! commit fills it in.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Version};
use espalier_keyspace::{Lens, ReadableRow, Snapshot};

/// The columns of a row. A row without a readable form has an empty path and no other columns.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) path: String,
    pub(crate) document: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) leaves: Option<String>,
}

impl From<ReadableRow> for Columns {
    fn from(row: ReadableRow) -> Self {
        Self {
            path: row.path,
            document: Some(row.document),
            node: Some(row.node),
            leaves: Some(row.json),
        }
    }
}

/// The columns of a row; `None` if the rows that it depends on are not stored yet.
pub(crate) fn columns(
    lens: &dyn Lens,
    state: &dyn Snapshot,
    key: &[u8],
    value: &[u8],
) -> Option<Columns> {
    match lens.row(state, key, value) {
        Ok(row) => Some(row.map(Columns::from).unwrap_or_default()),
        Err(error) => {
            tracing::trace!(%error, "a row cannot be converted to readable form yet");
            None
        }
    }
}

/// The columns of a row after all rows of a commit are stored. A row that cannot be converted gets no
/// readable form: the commit does not fail.
pub(crate) fn final_columns(
    lens: &dyn Lens,
    state: &dyn Snapshot,
    key: &[u8],
    value: &[u8],
) -> Columns {
    columns(lens, state, key, value).unwrap_or_else(|| {
        tracing::warn!(key = %key.escape_ascii(), "a row cannot be converted to readable form");
        Columns::default()
    })
}

/// Parses the URL option `readable`.
pub(crate) fn parse(value: &str) -> espalier_keyspace::Result<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(crate::url::refusal(format!(
            "readable is {value:?}; it must be true or false"
        ))),
    }
}

/// A snapshot that caches the values it reads: many rows depend on the same few others.
pub(crate) struct CachingSnapshot<'s> {
    state: &'s dyn Snapshot,
    values: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
}

impl<'s> CachingSnapshot<'s> {
    /// Wraps a snapshot; the cache starts with `rows`.
    pub(crate) fn new(state: &'s dyn Snapshot, rows: &[(&[u8], &[u8])]) -> Self {
        let cached = rows.iter();
        let cached = cached.map(|(key, value)| (key.to_vec(), Some(value.to_vec())));
        Self {
            state,
            values: RefCell::new(cached.collect()),
        }
    }
}

impl Snapshot for CachingSnapshot<'_> {
    fn version(&self) -> Version {
        self.state.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(cached) = self.values.borrow().get(key) {
            return Ok(cached.clone().map(Cow::Owned));
        }
        let value = self.state.get(key)?.map(Cow::into_owned);
        self.values.borrow_mut().insert(key.to_vec(), value.clone());
        Ok(value.map(Cow::Owned))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.state.scan(range, direction)
    }
}
