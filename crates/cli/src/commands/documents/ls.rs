//! `espalier documents ls`.

use std::ops::ControlFlow;

use clap::Args;
use espalier_documents::{Collection, Query, Selection};
use serde_json::{Value as Json, json};

use super::arguments::{StoreOption, value};
use super::print;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::output::escaped;
use espalier_terminal::{Failure, Result};

/// The entry for the documents themselves, listed next to the indexes.
pub const DATA: &str = "data";

/// List collections, the indexes of a collection, the values of an index, or the keys of a value
#[derive(Args, Debug)]
#[command(after_help = "\
Without arguments, lists the collections; for a collection, its indexes, and `data` for all documents; for an \
index, its values with their numbers of documents; for a value, the keys of its documents. A value that is valid \
JSON (1999, true) is taken as JSON, else as a string; the string 1999 is written '\"1999\"'.

Examples:
  espalier documents ls --store embedded:garage
  espalier documents ls cars --store embedded:garage
  espalier documents ls cars data --limit 10 --store embedded:garage
  espalier documents ls cars color --store embedded:garage
  espalier documents ls cars color red --store embedded:garage")]
pub struct Ls {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: Option<String>,

    /// An index of it, or `data`
    #[arg(value_name = "INDEX")]
    index: Option<String>,

    /// A value of the index
    #[arg(value_name = "VALUE")]
    value: Option<String>,

    /// Print at most this many lines
    #[arg(long, value_name = "NUMBER", default_value = "1000")]
    limit: usize,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Ls {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let Some(name) = &self.collection else {
            return self.collections(settings);
        };
        let collection = self.store_option.collection(settings, name)?;
        match (self.index.as_deref(), self.value.as_deref()) {
            (None, _) => self.indexes(&collection),
            (Some(DATA), None) => {
                let mut keys = Vec::new();
                collection.for_each(Selection::all().limit(self.limit), |key, _| {
                    keys.push(key);
                    ControlFlow::Continue(())
                })?;
                let count = collection.count()?;
                print::keys(self.store_option.output_options, keys.iter().copied())?;
                self.report_omitted(count.saturating_sub(keys.len() as u64), "documents");
                Ok(())
            }
            (Some(DATA), Some(_)) => Err(Failure::usage("data has keys, no values")
                .hint("`espalier documents get COLLECTION KEY` prints a document")),
            (Some(index), None) => self.values(&collection, index),
            (Some(index), Some(text)) => {
                let mut keys = collection.index(index)?.keys(Query::value(value(text)?))?;
                let more = keys.len().saturating_sub(self.limit);
                keys.truncate(self.limit);
                print::keys(self.store_option.output_options, keys.iter().copied())?;
                self.report_omitted(more as u64, "documents");
                Ok(())
            }
        }
    }

    fn collections(&self, settings: Settings) -> Result<()> {
        let documents = self.store_option.documents(settings)?;
        for info in documents.list()? {
            let text = format!("{}/", escaped(&info.name));
            output::print_result(
                self.store_option.output_options.json,
                &info.to_json(),
                &text,
            )?;
        }
        let damaged: Vec<_> = documents
            .damaged()?
            .iter()
            .map(ToString::to_string)
            .collect();
        match damaged.is_empty() {
            true => Ok(()),
            false => Err(Failure::data(damaged.join("\n"))),
        }
    }

    fn indexes(&self, collection: &Collection<Json>) -> Result<()> {
        let info = collection.info()?;
        let count = collection.count()?;
        let mut value = info.to_json();
        value["documents"] = json!(count);
        let mut text = format!("{DATA}/{:<20} {count} documents", "");
        for index in &info.indexes {
            text.push_str(&format!(
                "\n{:<25} {}",
                format!("{}/", escaped(&index.name)),
                index.kind
            ));
        }
        output::print_result(self.store_option.output_options.json, &value, &text)
    }

    fn values(&self, collection: &Collection<Json>, index: &str) -> Result<()> {
        let mut listed = collection.index(index)?.values(None, usize::MAX)?;
        let more = listed.len().saturating_sub(self.limit);
        listed.truncate(self.limit);
        self.report_omitted(more as u64, "values");
        print::lines(
            self.store_option.output_options.form(),
            listed.into_iter().map(|listed| {
                if self.store_option.output_options.json {
                    json!({"value": listed.value.to_json(), "documents": listed.count}).to_string()
                } else {
                    format!("{:>10}  {}", listed.count, listed.value)
                }
            }),
        )
    }

    /// Reports on standard error how many entries the limit omitted.
    fn report_omitted(&self, more: u64, what: &str) {
        if more > 0 {
            eprintln!("{more} more {what}; --limit NUMBER shows more");
        }
    }
}
