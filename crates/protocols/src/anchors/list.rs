//! The lists of dataspaces and anchors, by page, as one user sees them.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, body::Body};
use espalier_service::access::AnchorAccess;
use espalier_store::{AnchorInfo, Error};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::Request;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::anchor_name::anchors_path;
use super::anchor_route::blocking;
use super::limits::{PAGE_DEFAULT, PAGE_MAX};
use super::{AnchorName, ServedAnchors};
use crate::http_error::HttpError;
use crate::json::{Parameters, json_response};
use crate::request_session::caller_of;

/// The routes of the lists.
pub(super) fn routes() -> Router<ServedAnchors> {
    Router::new()
        .route("/dataspaces", get(dataspaces))
        .route("/dataspaces/{dataspace}/anchors", get(anchors))
}

/// The query of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageQuery {
    #[serde(default = "page_default")]
    limit: usize,
    /// The last name of the page before.
    cursor: Option<String>,
}

fn page_default() -> usize {
    PAGE_DEFAULT
}

async fn dataspaces(
    State(served): State<ServedAnchors>,
    Parameters(query): Parameters<PageQuery>,
    request: Request<Body>,
) -> Response {
    let caller = caller_of(request.extensions().get());
    let page = blocking(move || {
        let access = served.access_of(&caller)?;
        let page = page_of(
            &query,
            &NamedRows {
                read: &|from, limit| Ok(served.store().dataspaces_from(from, limit)?),
                name: &|name: &String| name,
                is_seen: &|name| access.sees_dataspace(name),
                next_boundary: &|name| access.next_dataspace_boundary(name),
            },
        )?;
        let mut shown = Vec::new();
        for name in &page.entries {
            if has_seen_anchor(&served, &access, name)? {
                shown.push(json!({"name": name, "anchors": anchors_path(name)}));
            }
        }
        Ok(page_json("dataspaces", shown, page.cursor))
    });
    page.await
        .map_or_else(IntoResponse::into_response, |page| json_response(&page))
}

async fn anchors(
    State(served): State<ServedAnchors>,
    Path(dataspace): Path<String>,
    Parameters(query): Parameters<PageQuery>,
    request: Request<Body>,
) -> Response {
    let caller = caller_of(request.extensions().get());
    let page = blocking(move || {
        let access = served.access_of(&caller)?;
        let page = anchors_page(&served, &access, &dataspace, &query)?;
        let root = served.server().root();
        let entries = page.entries.iter().map(|anchor| {
            let path = AnchorName::new(&*dataspace, &*anchor.name).path();
            json!({
                "name": anchor.name,
                "schema-set": anchor.schema_set,
                "validation": anchor.validation.name(),
                "restconf": format!("{path}{root}"),
            })
        });
        Ok(page_json("anchors", entries.collect(), page.cursor))
    });
    page.await
        .map_or_else(IntoResponse::into_response, |page| json_response(&page))
}

/// Whether a dataspace has an anchor that the user sees. For a user to whom no rules apply, every dataspace is listed, also
/// without anchors.
fn has_seen_anchor(
    served: &ServedAnchors,
    access: &AnchorAccess,
    dataspace: &str,
) -> Result<bool, HttpError> {
    if access.is_unrestricted() {
        return Ok(true);
    }
    let (limit, cursor) = (1, None);
    let page = anchors_from(served, access, dataspace, &PageQuery { limit, cursor })?;
    Ok(!page.entries.is_empty())
}

fn anchors_page(
    served: &ServedAnchors,
    access: &AnchorAccess,
    dataspace: &str,
    query: &PageQuery,
) -> Result<Page<AnchorInfo>, HttpError> {
    if !access.sees_dataspace(dataspace) || !has_seen_anchor(served, access, dataspace)? {
        // The same as for a dataspace that does not exist.
        let (kind, name) = ("dataspace", dataspace.to_owned());
        return Err(Error::Unknown { kind, name }.into());
    }
    anchors_from(served, access, dataspace, query)
}

fn anchors_from(
    served: &ServedAnchors,
    access: &AnchorAccess,
    dataspace: &str,
    query: &PageQuery,
) -> Result<Page<AnchorInfo>, HttpError> {
    page_of(
        query,
        &NamedRows {
            read: &|from, limit| Ok(served.store().anchors_from(dataspace, from, limit)?),
            name: &|anchor: &AnchorInfo| &anchor.name,
            is_seen: &|name| access.sees_anchor(dataspace, name),
            next_boundary: &|name| access.next_anchor_boundary(name),
        },
    )
}

fn page_json(member: &str, entries: Vec<Json>, cursor: Option<String>) -> Json {
    let mut page = json!({ member: entries });
    if let Some(cursor) = cursor {
        page["cursor"] = cursor.into();
    }
    page
}

/// Reads at most so many rows, from a name on.
type ReadRows<'a, T> = &'a dyn Fn(&[u8], usize) -> Result<Vec<T>, HttpError>;

/// Rows in the order of their names, of which a user sees some.
struct NamedRows<'a, T> {
    read: ReadRows<'a, T>,
    name: &'a dyn Fn(&T) -> &str,
    is_seen: &'a dyn Fn(&str) -> bool,
    /// See [`AnchorAccess::next_anchor_boundary`].
    next_boundary: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

struct Page<T> {
    entries: Vec<T>,
    /// The name of the last entry, if more follow.
    cursor: Option<String>,
}

/// The next page of the rows that a user sees. Hidden rows are skipped by ranges, so that the cost depends on the page and
/// the number of rules.
fn page_of<T>(query: &PageQuery, rows: &NamedRows<'_, T>) -> Result<Page<T>, HttpError> {
    if !(1..=PAGE_MAX).contains(&query.limit) {
        let message = format!("limit is a number from 1 to {PAGE_MAX}");
        let error = DataError::new(ErrorTag::InvalidValue, message);
        return Err(error.of_type(ErrorType::Protocol).into());
    }
    let mut from = Some(query.cursor.as_deref().map(just_after).unwrap_or_default());
    let mut entries = Vec::new();
    // One more than the page shows whether a page follows.
    while let Some(start) = from.take()
        && entries.len() <= query.limit
    {
        let wanted = query.limit + 1 - entries.len();
        let read = (rows.read)(&start, wanted)?;
        let is_full = read.len() == wanted;
        let mut next = None;
        for row in read {
            let name = (rows.name)(&row);
            if !(rows.is_seen)(name) {
                from = (rows.next_boundary)(name);
                next = None;
                break;
            }
            next = Some(just_after(name));
            entries.push(row);
        }
        from = from.or(next.filter(|_| is_full));
    }
    let has_more = entries.len() > query.limit;
    entries.truncate(query.limit);
    let last = entries.last().map(|row| (rows.name)(row).to_owned());
    Ok(Page {
        cursor: last.filter(|_| has_more),
        entries,
    })
}

/// The first bytes after a name.
fn just_after(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}
