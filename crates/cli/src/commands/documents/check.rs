//! `espalier documents check` and `repair`.

use clap::Args;
use espalier_documents::Finding;
use serde_json::{Value, json};

use super::arguments::StoreOption;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Check whether the documents, indexes and counters of a collection are consistent
#[derive(Args, Debug)]
#[command(after_help = "\
Changes nothing. Exit status 1 if something is wrong.

Examples:
  espalier documents check cars --store embedded:garage
  espalier documents check cars --json --store embedded:garage")]
pub struct Check {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Check {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let found = collection.check()?;
        let value = json!({"findings": to_json(&found)});
        let text = match found.is_empty() {
            true => format!("{:?}: nothing is wrong", self.collection),
            false => to_text(&found),
        };
        output::print_result(self.store_option.output_options.json, &value, &text)?;
        let message = match found.len() {
            0 => return Ok(()),
            1 => format!("{:?} has a fault", self.collection),
            count => format!("{:?} has {count} faults", self.collection),
        };
        let hint = format!("`espalier documents repair {}` mends them", self.collection);
        Err(Failure::data(message).hint(hint).answered())
    }
}

/// Repair what `check` finds: rebuild indexes and counters from the documents
#[derive(Args, Debug)]
#[command(after_help = "\
Documents are not changed. Problems that only people can decide are listed and left: unreadable documents, and \
documents with the same value of a unique index.

Examples:
  espalier documents repair cars --store embedded:garage")]
pub struct Repair {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Repair {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let repaired = collection.repair()?;
        let value = json!({
            "mended": to_json(&repaired.mended),
            "left": to_json(&repaired.left),
        });
        let text = format!(
            "{} mended, {} left",
            repaired.mended.len(),
            repaired.left.len()
        );
        output::print_result(self.store_option.output_options.json, &value, &text)?;
        if repaired.left.is_empty() {
            return Ok(());
        }
        let failure = Failure::data(to_text(&repaired.left));
        Err(failure
            .hint("change or delete one of the documents")
            .answered())
    }
}

fn to_json(found: &[Finding]) -> Vec<Value> {
    let found = found.iter();
    found
        .map(|finding| json!({"place": finding.place, "problem": finding.problem}))
        .collect()
}

fn to_text(found: &[Finding]) -> String {
    let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
