//! HTTP routes in addition to RESTCONF, with which `espalier --server` can do what `--store` does.
//!
//! - `GET /espalier/schema`: the texts of the modules (a [`SchemaSource`] as JSON).
//! - `POST /espalier/schema`: modules that replace those (a [`SchemaSource`] as JSON) and which the data
//!   must fit. The query has `drop-unknown`, `dry-run` and `fills` (a JSON object with the path and value of each leaf);
//!   the response is the report of the upgrade.
//! - `POST /espalier/edit`: a document whose nodes carry edit operations, applied in one commit. The query
//!   has `datastore`, `default-operation` and `test-option` (RFC 6241 §7.2).
//!
//! Errors have the body of RFC 8040 §7.1.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use espalier_protocols::anchors::RequestAnchor;
use espalier_protocols::http_error::HttpError;
use espalier_protocols::json::json_response;
use espalier_protocols::restconf::{CHANGED_HEADER, VERSION_HEADER, Who};
use espalier_service::operations::upgrade_json;
use espalier_service::{ChangeNote, ModuleUpgrade, SessionDatastore};
use espalier_store::{Commit, Datastore, LeafFill, UnknownData};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;

use super::admin_api::{AdminApi, BodyKind, WriteRequest, WriteRoute};
use crate::commands::edit::EDIT_BYTES_MAX;
use crate::endpoint::{
    EDIT_PATH, EditParameters, SCHEMA_PATH, SOURCE_BYTES_MAX, annotated_tree, named_datastore,
};
use espalier_terminal::Failure;
use espalier_terminal::document::Format;

const CHANGED: HeaderName = HeaderName::from_static(CHANGED_HEADER);

/// The default author of commits.
const AUTHOR: &str = "espalier edit";

/// Adds the routes.
pub fn add(api: AdminApi) -> AdminApi {
    api.read_route(SCHEMA_PATH, "The texts of the modules", schema)
        .write_route(WriteRoute {
            path: SCHEMA_PATH,
            summary: "Modules in place of those that there are, and the data converted to them",
            body: BodyKind::Json,
            bytes_max: SOURCE_BYTES_MAX,
            handler: upgrade,
        })
        .write_route(WriteRoute {
            path: EDIT_PATH,
            summary: "A document whose nodes carry edit operations (RFC 6241 section 7.2), in one commit",
            body: BodyKind::Data,
            bytes_max: EDIT_BYTES_MAX,
            handler: edit,
        })
}

async fn schema(found: RequestAnchor) -> Response {
    match found.current().await {
        Ok(found) => {
            let json = [(CONTENT_TYPE, "application/json")];
            (json, found.anchor().source_json()).into_response()
        }
        Err(error) => error.into_response(),
    }
}

/// The query of an upgrade.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct UpgradeQuery {
    drop_unknown: bool,
    dry_run: bool,
    fills: String,
}

fn upgrade(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let Query(query) = Query::<UpgradeQuery>::try_from_uri(&request.parts.uri)
        .map_err(|error| invalid_query(&error.body_text()))?;
    let source: SchemaSource = request.object()?;
    let identity = Who::of(&request.parts.headers)?;
    let note = ChangeNote {
        author: identity.author.as_deref().unwrap_or("espalier upgrade"),
        comment: &identity.comment,
    };
    let of = found.datastore(&request.parts, &identity.session)?;
    let fills = fills(&query.fills)?;
    let how = ModuleUpgrade {
        unknown: UnknownData::of(query.drop_unknown),
        is_trial: query.dry_run,
        fills: &fills,
        ..ModuleUpgrade::default()
    };
    let report = of.upgrade(&source, how, note)?;
    Ok(json_response(&upgrade_json(&report)))
}

/// The `fills` of a query.
fn fills(text: &str) -> Result<Vec<LeafFill>, HttpError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let fills: BTreeMap<String, String> = serde_json::from_str(text)
        .map_err(|error| invalid_query(&format!("fills is no JSON object of texts: {error}")))?;
    let fills = fills.into_iter();
    Ok(fills
        .map(|(path, value)| LeafFill { path, value })
        .collect())
}

/// The query of an edit.
#[derive(Deserialize)]
struct EditQuery {
    #[serde(default = "running")]
    datastore: String,
    #[serde(flatten)]
    parameters: EditParameters,
}

fn running() -> String {
    Datastore::Running.name().to_owned()
}

fn edit(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let Query(query) = Query::<EditQuery>::try_from_uri(&request.parts.uri)
        .map_err(|error| invalid_query(&error.body_text()))?;
    let format = match request.media == Format::Xml.media_type() {
        true => Format::Xml,
        false => Format::Json,
    };
    let identity = Who::of(&request.parts.headers)?;
    let running = found.datastore(&request.parts, &identity.session)?;
    let of = named_datastore(&running, &query.datastore).map_err(Failure::into_reported)?;
    let commit = apply(&of, &identity, (request.body(), format), query.parameters)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(commit) = commit {
        let headers = response.headers_mut();
        headers.insert(VERSION_HEADER, HeaderValue::from(commit.version));
        let is_changed = commit.is_changed.to_string();
        headers.extend(HeaderValue::try_from(is_changed).map(|value| (CHANGED, value)));
    }
    Ok(response)
}

fn apply(
    of: &SessionDatastore,
    identity: &Who,
    (text, format): (&[u8], Format),
    parameters: EditParameters,
) -> Result<Option<Commit>, HttpError> {
    let document = annotated_tree(of.schema(), text, format).map_err(Failure::into_reported)?;
    let note = ChangeNote {
        author: identity.author.as_deref().unwrap_or(AUTHOR),
        comment: &identity.comment,
    };
    Ok(parameters.apply(of, document, note)?)
}

fn invalid_query(message: &str) -> DataError {
    DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol)
}
