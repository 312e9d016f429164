//! Documents: by key, or found by the values of an index.

use std::sync::Arc;

use axum::body::Body;
use espalier_documents::{Collection, EntityTag, JsonDocument, Transaction, merge_patch};
use http::header::{HeaderValue, LINK};
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::conditions::Conditions;
use super::cursor::Cursor;
use super::list_query::ListQuery;
use super::parsed_request::{
    Call, empty, json_response, json_text, percent_encode, set_etag, set_location, value,
};
use super::problem::{Problem, Result};

/// A page of documents.
#[derive(Serialize)]
struct DocumentPage<'a> {
    documents: Vec<ListedDocument<'a>>,
    /// The cursor of the next page.
    next: Option<&'a str>,
}

#[derive(Serialize)]
struct ListedDocument<'a> {
    key: u64,
    document: &'a JsonDocument,
}

// The ETag is a hash of the page, not a count of commits: docs/decisions/0047.
pub(super) fn list(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let limit = call.page()?;
    let list_query = ListQuery::of(call, &collection, limit + 1)?;
    let mut found = list_query.find(&collection)?;
    let is_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| is_more);
    let next = last.map(|last| Cursor::after(call, last.key, last.value.clone()).text());
    let documents = found.iter().map(|found| ListedDocument {
        key: found.key,
        document: &found.document,
    });
    let page = DocumentPage {
        documents: documents.collect(),
        next: next.as_deref(),
    };
    let text =
        serde_json::to_string(&page).map_err(|error| Problem::internal(error.to_string()))?;
    // The tag is a hash of the page: a version may be ahead of a page that is read from a cache, and
    // restarts in a restored store.
    let state = EntityTag::of(text.as_bytes()).to_string();
    let mut page = match Conditions::of(call.headers).is_not_modified(&state)? {
        true => empty(StatusCode::NOT_MODIFIED),
        false => json_text(StatusCode::OK, text),
    };
    set_etag(&mut page, state);
    if let Some(next) = next {
        link(call, &mut page, &next);
    }
    Ok(page)
}

/// Adds a link to the next page (RFC 8288). The offset applies to the first page only.
fn link(call: &Call<'_>, page: &mut Response<Body>, next: &str) {
    let others = call.query.iter();
    let others = others.filter(|(name, _)| name != "cursor" && name != "offset");
    let others =
        others.map(|(name, value)| format!("{}={}&", percent_encode(name), percent_encode(value)));
    let place = format!(
        "</documents/{}/items?{}cursor={next}>; rel=\"next\"",
        percent_encode(call.path_parameter(0)),
        others.collect::<String>()
    );
    if let Ok(place) = HeaderValue::from_str(&place) {
        page.headers_mut().insert(LINK, place);
    }
}

pub(super) fn post(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let document = call.document()?;
    let (key, state) = call.service.documents.transaction(|transaction| {
        let key = transaction.insert(&collection, Arc::clone(&document))?;
        Ok((key, transaction.tag(&collection, key)?))
    })?;
    let mut response = json_response(StatusCode::CREATED, &json!({ "key": key }));
    set_location(
        &mut response,
        &format!(
            "/documents/{}/items/{key}",
            percent_encode(call.path_parameter(0))
        ),
    );
    if let Some(state) = state {
        set_etag(&mut response, state);
    }
    Ok(response)
}

pub(super) fn delete_found(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    // Both are required.
    let index = call.parameter("index").unwrap_or_default();
    let value = value(call.parameter("value").unwrap_or_default())?;
    let deleted = collection.index(index)?.delete(value)?;
    Ok(json_response(
        StatusCode::OK,
        &json!({ "deleted": deleted }),
    ))
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let Some((document, state)) = collection.get_with_tag(key)? else {
        return Err(no_document(call, key));
    };
    let state = state.to_string();
    let conditions = Conditions::of(call.headers);
    let mut found = if conditions.is_not_modified(&state)? {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        json_text(StatusCode::OK, document.to_string())
    };
    set_etag(&mut found, state);
    Ok(found)
}

fn no_document(call: &Call<'_>, key: u64) -> Problem {
    Problem::missing(format!(
        "there is no document {key} in {:?}",
        call.path_parameter(0)
    ))
}

/// Changes a document if the conditions of the request are met.
fn change<R>(
    call: &Call<'_>,
    collection: &Collection<JsonDocument>,
    key: u64,
    mut body: impl FnMut(&mut Transaction<'_>, bool) -> espalier_documents::Result<R>,
) -> Result<R> {
    let conditions = Conditions::of(call.headers);
    let mut refusal = None;
    let result = call.service.documents.transaction(|transaction| {
        let state = transaction
            .tag(collection, key)?
            .map(|state| state.to_string());
        refusal = conditions.check(state.as_deref()).err();
        if refusal.is_some() {
            let message = "a condition of the request is not met";
            let kind = espalier_documents::ErrorKind::Changed;
            return Err(espalier_documents::Error::new(kind, message));
        }
        body(transaction, state.is_some())
    });
    match (refusal, result) {
        (Some(problem), Err(_)) => Err(problem),
        (_, result) => Ok(result?),
    }
}

pub(super) fn put(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let document = call.document()?;
    let (was, state) = change(call, &collection, key, |transaction, was| {
        transaction.put(&collection, key, Arc::clone(&document))?;
        Ok((was, transaction.tag(&collection, key)?))
    })?;
    let mut done = empty(if was {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::CREATED
    });
    if !was {
        set_location(
            &mut done,
            &format!(
                "/documents/{}/items/{key}",
                percent_encode(call.path_parameter(0))
            ),
        );
    }
    if let Some(state) = state {
        set_etag(&mut done, state);
    }
    Ok(done)
}

pub(super) fn patch(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let patch = call.merge_patch()?;
    let (document, state) = change(call, &collection, key, |transaction, _| {
        let document = transaction.update(&collection, key, |held| {
            held.edit(|json| merge_patch(json, &patch));
        })?;
        Ok((document, transaction.tag(&collection, key)?))
    })?;
    let mut changed = json_text(StatusCode::OK, document.to_string());
    if let Some(state) = state {
        set_etag(&mut changed, state);
    }
    Ok(changed)
}

pub(super) fn delete(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let deleted = change(call, &collection, key, |transaction, _| {
        transaction.delete(&collection, key)
    })?;
    match deleted {
        Some(_) => Ok(empty(StatusCode::NO_CONTENT)),
        None => Err(no_document(call, key)),
    }
}
