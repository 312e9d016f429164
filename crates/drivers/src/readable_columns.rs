//! What engines of tables store beside key and value, so that people can query it: where a person
//! finds a row, and what it says.
//!
//! A row whose `path` is null was written by somebody without a lens, or before the rows that it
//! depends on. The next commit fills it in.

#[cfg(any(feature = "postgres", feature = "mongo"))]
use std::borrow::Cow;
#[cfg(any(feature = "postgres", feature = "mongo"))]
use std::cell::RefCell;
#[cfg(any(feature = "postgres", feature = "mongo"))]
use std::collections::HashMap;

#[cfg(any(feature = "postgres", feature = "mongo"))]
use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Version};
use espalier_keyspace::{Lens, ReadableRow, Snapshot};

/// The columns of a row. One that is nothing to read has an empty path, and nothing else.
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

/// The columns of a row; `None` where the rows that it depends on are not there yet.
pub(crate) fn columns(
    lens: &dyn Lens,
    state: &dyn Snapshot,
    key: &[u8],
    value: &[u8],
) -> Option<Columns> {
    match lens.row(state, key, value) {
        Ok(row) => Some(row.map(Columns::from).unwrap_or_default()),
        Err(error) => {
            tracing::trace!(%error, "a row cannot be shown yet");
            None
        }
    }
}

/// The columns of a row when everything is there that there will be. One that cannot be shown is
/// nothing to read: a commit does not fail for it.
pub(crate) fn final_columns(
    lens: &dyn Lens,
    state: &dyn Snapshot,
    key: &[u8],
    value: &[u8],
) -> Columns {
    columns(lens, state, key, value).unwrap_or_else(|| {
        tracing::warn!(key = %key.escape_ascii(), "a row cannot be shown");
        Columns::default()
    })
}

/// The value of the option `readable` in a URL.
pub(crate) fn parse(value: &str) -> espalier_keyspace::Result<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(crate::url::refusal(format!(
            "readable is {value:?}; it may be true or false"
        ))),
    }
}

/// A state that remembers what it was asked: many rows lie in the same few others.
#[cfg(any(feature = "postgres", feature = "mongo"))]
pub(crate) struct CachingSnapshot<'s> {
    state: &'s dyn Snapshot,
    values: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
}

#[cfg(any(feature = "postgres", feature = "mongo"))]
impl<'s> CachingSnapshot<'s> {
    /// Of a state, some of whose rows are known.
    pub(crate) fn new(state: &'s dyn Snapshot, rows: &[(&[u8], &[u8])]) -> Self {
        let known = rows.iter();
        let known = known.map(|(key, value)| (key.to_vec(), Some(value.to_vec())));
        Self {
            state,
            values: RefCell::new(known.collect()),
        }
    }
}

#[cfg(any(feature = "postgres", feature = "mongo"))]
impl Snapshot for CachingSnapshot<'_> {
    fn version(&self) -> Version {
        self.state.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(known) = self.values.borrow().get(key) {
            return Ok(known.clone().map(Cow::Owned));
        }
        let value = self.state.get(key)?.map(Cow::into_owned);
        self.values.borrow_mut().insert(key.to_vec(), value.clone());
        Ok(value.map(Cow::Owned))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.state.scan(range, direction)
    }
}
