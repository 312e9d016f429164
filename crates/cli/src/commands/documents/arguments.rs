//! Arguments of the commands: the store, values and documents.

use std::io::{self, Read};
use std::sync::Arc;

use clap::Args;
use espalier_documents::{
    Collection, Documents, ErrorKind, Policy, Value, limits, parse_strict_json,
};
use espalier_store::{Store, Subspace};
use serde_json::Value as Json;

use crate::settings::Settings;
use espalier_terminal::document::STANDARD;
use espalier_terminal::{Failure, Result};

pub use crate::commands::store_option::StoreOption;

const CREATE_HINT: &str = "make one: espalier documents configure NAME --store embedded:DIR";

/// The content of the store, for messages.
const CONTENT: &str = "documents";

impl StoreOption {
    /// Opens the documents of an existing store.
    pub fn documents(&self, settings: Settings) -> Result<Documents> {
        Ok(documents_of(&self.store(settings, CONTENT, CREATE_HINT)?))
    }

    /// Opens the documents of a store, which is created if it does not exist.
    pub fn new_documents(&self, settings: Settings) -> Result<Documents> {
        Ok(documents_of(&self.new_store(settings, CONTENT)?))
    }

    /// Opens an existing collection, without a cache: a command reads little.
    pub fn collection(&self, settings: Settings, name: &str) -> Result<Collection<Json>> {
        let documents = self.documents(settings)?;
        documents
            .open(name, Some(Policy::Uncached))
            .map_err(|error| match error.kind() {
                ErrorKind::Missing => Failure::from(error).hint(
                    "`espalier documents ls` lists the collections, `espalier documents configure` makes one",
                ),
                _ => error.into(),
            })
    }
}

fn documents_of(store: &Store) -> Documents {
    let prefix = Subspace::Documents.key();
    Documents::new(Arc::clone(store.driver()), &prefix)
}

/// Parses a value in an argument: JSON if it is valid JSON, else a string.
pub fn value(text: &str) -> Result<Value> {
    let json = match parse_strict_json(text.as_bytes()) {
        Ok(json) => json,
        Err(error) if error.kind() == ErrorKind::Syntax => Json::from(text),
        Err(error) => return Err(Failure::usage(error.to_string())),
    };
    Value::try_from(&json).map_err(|error| {
        Failure::usage(format!("{text}: {error}"))
            .hint("write a string, a number, true or false; several components as a JSON array")
    })
}

/// Parses a document in an argument: JSON, or `-` for JSON on standard input.
pub fn document(text: &str) -> Result<Json> {
    let mut input = String::new();
    let text = if text == STANDARD {
        let limit = limits::DOCUMENT_BYTES_MAX as u64 * 4;
        io::stdin().take(limit).read_to_string(&mut input)?;
        if input.len() as u64 == limit {
            return Err(Failure::data(format!(
                "the document is over the limit of {} bytes",
                limits::DOCUMENT_BYTES_MAX
            )));
        }
        &input
    } else {
        text
    };
    parse_strict_json(text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::Syntax => Failure::usage(format!("the document is no JSON: {error}"))
            .hint("quote it for the shell, as in '{\"name\":\"a\"}', or give - and write it to standard input"),
        _ => Failure::usage(error.to_string()),
    })
}

/// Documents that an index names.
#[derive(Args, Clone, Debug, Default)]
pub struct IndexSelector {
    /// Instead of a key: the document with this value of a unique index, or all documents with it of
    /// another index
    #[arg(long, value_name = "INDEX=VALUE", conflicts_with = "key")]
    pub by: Option<String>,
}

impl IndexSelector {
    /// The index and the value, if given.
    pub fn parsed(&self) -> Result<Option<(&str, Value)>> {
        let Some(text) = &self.by else {
            return Ok(None);
        };
        let (index, text) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("{text:?}: write INDEX=VALUE")))?;
        Ok(Some((index, value(text)?)))
    }
}
