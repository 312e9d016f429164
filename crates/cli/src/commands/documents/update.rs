//! `espalier documents update`.

use clap::Args;
use espalier_documents::{Kind, merge_patch};
use serde_json::json;

use super::arguments::{IndexSelector, StoreOption, document};
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Change members of documents by a JSON Merge Patch (RFC 7396)
#[derive(Args, Debug)]
#[command(after_help = "\
Members of the patch are set, members that are null are removed, the others stay. Prints the new document; for \
an index that is not unique, the number of updated documents (with --json also their keys). One commit.

Examples:
  espalier documents update cars '{\"color\":\"blue\"}' --key 0 --store embedded:garage
  espalier documents update cars '{\"color\":null}' --by name=Corvet-1 --store embedded:garage
  espalier documents update cars '{\"sale\":true}' --by color=red --store embedded:garage")]
pub struct Update {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The patch, or `-` for standard input
    #[arg(value_name = "PATCH")]
    patch: String,

    /// The key of the document
    #[arg(long, value_name = "KEY")]
    key: Option<u64>,

    #[command(flatten)]
    by: IndexSelector,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Update {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let patch = document(&self.patch)?;
        let change = |document: &mut serde_json::Value| merge_patch(document, &patch);
        let new = match (self.key, self.by.parsed()?) {
            (Some(key), _) => collection.update(key, change)?,
            (None, Some((index, value))) => {
                let index = collection.index(index)?;
                if index.kind() != Kind::Unique {
                    return self.print_keys(&index.update_all(value, change)?);
                }
                index.update(value, change)?
            }
            (None, None) => {
                return Err(Failure::usage("no document is selected")
                    .hint("add --key KEY or --by INDEX=VALUE"));
            }
        };
        output::print_result(
            self.store_option.output_options.json,
            &json!({ "document": *new }),
            &new.to_string(),
        )
    }

    fn print_keys(&self, keys: &[u64]) -> Result<()> {
        let updated = keys.len();
        output::print_result(
            self.store_option.output_options.json,
            &json!({"updated": updated, "keys": keys}),
            &format!("{updated} updated"),
        )
    }
}
