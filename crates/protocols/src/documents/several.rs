//! Several changes, of one collection or of several, in one atomic commit.

use axum::body::Body;
use espalier_documents::{Collection, Error, ErrorKind, merge_patch};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::call::{Call, json as answer};
use super::limits::OPERATIONS_MAX;
use super::problem::{Problem, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    operations: Vec<Operation>,
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
    let wanted: Wanted = serde_json::from_value(call.json()?)
        .map_err(|error| Problem::request(format!("the operations: {error}")))?;
    let count = wanted.operations.len();
    if count > OPERATIONS_MAX {
        let detail = format!("{count} operations are over the limit of {OPERATIONS_MAX}");
        return Err(Problem::request(detail));
    }
    let collections = wanted.operations.iter();
    let collections = collections.map(|operation| call.service.collection(operation.collection()));
    let collections: Vec<Collection<Json>> = collections.collect::<Result<_>>()?;
    let keys = call.service.documents.transaction(|transaction| {
        let mut keys = Vec::with_capacity(count);
        for (operation, collection) in wanted.operations.iter().zip(&collections) {
            keys.push(apply(transaction, collection, operation)?);
        }
        Ok(keys)
    })?;
    Ok(answer(StatusCode::OK, &json!({ "keys": keys })))
}

fn apply(
    transaction: &mut espalier_documents::Transaction<'_>,
    collection: &Collection<Json>,
    operation: &Operation,
) -> espalier_documents::Result<u64> {
    let mut require = |key: u64, wanted: &Option<String>| {
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let state = transaction
            .tag(collection, key)?
            .map(|state| state.to_string());
        if state.as_deref() == Some(wanted.trim_matches('"')) {
            return Ok(());
        }
        let message = format!(
            "document {key} of {:?} was changed meanwhile",
            collection.name()
        );
        Err(Error::new(ErrorKind::Changed, message))
    };
    match operation {
        Operation::Insert { document, .. } => transaction.insert(collection, document.clone()),
        Operation::Put {
            key,
            document,
            if_match,
            ..
        } => {
            require(*key, if_match)?;
            transaction
                .put(collection, *key, document.clone())
                .map(|_| *key)
        }
        Operation::Patch {
            key,
            patch,
            if_match,
            ..
        } => {
            require(*key, if_match)?;
            let change = |held: &mut Json| merge_patch(held, patch);
            transaction.update(collection, *key, change).map(|_| *key)
        }
        Operation::Delete { key, if_match, .. } => {
            require(*key, if_match)?;
            transaction.delete(collection, *key).map(|_| *key)
        }
    }
}
