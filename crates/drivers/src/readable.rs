//! What engines of tables store beside key and value, so that people can query it: where a person
//! finds a row, and what it says.
//!
//! A row whose `path` is null was written by somebody without a lens, or before the rows that it
//! depends on. The next commit fills it in.

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
pub(crate) fn columns_at_last(
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
