//! HTTP routes in addition to RESTCONF, with which `espalier --server` can do what `--store` does.
//!
//! - `GET /espalier/schema`: the texts of the modules (a [`SchemaSource`] as JSON).
//! - `POST /espalier/schema`: modules that replace those (a [`SchemaSource`] as JSON) and which the data
//!   must fit. The query has `drop-unknown` and `dry-run`; the response is the report of the upgrade.
//! - `POST /espalier/edit`: a document whose nodes carry edit operations, applied in one commit. The query
//!   has `datastore`, `default-operation` and `test-option` (RFC 6241 §7.2).
//!
//! Errors have the body of RFC 8040 §7.1.

use axum::body::Bytes;
use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use espalier_protocols::restconf::Who;
use espalier_store::{CommitOptions, Datastore, Error, Tree, UnknownData, UpgradeOptions};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, Errors};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;

use super::admin_api::{AdminApi, BodyKind, WriteRequest, WriteRoute, json_response};
use crate::commands::edit::EDIT_BYTES_MAX;
use crate::endpoint::{
    EDIT_PATH, EditParameters, SCHEMA_PATH, SOURCE_BYTES_MAX, annotated_tree, tree_of_datastore,
    upgrade_json,
};
use espalier_terminal::document::Format;
use espalier_terminal::{Failure, Result};

/// The default author of commits.
const AUTHOR: &str = "espalier edit";

/// Adds the routes; `source` has the modules of the tree.
pub fn add(api: AdminApi, source: &SchemaSource) -> Result<AdminApi> {
    let text: Bytes = serde_json::to_vec(source)
        .map_err(|error| Failure::data(error.to_string()))?
        .into();
    let schema = move || async move { ([(CONTENT_TYPE, "application/json")], text) };
    Ok(api
        .read_route(SCHEMA_PATH, "The texts of the modules", schema)
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
        }))
}

/// The query of an upgrade.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct UpgradeQuery {
    drop_unknown: bool,
    dry_run: bool,
}

fn upgrade(tree: &Tree, request: &WriteRequest) -> std::result::Result<Response, Errors> {
    let Query(query) = Query::<UpgradeQuery>::try_from_uri(&request.parts.uri)
        .map_err(|error| DataError::new(ErrorTag::InvalidValue, error.body_text()))?;
    let source: SchemaSource = request.object()?;
    let identity = Who::of(&request.parts.headers)?;
    let options = UpgradeOptions {
        unknown: UnknownData::of(query.drop_unknown),
        author: identity.author.as_deref().unwrap_or("espalier upgrade"),
        comment: &identity.comment,
        session: &identity.session,
        structure_only_anchor: None,
    };
    let store = tree.store();
    let report = store
        .schema_set_of(tree)
        .and_then(|(dataspace, set)| match query.dry_run {
            true => store.check_upgrade(&dataspace, &set, &source, options, None),
            false => store.upgrade_schema_set(&dataspace, &set, &source, options),
        });
    match report {
        Ok(report) => Ok(json_response(&upgrade_json(&report))),
        Err(Error::Upgrade { errors, .. } | Error::Data(errors)) => Err(errors),
        Err(error @ (Error::Schema(_) | Error::Unknown { .. })) => {
            Err(DataError::new(ErrorTag::InvalidValue, error.to_string()).into())
        }
        Err(error) => {
            tracing::error!(%error, "the modules could not be changed");
            Err(DataError::new(ErrorTag::OperationFailed, error.to_string()).into())
        }
    }
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

fn edit(tree: &Tree, request: &WriteRequest) -> std::result::Result<Response, Errors> {
    let Query(query) = Query::<EditQuery>::try_from_uri(&request.parts.uri)
        .map_err(|error| DataError::new(ErrorTag::InvalidValue, error.body_text()))?;
    let format = match request.media == Format::Xml.media_type() {
        true => Format::Xml,
        false => Format::Json,
    };
    let identity = Who::of(&request.parts.headers)?;
    let tree = tree_of_datastore(tree, &query.datastore, &identity.session)
        .map_err(Failure::into_errors)?;
    apply(&tree, &identity, (request.body(), format), query.parameters)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn apply(
    tree: &Tree,
    identity: &Who,
    (text, format): (&[u8], Format),
    parameters: EditParameters,
) -> std::result::Result<(), Errors> {
    let document = annotated_tree(tree.schema(), text, format).map_err(Failure::into_errors)?;
    let options = CommitOptions {
        author: identity.author.as_deref().unwrap_or(AUTHOR),
        comment: &identity.comment,
        session: &identity.session,
        ..CommitOptions::default()
    };
    match parameters.apply(tree, document, options) {
        Ok(_) => Ok(()),
        Err(Error::Data(errors)) => Err(errors),
        Err(error) => {
            tracing::error!(%error, "an edit could not be committed");
            Err(DataError::new(ErrorTag::OperationFailed, error.to_string()).into())
        }
    }
}
