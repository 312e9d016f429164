//! `espalier documents insert`, `put` and `upsert`.

use clap::Args;
use serde_json::json;

use super::arguments::{StoreOption, document};
use crate::settings::Settings;
use espalier_terminal::Result;
use espalier_terminal::output;

/// Add a document under the next key
#[derive(Args, Debug)]
#[command(after_help = "\
Prints the key. Many documents at once: espalier documents import

Examples:
  espalier documents insert cars '{\"name\":\"Corvet-1\",\"color\":\"red\",\"keywords\":[\"fast\"]}' \\
      --store embedded:garage
  espalier documents insert cars '{\"name\":\"Corvet-9\"}' --key 9 --store embedded:garage")]
pub struct Insert {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The document, or `-` for standard input
    #[arg(value_name = "JSON")]
    document: String,

    /// The key, which must be free [default: one more than the largest key ever used]
    #[arg(long, value_name = "KEY")]
    key: Option<u64>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Insert {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let document = document(&self.document)?;
        let key = match self.key {
            Some(key) => collection.put_new(key, document).map(|()| key)?,
            None => collection.insert(document)?,
        };
        output::print_result(
            self.store_option.output_options.json,
            &json!({ "key": key }),
            &key.to_string(),
        )
    }
}

/// Store a document under a key, replacing an existing one
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier documents put cars 0 '{\"name\":\"Corvet-1\",\"color\":\"blue\"}' --store embedded:garage")]
pub struct Put {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The key
    #[arg(value_name = "KEY")]
    key: u64,

    /// The document, or `-` for standard input
    #[arg(value_name = "JSON")]
    document: String,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Put {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let old = collection.put(self.key, document(&self.document)?)?;
        let value = json!({"key": self.key, "replaced": old.is_some()});
        output::print_result(self.store_option.output_options.json, &value, "")
    }
}

/// Replace the document that has the same value of a unique index, or add it
#[derive(Args, Debug)]
#[command(after_help = "\
Prints the key.

Examples:
  espalier documents upsert cars name '{\"name\":\"Corvet-1\",\"color\":\"green\"}' --store embedded:garage")]
pub struct Upsert {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The unique index
    #[arg(value_name = "INDEX")]
    index: String,

    /// The document, or `-` for standard input
    #[arg(value_name = "JSON")]
    document: String,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Upsert {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let key = collection.upsert(&self.index, document(&self.document)?)?;
        output::print_result(
            self.store_option.output_options.json,
            &json!({ "key": key }),
            &key.to_string(),
        )
    }
}
