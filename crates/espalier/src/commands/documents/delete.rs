//! `espalier documents delete`.

use clap::Args;
use serde_json::json;

use super::place::{By, Place};
use crate::cli;
use crate::error::{Failure, Result};
use crate::settings::Settings;

/// Delete documents by key or by value, or a whole collection
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier documents delete cars 0 --store embedded:garage
  espalier documents delete cars --by color=red --store embedded:garage
  espalier documents delete cars --collection-too --store embedded:garage")]
pub struct Delete {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The keys of the documents
    #[arg(value_name = "KEY")]
    key: Vec<u64>,

    #[command(flatten)]
    by: By,

    /// Everything: the documents, the indexes, the collection
    #[arg(long, conflicts_with_all = ["key", "by"])]
    collection_too: bool,

    #[command(flatten)]
    pub place: Place,
}

impl Delete {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        if self.collection_too {
            self.place.documents(settings)?.remove(&self.collection)?;
            return cli::answer(
                self.place.talk.json,
                &json!({"collection": self.collection}),
                "",
            );
        }
        let collection = self.place.collection(settings, &self.collection)?;
        let deleted = match (self.key.as_slice(), self.by.parsed()?) {
            (_, Some((index, value))) => collection.index(index)?.delete(value)?,
            ([], None) => {
                return Err(Failure::usage("nothing says which documents are meant")
                    .hint("add keys, --by INDEX=VALUE or --collection-too"));
            }
            (keys, None) => {
                let mut deleted = 0;
                for &key in keys {
                    deleted += usize::from(collection.delete(key)?.is_some());
                }
                deleted
            }
        };
        let text = format!("{deleted} deleted");
        cli::answer(self.place.talk.json, &json!({ "deleted": deleted }), &text)
    }
}
