//! Collections: list, create, change, delete, check and repair.

use axum::body::Body;
use espalier_documents::{FieldIndex, Finding, Info, Policy};
use espalier_service::access::Resource;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::parsed_request::{Call, empty, json_response, percent_encode, set_location};
use super::problem::Result;

/// The definition of a collection in a request; absent members remain unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    policy: Option<String>,
    indexes: Option<Vec<FieldIndex>>,
}

/// The declared indexes of a collection (those over members).
fn declared_indexes(info: &Info) -> Vec<FieldIndex> {
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
    let collections = call
        .service
        .list_infos()?
        .into_iter()
        .filter(|(info, _)| call.access.may_read(Resource::Collection(&info.name)))
        .map(|(info, problem)| {
            let mut body = info.to_json();
            if let Some(problem) = problem {
                body["problem"] = Json::from(problem);
            }
            body
        });
    let collections: Vec<_> = collections.collect();
    Ok(json_response(
        StatusCode::OK,
        &json!({ "collections": collections }),
    ))
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let collection = call.collection()?;
    call.service.stored_info(call.path_parameter(0))?;
    // One read for both: an index that is finished between two reads would be missing from both.
    let (info, unbuilt) = collection.progress()?;
    let mut body = info.to_json();
    for (name, key) in unbuilt {
        let indexes = body["indexes"].as_array_mut();
        let index =
            indexes.and_then(|indexes| indexes.iter_mut().find(|index| index["name"] == name));
        if let Some(index) = index {
            index["built-before"] = json!(key);
        }
    }
    body["documents"] = json!(collection.count()?);
    Ok(json_response(StatusCode::OK, &body))
}

pub(super) fn put(call: &Call<'_>) -> Result<Response<Body>> {
    let name = call.path_parameter(0);
    let definition: Definition = call.object()?;
    let stored = call.service.stored_info(name)?;
    let policy: Policy = match &definition.policy {
        Some(text) => text.parse()?,
        None => stored.as_ref().map(|info| info.policy).unwrap_or_default(),
    };
    let indexes = definition
        .indexes
        .unwrap_or_else(|| stored.as_ref().map(declared_indexes).unwrap_or_default());
    call.service.documents.configure(name, policy, indexes)?;
    call.service.close(name);
    let info = call.service.collection(name)?.info()?;
    let status = match stored {
        Some(_) => StatusCode::OK,
        None => StatusCode::CREATED,
    };
    let mut response = json_response(status, &info.to_json());
    if status == StatusCode::CREATED {
        set_location(
            &mut response,
            &format!("/documents/{}", percent_encode(name)),
        );
    }
    Ok(response)
}

pub(super) fn delete(call: &Call<'_>) -> Result<Response<Body>> {
    call.service.stored_info(call.path_parameter(0))?;
    call.service.documents.remove(call.path_parameter(0))?;
    call.service.close(call.path_parameter(0));
    Ok(empty(StatusCode::NO_CONTENT))
}

pub(super) fn check(call: &Call<'_>) -> Result<Response<Body>> {
    let found = call.collection()?.check()?;
    Ok(json_response(
        StatusCode::OK,
        &json!({ "findings": findings(&found) }),
    ))
}

pub(super) fn repair(call: &Call<'_>) -> Result<Response<Body>> {
    let repaired = call.collection()?.repair()?;
    let body = json!({
        "mended": findings(&repaired.mended),
        "left": findings(&repaired.left),
    });
    Ok(json_response(StatusCode::OK, &body))
}

fn findings(found: &[Finding]) -> Vec<Json> {
    let found = found.iter();
    found
        .map(|finding| json!({"place": finding.place, "problem": finding.problem}))
        .collect()
}
