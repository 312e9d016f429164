//! Indexes: list their values, and upsert documents by a unique value.

use std::sync::Arc;

use axum::body::Body;
use http::{Response, StatusCode};
use serde_json::json;

use super::cursor::{Cursor, CursorValue};
use super::parsed_request::{Call, json_response, percent_encode, set_etag, set_location};
use super::problem::Result;

pub(super) fn values(call: &Call<'_>) -> Result<Response<Body>> {
    let index = call.collection()?.index(call.path_parameter(1))?;
    let limit = call.page()?;
    let after = Cursor::of(call)?.and_then(|cursor| cursor.value);
    let mut listed = index.values_after(after.as_ref().map(CursorValue::mark), limit + 1)?;
    let is_more = listed.len() > limit;
    listed.truncate(limit);
    let last = listed.last().filter(|_| is_more);
    let next = last.map(|last| Cursor::after(call, 0, Some(last.value.clone())).text());
    let values = listed.iter();
    let values: Vec<_> = values
        .map(|listed| json!({"value": listed.value.to_json(), "documents": listed.count}))
        .collect();
    Ok(json_response(
        StatusCode::OK,
        &json!({"values": values, "next": next}),
    ))
}

pub(super) fn upsert(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    let document = call.document()?;
    let (key, state) = call.service.documents.transaction(|transaction| {
        let key = transaction.upsert(&collection, call.path_parameter(1), Arc::clone(&document))?;
        Ok((key, transaction.tag(&collection, key)?))
    })?;
    let mut done = json_response(StatusCode::OK, &json!({ "key": key }));
    set_location(
        &mut done,
        &format!(
            "/documents/{}/items/{key}",
            percent_encode(call.path_parameter(0))
        ),
    );
    if let Some(state) = state {
        set_etag(&mut done, state);
    }
    Ok(done)
}
