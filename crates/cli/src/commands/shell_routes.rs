//! What `serve` offers beside RESTCONF so that `espalier --server` can do what `--store` does.
//!
//! - `GET /espalier/schema`: the texts of the modules (a [`SchemaSource`] as JSON).
//! - `POST /espalier/schema`: modules that take the place of those (a [`SchemaSource`] as JSON), which the data
//!   must fit. The query has `drop-unknown` and `dry-run`; the answer is what happened to the data.
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

use super::admin_api::{AdminApi, Asked, Refused, Takes, Write, json_answer};
use crate::commands::edit::EDIT_BYTES_MAX;
use crate::endpoint::{
    EDIT_PATH, EditHow, SCHEMA_PATH, SOURCE_BYTES_MAX, annotated_tree, beside, upgrade_json,
};
use espalier_terminal::document::Format;
use espalier_terminal::{Failure, Result};

/// Who commits are by.
const AUTHOR: &str = "espalier edit";

/// Adds the routes for a tree and the modules it is under.
pub fn add(api: AdminApi, source: &SchemaSource) -> Result<AdminApi> {
    let text: Bytes = serde_json::to_vec(source)
        .map_err(|error| Failure::data(error.to_string()))?
        .into();
    let schema = move || async move { ([(CONTENT_TYPE, "application/json")], text) };
    Ok(api
        .reads(SCHEMA_PATH, "The texts of the modules", schema)
        .writes(Write {
            path: SCHEMA_PATH,
            summary: "Modules in place of those that there are, and the data converted to them",
            takes: Takes::Json,
            bytes_max: SOURCE_BYTES_MAX,
            handler: upgrade,
        })
        .writes(Write {
            path: EDIT_PATH,
            summary: "A document whose nodes carry edit operations (RFC 6241 section 7.2), in one commit",
            takes: Takes::Data,
            bytes_max: EDIT_BYTES_MAX,
            handler: edit,
        }))
}

/// How modules are changed.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct UpgradeHow {
    drop_unknown: bool,
    dry_run: bool,
}

fn upgrade(tree: &Tree, asked: &Asked) -> std::result::Result<Response, Refused> {
    let Query(how) = Query::<UpgradeHow>::try_from_uri(&asked.parts.uri)
        .map_err(|error| DataError::new(ErrorTag::InvalidValue, error.body_text()))?;
    let source: SchemaSource = asked.object()?;
    let who = Who::of(&asked.parts.headers)?;
    let options = UpgradeOptions {
        unknown: UnknownData::of(how.drop_unknown),
        author: who.author.as_deref().unwrap_or("espalier upgrade"),
        comment: &who.comment,
        session: &who.session,
        structure_only_anchor: None,
    };
    let store = tree.store();
    let report = store
        .schema_set_of(tree)
        .and_then(|(dataspace, set)| match how.dry_run {
            true => store.check_upgrade(&dataspace, &set, &source, options, None),
            false => store.upgrade_schema_set(&dataspace, &set, &source, options),
        });
    match report {
        Ok(report) => Ok(json_answer(&upgrade_json(&report))),
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

/// Which datastore is edited.
#[derive(Deserialize)]
struct Which {
    #[serde(default = "running")]
    datastore: String,
    #[serde(flatten)]
    how: EditHow,
}

fn running() -> String {
    Datastore::Running.name().to_owned()
}

fn edit(tree: &Tree, asked: &Asked) -> std::result::Result<Response, Refused> {
    let Query(which) = Query::<Which>::try_from_uri(&asked.parts.uri)
        .map_err(|error| DataError::new(ErrorTag::InvalidValue, error.body_text()))?;
    let format = match asked.media == Format::Xml.media_type() {
        true => Format::Xml,
        false => Format::Json,
    };
    let who = Who::of(&asked.parts.headers)?;
    let tree = beside(tree, &which.datastore, &who.session).map_err(Failure::into_errors)?;
    apply(&tree, &who, (asked.body(), format), which.how)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn apply(
    tree: &Tree,
    who: &Who,
    (text, format): (&[u8], Format),
    how: EditHow,
) -> std::result::Result<(), Errors> {
    let document = annotated_tree(tree.schema(), text, format).map_err(Failure::into_errors)?;
    let options = CommitOptions {
        author: who.author.as_deref().unwrap_or(AUTHOR),
        comment: &who.comment,
        session: &who.session,
        ..CommitOptions::default()
    };
    match how.make(tree, document, options) {
        Ok(_) => Ok(()),
        Err(Error::Data(errors)) => Err(errors),
        Err(error) => {
            tracing::error!(%error, "an edit could not be committed");
            Err(DataError::new(ErrorTag::OperationFailed, error.to_string()).into())
        }
    }
}
