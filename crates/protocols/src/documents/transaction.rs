//! Transactions: several changes, in one or more collections, in one atomic commit.

use axum::body::Body;
use espalier_documents::{Collection, Error, ErrorKind, JsonDocument, merge_patch};
use espalier_service::access::Resource;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::conditions::EntityTags;
use super::limits::OPERATIONS_MAX;
use super::parsed_request::{Call, json_response, read};
use super::problem::{Problem, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionRequest {
    operations: Vec<Box<RawValue>>,
}

/// One change.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Operation {
    Insert {
        collection: String,
        document: Json,
    },
    Put {
        collection: String,
        key: u64,
        document: Json,
        #[serde(default, rename = "if-match")]
        if_match: Option<String>,
    },
    Patch {
        collection: String,
        key: u64,
        patch: Json,
        #[serde(default, rename = "if-match")]
        if_match: Option<String>,
    },
    Delete {
        collection: String,
        key: u64,
        #[serde(default, rename = "if-match")]
        if_match: Option<String>,
    },
}

impl Operation {
    fn collection(&self) -> &str {
        match self {
            Self::Insert { collection, .. }
            | Self::Put { collection, .. }
            | Self::Patch { collection, .. }
            | Self::Delete { collection, .. } => collection,
        }
    }
}

pub(super) fn transaction(call: &Call<'_>) -> Result<Response<Body>> {
    let request: TransactionRequest = call.object()?;
    let count = request.operations.len();
    if count > OPERATIONS_MAX {
        let detail = format!("{count} operations exceed the limit of {OPERATIONS_MAX}");
        return Err(Problem::request(detail));
    }
    let mut operations: Vec<(Operation, Collection<JsonDocument>)> = Vec::with_capacity(count);
    for (at, text) in request.operations.iter().enumerate() {
        let within = |problem: Problem| problem.within(operation_location(at));
        let operation: Operation = read(text.get().as_bytes()).map_err(within)?;
        let name = operation.collection();
        let permitted = call.require_change(Resource::Collection(name));
        permitted.map_err(within)?;
        let collection = call.service.collection(name);
        operations.push((operation, collection.map_err(within)?));
    }
    let mut keys = Vec::with_capacity(count);
    let done = call.service.documents.transaction(|transaction| {
        keys.clear();
        for (operation, collection) in &operations {
            keys.push(apply(transaction, collection, operation)?);
        }
        Ok(())
    });
    done.map_err(|error| {
        // Unique values are checked after all operations were applied.
        let refused = match error.clash() {
            Some(clash) => keys
                .iter()
                .rposition(|key| [clash.key, clash.other].contains(key)),
            None => Some(keys.len()).filter(|&at| at < count),
        };
        match refused {
            Some(at) => Problem::from(error).within(operation_location(at)),
            None => error.into(),
        }
    })?;
    Ok(json_response(StatusCode::OK, &json!({ "keys": keys })))
}

/// The location of an operation in the request.
fn operation_location(at: usize) -> String {
    format!("operations[{at}]")
}

fn apply(
    transaction: &mut espalier_documents::Transaction<'_>,
    collection: &Collection<JsonDocument>,
    operation: &Operation,
) -> espalier_documents::Result<u64> {
    let mut require = |key: u64, if_match: &Option<String>| {
        let Some(if_match) = if_match else {
            return Ok(());
        };
        let state = transaction
            .tag(collection, key)?
            .map(|state| state.to_string());
        if EntityTags::parse(if_match).matches_strongly(state.as_deref()) {
            return Ok(());
        }
        let name = collection.name();
        let message = match state {
            Some(_) => format!("document {key} of {name:?} was changed by another client"),
            None => format!("there is no document {key} in {name:?}"),
        };
        Err(Error::new(ErrorKind::Changed, message))
    };
    match operation {
        Operation::Insert { document, .. } => {
            transaction.insert(collection, JsonDocument::from(document))
        }
        Operation::Put {
            key,
            document,
            if_match,
            ..
        } => {
            require(*key, if_match)?;
            transaction
                .put(collection, *key, JsonDocument::from(document))
                .map(|_| *key)
        }
        Operation::Patch {
            key,
            patch,
            if_match,
            ..
        } => {
            require(*key, if_match)?;
            let change = |held: &mut JsonDocument| held.edit(|json| merge_patch(json, patch));
            transaction.update(collection, *key, change).map(|_| *key)
        }
        Operation::Delete { key, if_match, .. } => {
            require(*key, if_match)?;
            transaction.delete(collection, *key).map(|_| *key)
        }
    }
}
