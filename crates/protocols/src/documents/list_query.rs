//! The documents that a list request selects.

use std::ops::Bound;
use std::sync::Arc;

use espalier_documents::{
    Collection, Direction, Found, Index, JsonDocument, Query, Selection, Value,
};
use http::StatusCode;

use super::cursor::{Cursor, CursorValue};
use super::parsed_request::{Call, value};
use super::problem::{Problem, Result};

/// The parameters of a range of values.
const RANGE_PARAMETERS: [&str; 4] = ["from", "after", "to", "before"];

/// The parameters that require an index.
const INDEX_PARAMETERS: [&str; 7] = ["value", "all", "any", "from", "after", "to", "before"];

/// A list request.
pub(super) enum ListQuery {
    /// All documents, by key.
    All(Selection),
    /// Documents found by an index, in value order.
    ByValue(Index<JsonDocument>, Query),
    /// Documents with several tags, in key order.
    ByTags(Index<JsonDocument>, TagMatch, Selection),
}

/// How several tags are combined.
pub(super) enum TagMatch {
    /// Documents with all of these.
    All(Vec<Value>),
    /// Documents with any of these.
    Any(Vec<Value>),
}

impl ListQuery {
    /// Parses a request; at most `limit` documents are returned.
    pub(super) fn of(
        call: &Call<'_>,
        collection: &Collection<JsonDocument>,
        limit: usize,
    ) -> Result<Self> {
        check_parameters(call)?;
        let cursor = Cursor::of(call)?;
        let Some(index) = call.parameter("index") else {
            return Ok(Self::All(selection(call, cursor, limit)?));
        };
        let index = collection.index(index)?;
        let values = |name| call.parameters(name).map(value).collect::<Result<Vec<_>>>();
        if call.parameter("all").is_some() {
            let tags = TagMatch::All(values("all")?);
            return Ok(Self::ByTags(index, tags, selection(call, cursor, limit)?));
        }
        if call.parameter("any").is_some() {
            let tags = TagMatch::Any(values("any")?);
            return Ok(Self::ByTags(index, tags, selection(call, cursor, limit)?));
        }
        let query = query(call, &index, cursor, limit)?;
        Ok(Self::ByValue(index, query))
    }

    /// Runs the query.
    pub(super) fn find(
        self,
        collection: &Collection<JsonDocument>,
    ) -> Result<Vec<Found<JsonDocument>>> {
        let found = match self {
            Self::All(selection) => collection.list(selection)?,
            Self::ByValue(index, query) => return Ok(index.find_with_values(query)?),
            Self::ByTags(index, TagMatch::All(tags), selection) => {
                apply_selection(index.all(tags)?, selection)
            }
            Self::ByTags(index, TagMatch::Any(tags), selection) => {
                apply_selection(index.any(tags)?, selection)
            }
        };
        let found = found.into_iter().map(|(key, document)| Found {
            value: None,
            key,
            document,
        });
        Ok(found.collect())
    }
}

/// Rejects combinations in which a parameter would be ignored.
fn check_parameters(call: &Call<'_>) -> Result<()> {
    call.check_requires("index", &INDEX_PARAMETERS)?;
    call.check_excludes("cursor", &["offset"])?;
    call.check_excludes("all", &["any"])?;
    for name in ["all", "any"] {
        call.check_excludes(name, &["value"])?;
        call.check_excludes(name, &RANGE_PARAMETERS)?;
    }
    call.check_excludes("value", &RANGE_PARAMETERS)?;
    call.check_excludes("from", &["after"])?;
    call.check_excludes("to", &["before"])
}

fn is_descending(call: &Call<'_>) -> Result<bool> {
    match call.parameter("order") {
        None | Some("asc") => Ok(false),
        Some("desc") => Ok(true),
        Some(other) => Err(Problem::request(format!(
            "order={other:?}: must be asc or desc"
        ))),
    }
}

fn offset(call: &Call<'_>) -> Result<usize> {
    Ok(call.parsed("offset")?.unwrap_or(0))
}

fn selection(call: &Call<'_>, cursor: Option<Cursor>, limit: usize) -> Result<Selection> {
    let mut selection = Selection::all().limit(limit).offset(offset(call)?);
    if is_descending(call)? {
        selection = selection.reversed();
    }
    Ok(match cursor {
        Some(cursor) => selection.after(cursor.key),
        None => selection,
    })
}

fn query(
    call: &Call<'_>,
    index: &Index<JsonDocument>,
    cursor: Option<Cursor>,
    limit: usize,
) -> Result<Query> {
    let mut query = values(call)?.limit(limit).offset(offset(call)?);
    if is_descending(call)? {
        query = query.reversed();
    }
    let Some(Cursor { key, value, .. }) = cursor else {
        return Ok(query);
    };
    let value = match value {
        None => return Ok(query),
        Some(CursorValue::Value(value)) => value,
        Some(CursorValue::Mark(mark)) => index.marked(&mark, key)?.ok_or_else(|| {
            let detail = format!(
                "document {key}, at which the previous page ended, was changed, and its value is too long for a cursor: restart at the first page"
            );
            Problem::new(StatusCode::GONE, "changed", detail)
        })?,
    };
    Ok(query.after(value, key))
}

/// The requested value or range of values.
fn values(call: &Call<'_>) -> Result<Query> {
    if let Some(value) = call.value("value")? {
        return Ok(Query::value(value));
    }
    let bound = |included: Option<Value>, excluded: Option<Value>| match (included, excluded) {
        (Some(value), _) => Bound::Included(value),
        (None, Some(value)) => Bound::Excluded(value),
        (None, None) => Bound::Unbounded,
    };
    let from = bound(call.value("from")?, call.value("after")?);
    let to = bound(call.value("to")?, call.value("before")?);
    Ok(Query::between(from, to))
}

/// Applies a selection to documents in key order.
fn apply_selection(
    found: Vec<(u64, Arc<JsonDocument>)>,
    selection: Selection,
) -> Vec<(u64, Arc<JsonDocument>)> {
    let selected = found.into_iter().filter(|(key, _)| {
        *key >= selection.from && selection.before.is_none_or(|before| *key < before)
    });
    let mut selected: Vec<_> = selected.collect();
    if selection.direction == Direction::Backward {
        selected.reverse();
    }
    let selected = selected.into_iter().skip(selection.offset);
    selected.take(selection.limit).collect()
}
