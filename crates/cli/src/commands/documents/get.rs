//! `espalier documents get`.

use clap::Args;
use espalier_documents::Selection;
use serde_json::json;

use super::arguments::StoreOption;
use super::print;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Print documents by key, or all in the order of keys
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier documents get cars 0 --store embedded:garage
  espalier documents get cars --limit 10 --reverse --store embedded:garage
  espalier documents get cars --json --store embedded:garage")]
pub struct Get {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The keys; by default, all documents
    #[arg(value_name = "KEY")]
    keys: Vec<u64>,

    /// From the largest key to the smallest
    #[arg(long, conflicts_with = "keys")]
    reverse: bool,

    /// Skip this many
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "0",
        conflicts_with = "keys"
    )]
    offset: usize,

    /// Print at most this many
    #[arg(long, value_name = "NUMBER", conflicts_with = "keys")]
    limit: Option<usize>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Get {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        if self.keys.is_empty() {
            let mut selection = Selection::all()
                .offset(self.offset)
                .limit(self.limit.unwrap_or(usize::MAX));
            if self.reverse {
                selection = selection.reversed();
            }
            return print::selected(
                self.store_option.output_options.json,
                &collection,
                selection,
            );
        }
        for &key in &self.keys {
            let document = collection.get(key)?.ok_or_else(|| {
                Failure::data(format!(
                    "there is no document {key} in {:?}",
                    self.collection
                ))
                .hint(format!(
                    "`espalier documents ls {} data` lists the keys",
                    self.collection
                ))
            })?;
            let text = serde_json::to_string_pretty(&*document)
                .map_err(|error| Failure::data(error.to_string()))?;
            let value = json!({"key": key, "document": *document});
            output::print_result(self.store_option.output_options.json, &value, &text)?;
        }
        Ok(())
    }
}
