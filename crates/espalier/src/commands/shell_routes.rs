//! What `serve` offers beside RESTCONF so that `espalier --server` can do what `--store` does.
//!
//! - `GET /espalier/schema`: the texts of the modules (a [`SchemaSource`] as JSON).
//! - `POST /espalier/edit`: a document whose nodes carry edit operations, applied in one commit. The query
//!   has `datastore`, `default-operation` and `test-option` (RFC 6241 §7.2).
//!
//! Errors have the body of RFC 8040 §7.1.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use espalier_protocols::restconf::Who;
use espalier_store::{CommitOptions, Datastore, Error, Tree};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, Errors};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use serde_json::json;

use crate::commands::edit::EDIT_BYTES_MAX;
use crate::documents::Format;
use crate::error::{Failure, Result};
use crate::target::{EDIT_PATH, EditHow, SCHEMA_PATH, annotated_tree, beside};

/// Who commits are by.
const AUTHOR: &str = "espalier edit";

/// The routes for a tree and the modules it is under.
pub fn router(tree: Tree, source: &SchemaSource) -> Result<Router> {
    let text: Bytes = serde_json::to_vec(source)
        .map_err(|error| Failure::data(error.to_string()))?
        .into();
    let schema = get(move || async move { ([(CONTENT_TYPE, "application/json")], text) });
    let limit = usize::try_from(EDIT_BYTES_MAX).unwrap_or(usize::MAX);
    Ok(Router::new()
        .route(EDIT_PATH, post(edit))
        .layer(DefaultBodyLimit::max(limit))
        .route(SCHEMA_PATH, schema)
        .with_state(tree))
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

async fn edit(
    State(tree): State<Tree>,
    Query(which): Query<Which>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let format = match headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    {
        Some(media) if media.starts_with(Format::Json.media_type()) => Format::Json,
        Some(media) if media.starts_with(Format::Xml.media_type()) => Format::Xml,
        _ => return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response(),
    };
    let job = move || {
        let who = Who::of(&headers).map_err(Errors::from)?;
        let tree = beside(&tree, &which.datastore, &who.session);
        apply(
            &tree.map_err(Failure::into_errors)?,
            &who,
            (&body, format),
            which.how,
        )
    };
    match tokio::task::spawn_blocking(job).await {
        Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
        Ok(Err(failure)) => refusal(&failure),
        Err(error) => {
            tracing::error!(%error, "an edit ended early");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
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

/// Whether the first error is one of the data: a constraint that would be broken, or what running and
/// a candidate changed differently. Such an error has a place in the data, or an application's tag.
fn is_of_data(errors: &Errors) -> bool {
    let first = errors.iter().next();
    first.is_some_and(|error| error.app_tag.is_some() || !error.path.is_empty())
}

/// The answer that tells errors.
pub fn refusal(errors: &Errors) -> Response {
    let items: Vec<_> = errors
        .iter()
        .map(|error| {
            let message = match error.line {
                0 => error.message.clone(),
                line => format!("line {line}: {}", error.message),
            };
            json!({
                "error-type": error.kind.as_str(),
                "error-tag": error.tag.as_str(),
                "error-app-tag": error.app_tag,
                "error-path": error.path,
                "error-message": message,
            })
        })
        .collect();
    let status = match errors.iter().next().map(|error| error.tag) {
        Some(
            ErrorTag::DataExists
            | ErrorTag::DataMissing
            | ErrorTag::InUse
            | ErrorTag::LockDenied
            | ErrorTag::ResourceDenied,
        ) => StatusCode::CONFLICT,
        Some(ErrorTag::OperationFailed) if is_of_data(errors) => StatusCode::PRECONDITION_FAILED,
        Some(ErrorTag::OperationNotSupported) => StatusCode::METHOD_NOT_ALLOWED,
        Some(ErrorTag::OperationFailed) => StatusCode::INTERNAL_SERVER_ERROR,
        Some(ErrorTag::TooBig) => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    };
    let body = json!({"ietf-restconf:errors": {"error": items}}).to_string();
    (status, [(CONTENT_TYPE, Format::Json.media_type())], body).into_response()
}
