//! What `serve` offers so that datastores can be committed, validated, locked and copied through it.
//!
//! - `POST /espalier/datastores`: an [`OperationRequest`] as JSON; the answer is an
//!   [`Outcome`](crate::target::Outcome).

use axum::response::Response;
use espalier_store::Tree;

use super::admin_api::{AdminApi, Asked, Refused, Takes, Write, json_answer};
use crate::endpoint::{DATASTORES_PATH, OperationRequest, perform};
use espalier_terminal::Failure;

/// Bytes in a request, at the most.
const ACTING_BYTES_MAX: u64 = 1 << 20;

/// Adds the routes for a tree.
pub fn add(api: AdminApi) -> AdminApi {
    api.writes(Write {
        path: DATASTORES_PATH,
        summary: "Commit, validate, discard, update, lock, unlock or copy datastores",
        takes: Takes::Json,
        bytes_max: ACTING_BYTES_MAX,
        handler: act,
    })
}

fn act(tree: &Tree, asked: &Asked) -> Result<Response, Refused> {
    let acting: OperationRequest = asked.object()?;
    let outcome = perform(tree, &acting).map_err(Failure::into_errors)?;
    Ok(json_answer(&outcome))
}
