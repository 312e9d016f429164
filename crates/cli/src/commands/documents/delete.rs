//! `espalier documents delete`.

use clap::Args;
use serde_json::json;

use super::arguments::{IndexSelector, StoreOption};
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Delete documents by key or by value, or a whole collection
#[derive(Args, Debug)]
#[command(after_help = "\
Several keys are deleted in one commit; keys without a document are listed, with exit status 1.

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
    by: IndexSelector,

    /// Everything: the documents, the indexes, the collection
    #[arg(long, conflicts_with_all = ["key", "by"])]
    collection_too: bool,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Delete {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        if self.collection_too {
            self.store_option
                .documents(settings)?
                .remove(&self.collection)?;
            return output::print_result(
                self.store_option.output_options.json,
                &json!({"collection": self.collection}),
                "",
            );
        }
        let collection = self.store_option.collection(settings, &self.collection)?;
        let mut absent = Vec::new();
        let deleted = match (self.key.as_slice(), self.by.parsed()?) {
            (_, Some((index, value))) => collection.index(index)?.delete(value)?,
            ([], None) => {
                return Err(Failure::usage("no documents are selected")
                    .hint("add keys, --by INDEX=VALUE or --collection-too"));
            }
            (keys, None) => {
                let mut keys = keys.to_vec();
                keys.sort_unstable();
                keys.dedup();
                absent = collection.remove_many(&keys)?;
                keys.len() - absent.len()
            }
        };
        let text = format!("{deleted} deleted");
        if absent.is_empty() {
            return output::print_result(
                self.store_option.output_options.json,
                &json!({ "deleted": deleted }),
                &text,
            );
        }
        let absent: Vec<_> = absent.iter().map(u64::to_string).collect();
        let message = format!(
            "there is no document {} in {:?}; {text}",
            absent.join(", "),
            self.collection
        );
        let hint = format!(
            "`espalier documents ls {} data` lists the keys",
            self.collection
        );
        Err(Failure::data(message).hint(hint))
    }
}
