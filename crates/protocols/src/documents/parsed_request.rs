//! The parts of a document request.

use std::sync::Arc;

use espalier_documents::{Collection, JsonDocument, Value};
use serde_json::Value as Json;

use super::limits::{PAGE_DEFAULT, PAGE_MAX};
use super::problem::{Problem, Result};
use super::service::DocumentsService;
use crate::api;

pub(super) use crate::api::{
    empty, json_response, json_text, percent_encode, read, set_etag, set_location,
};

/// The input of a handler.
pub(super) type Call<'a> = api::Call<'a, DocumentsService>;

impl Call<'_> {
    /// The collection in the path.
    pub(crate) fn collection(&self) -> Result<Collection<JsonDocument>> {
        self.service.collection(self.path_parameter(0))
    }

    /// The document in the body.
    pub(crate) fn document(&self) -> Result<Arc<JsonDocument>> {
        Ok(Arc::new(self.json()?.into()))
    }

    /// The document key in the path. Only the canonical form is accepted, so each document has one path.
    pub(crate) fn key(&self) -> Result<u64> {
        let text = self.path_parameter(1);
        let key = text.parse().ok();
        let key = key.filter(|key: &u64| key.to_string() == text);
        key.ok_or_else(|| {
            Problem::missing(format!(
                "{text:?} is not a key; keys are integers from 0, without a sign or leading zeros"
            ))
        })
    }

    /// The indexed value in a query parameter: JSON if it parses as JSON, otherwise a string.
    pub(crate) fn value(&self, name: &str) -> Result<Option<Value>> {
        self.parameter(name).map(value).transpose()
    }

    /// The page size.
    pub(crate) fn page(&self) -> Result<usize> {
        let limit = self.parsed::<usize>("limit")?.unwrap_or(PAGE_DEFAULT);
        if limit == 0 || limit > PAGE_MAX {
            let detail = format!("limit={limit}: must be 1 to {PAGE_MAX}");
            return Err(Problem::request(detail));
        }
        Ok(limit)
    }
}

/// Parses an indexed value: JSON if it parses as JSON, otherwise a string.
pub(crate) fn value(text: &str) -> Result<Value> {
    let json: Json = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
    Ok(Value::try_from(&json)?)
}
