//! Collections: list, create, change, delete, check and repair.

use axum::body::Body;
use espalier_documents::{FieldIndex, Finding, Info, Policy};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::call::{Call, empty, encoded, json as answer, location};
use super::problem::Result;

/// The definition of a collection in a request; absent members remain unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    policy: Option<String>,
    indexes: Option<Vec<FieldIndex>>,
}

fn shown(info: &Info) -> Json {
    let indexes = info.indexes.iter().map(|index| {
        json!({
            "name": index.name,
            "kind": index.kind,
            "fields": index.fields,
            "is-built": index.is_built,
        })
    });
    json!({
        "name": info.name,
        "policy": info.policy.as_str(),
        "schema-version": info.schema_version,
        "indexes": indexes.collect::<Vec<_>>(),
    })
}

/// The declared indexes of a collection (those over members).
fn declared(info: &Info) -> Vec<FieldIndex> {
    let indexes = info.indexes.iter().filter_map(|index| {
        Some(FieldIndex {
            name: index.name.clone(),
            kind: index.kind,
            fields: index.fields.clone()?,
        })
    });
    indexes.collect()
}

pub(super) fn list(call: &Call<'_>) -> Result<Response<Body>> {
    let collections = call.service.listed()?.into_iter().map(|(info, problem)| {
        let mut shown = shown(&info);
        if let Some(problem) = problem {
            shown["problem"] = Json::from(problem);
        }
        shown
    });
    let collections: Vec<_> = collections.collect();
    Ok(answer(
        StatusCode::OK,
        &json!({ "collections": collections }),
    ))
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    call.service.known(call.part(0))?;
    // One read for both: an index that is finished between two reads would be missing from both.
    let (info, unbuilt) = collection.progress()?;
    let mut shown = shown(&info);
    for (name, key) in unbuilt {
        let indexes = shown["indexes"].as_array_mut();
        let index =
            indexes.and_then(|indexes| indexes.iter_mut().find(|index| index["name"] == name));
        if let Some(index) = index {
            index["built-before"] = json!(key);
        }
    }
    shown["documents"] = json!(collection.count()?);
    Ok(answer(StatusCode::OK, &shown))
}

pub(super) fn put(call: &Call<'_>) -> Result<Response<Body>> {
    let name = call.part(0);
    let wanted: Wanted = call.object()?;
    let stored = call.service.known(name)?;
    let policy: Policy = match &wanted.policy {
        Some(text) => text.parse()?,
        None => stored.as_ref().map(|info| info.policy).unwrap_or_default(),
    };
    let indexes = wanted
        .indexes
        .unwrap_or_else(|| stored.as_ref().map(declared).unwrap_or_default());
    call.service.documents.configure(name, policy, indexes)?;
    call.service.forget(name);
    let info = call.service.collection(name)?.info()?;
    let status = match stored {
        Some(_) => StatusCode::OK,
        None => StatusCode::CREATED,
    };
    let mut made = answer(status, &shown(&info));
    if status == StatusCode::CREATED {
        location(&mut made, &format!("/documents/{}", encoded(name)));
    }
    Ok(made)
}

pub(super) fn delete(call: &Call<'_>) -> Result<Response<Body>> {
    call.service.known(call.part(0))?;
    call.service.documents.remove(call.part(0))?;
    call.service.forget(call.part(0));
    Ok(empty(StatusCode::NO_CONTENT))
}

pub(super) fn check(call: &Call<'_>) -> Result<Response<Body>> {
    let found = call.collection()?.check()?;
    Ok(answer(
        StatusCode::OK,
        &json!({ "findings": findings(&found) }),
    ))
}

pub(super) fn repair(call: &Call<'_>) -> Result<Response<Body>> {
    let repaired = call.collection()?.repair()?;
    let shown = json!({
        "mended": findings(&repaired.mended),
        "left": findings(&repaired.left),
    });
    Ok(answer(StatusCode::OK, &shown))
}

fn findings(found: &[Finding]) -> Vec<Json> {
    let found = found.iter();
    found
        .map(|finding| json!({"place": finding.place, "problem": finding.problem}))
        .collect()
}
