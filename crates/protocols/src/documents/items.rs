//! Documents by key, and found by the values of an index.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Body;
use espalier_documents::{Collection, Found, Query, Selection, Transaction, Value, merge_patch};
use http::header::{HeaderValue, LINK};
use http::{Response, StatusCode};
use serde_json::{Value as Json, json};

use super::call::{Call, empty, encoded, json as answer, location, tag, value};
use super::conditions::Conditions;
use super::cursor::Cursor;
use super::problem::{Problem, Result};

/// The parameters that ask for a range.
const RANGE: [&str; 4] = ["from", "after", "to", "before"];

pub(super) fn list(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let state = collection.state()?;
    if Conditions::of(call.headers).is_known(&state) {
        return Ok(empty(StatusCode::NOT_MODIFIED));
    }
    let limit = call.page()?;
    let mut found = match call.parameter("index") {
        Some(index) => by_index(call, &collection, index, limit + 1)?,
        None => by_key(call, &collection, limit + 1)?,
    };
    let is_more = found.len() > limit;
    found.truncate(limit);
    let next = match (found.last(), is_more) {
        (Some(last), true) => {
            let (key, value) = (last.key, last.value.clone());
            Some(Cursor { key, value }.text())
        }
        _ => None,
    };
    let documents = found.iter();
    let documents: Vec<_> = documents
        .map(|found| json!({"key": found.key, "document": *found.document}))
        .collect();
    let mut page = answer(
        StatusCode::OK,
        &json!({"documents": documents, "next": next}),
    );
    tag(&mut page, state);
    if let Some(next) = next {
        link(call, &mut page, &next);
    }
    Ok(page)
}

/// The next page (RFC 8288).
fn link(call: &Call<'_>, page: &mut Response<Body>, next: &str) {
    let others = call.query.iter().filter(|(name, _)| name != "cursor");
    let others = others.map(|(name, value)| format!("{}={}&", encoded(name), encoded(value)));
    let place = format!(
        "</documents/{}/items?{}cursor={next}>; rel=\"next\"",
        encoded(call.part(0)),
        others.collect::<String>()
    );
    if let Ok(place) = HeaderValue::from_str(&place) {
        page.headers_mut().insert(LINK, place);
    }
}

fn is_descending(call: &Call<'_>) -> Result<bool> {
    match call.parameter("order") {
        None | Some("asc") => Ok(false),
        Some("desc") => Ok(true),
        Some(other) => Err(Problem::request(format!(
            "order={other:?}: write asc or desc"
        ))),
    }
}

fn by_key(
    call: &Call<'_>,
    collection: &Collection<Json>,
    limit: usize,
) -> Result<Vec<Found<Json>>> {
    let of_index = ["value", "all", "any"].into_iter().chain(RANGE);
    for name in of_index {
        if call.parameter(name).is_some() {
            return Err(Problem::request(format!("{name} needs index")));
        }
    }
    let mut selection = Selection::all().limit(limit);
    selection = selection.offset(call.parsed("offset")?.unwrap_or(0));
    if is_descending(call)? {
        selection = selection.reversed();
    }
    if let Some(cursor) = call.parameter("cursor") {
        selection = selection.after(Cursor::parse(cursor)?.key);
    }
    let found = collection.list(selection)?.into_iter();
    Ok(found
        .map(|(key, document)| Found {
            value: None,
            key,
            document,
        })
        .collect())
}

/// What an index has.
fn by_index(
    call: &Call<'_>,
    collection: &Collection<Json>,
    index: &str,
    limit: usize,
) -> Result<Vec<Found<Json>>> {
    let index = collection.index(index)?;
    let values = |name| call.parameters(name).map(value).collect::<Result<Vec<_>>>();
    let (all, any) = (values("all")?, values("any")?);
    if !all.is_empty() || !any.is_empty() {
        let found = if all.is_empty() {
            index.any(any)?
        } else {
            index.all(all)?
        };
        let after = call.parameter("cursor").map(Cursor::parse).transpose()?;
        let found = found.into_iter().map(|(key, document)| Found {
            value: None,
            key,
            document,
        });
        let rest = found.filter(|found| after.as_ref().is_none_or(|after| found.key > after.key));
        return Ok(rest.take(limit).collect());
    }
    let mut query = query(call)?
        .limit(limit)
        .offset(call.parsed("offset")?.unwrap_or(0));
    if is_descending(call)? {
        query = query.reversed();
    }
    if let Some(cursor) = call.parameter("cursor") {
        let Cursor { key, value } = Cursor::parse(cursor)?;
        let value = value.ok_or_else(|| Problem::request("the cursor is of another query"))?;
        query = query.after(value, key);
    }
    Ok(index.find_with_values(query)?)
}

fn query(call: &Call<'_>) -> Result<Query> {
    let single = call.value("value")?;
    let is_range = RANGE.iter().any(|name| call.parameter(name).is_some());
    if single.is_some() && is_range {
        return Err(Problem::request(
            "value goes without from, after, to and before",
        ));
    }
    if let Some(value) = single {
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

pub(super) fn post(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let document = Arc::new(call.json()?);
    let (key, state) = call.service.documents.transaction(|transaction| {
        let key = transaction.insert(&collection, Arc::clone(&document))?;
        Ok((key, transaction.tag(&collection, key)?))
    })?;
    let mut made = answer(StatusCode::CREATED, &json!({ "key": key }));
    location(
        &mut made,
        &format!("/documents/{}/items/{key}", encoded(call.part(0))),
    );
    if let Some(state) = state {
        tag(&mut made, state);
    }
    Ok(made)
}

pub(super) fn delete_found(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let (Some(index), Some(value)) = (call.parameter("index"), call.value("value")?) else {
        return Err(Problem::request(
            "say which documents: ?index=NAME&value=VALUE",
        ));
    };
    let deleted = collection.index(index)?.delete(value)?;
    Ok(answer(StatusCode::OK, &json!({ "deleted": deleted })))
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let Some((document, state)) = collection.get_tagged(key)? else {
        return Err(no_document(call, key));
    };
    let state = state.to_string();
    let conditions = Conditions::of(call.headers);
    let mut found = if conditions.is_known(&state) {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        answer(StatusCode::OK, &document)
    };
    tag(&mut found, state);
    Ok(found)
}

fn no_document(call: &Call<'_>, key: u64) -> Problem {
    Problem::missing(format!("there is no document {key} in {:?}", call.part(0)))
}

/// Changes a document where the conditions of the request hold.
fn change<R>(
    call: &Call<'_>,
    collection: &Collection<Json>,
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
            let message = "a condition of the request does not hold";
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
    let document = Arc::new(call.json()?);
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
        location(
            &mut done,
            &format!("/documents/{}/items/{key}", encoded(call.part(0))),
        );
    }
    if let Some(state) = state {
        tag(&mut done, state);
    }
    Ok(done)
}

pub(super) fn patch(call: &Call<'_>) -> Result<Response<Body>> {
    let (collection, key) = (call.collection()?, call.key()?);
    let patch = call.json()?;
    let (document, state) = change(call, &collection, key, |transaction, _| {
        let document = transaction.update(&collection, key, |held| merge_patch(held, &patch))?;
        Ok((document, transaction.tag(&collection, key)?))
    })?;
    let mut changed = answer(StatusCode::OK, &document);
    if let Some(state) = state {
        tag(&mut changed, state);
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
