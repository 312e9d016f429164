//! `espalier documents export` and `import`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};

use clap::Args;
use serde_json::json;

use super::place::Place;
use crate::cli;
use crate::documents::{STANDARD, display_name, open};
use crate::error::{Failure, Result};
use crate::settings::Settings;

/// Write all documents as JSON lines
#[derive(Args, Debug)]
#[command(after_help = "\
A line is {\"key\":0,\"document\":{...}}: what `import` reads.

Examples:
  espalier documents export cars -o cars.jsonl --store embedded:garage
  espalier documents export cars --store embedded:garage | grep red")]
pub struct Export {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The file, or `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = STANDARD)]
    output: String,

    #[command(flatten)]
    pub place: Place,
}

impl Export {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.place.collection(settings, &self.collection)?;
        if self.output == STANDARD {
            let mut out = BufWriter::new(io::stdout().lock());
            collection.export(&mut out)?;
            return Ok(out.flush()?);
        }
        let failed = |error: io::Error| Failure::data(error.to_string()).in_file(&self.output);
        let mut out = BufWriter::new(File::create(&self.output).map_err(failed)?);
        let count = collection.export(&mut out)?;
        out.flush().map_err(failed)?;
        let text = format!("{count} documents");
        cli::answer(self.place.talk.json, &json!({ "documents": count }), &text)
    }
}

/// Store the documents of JSON lines
#[derive(Args, Debug)]
#[command(after_help = "\
A line is {\"document\":{...}}, or with a key {\"key\":0,\"document\":{...}}, which replaces the \
document of that key. A thousand lines are one atomic commit; an error names the line.

Examples:
  espalier documents import cars cars.jsonl --store embedded:garage
  jq -c '{document: .}' list.json | espalier documents import cars - --store embedded:garage")]
pub struct Import {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,

    #[command(flatten)]
    pub place: Place,
}

impl Import {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.place.collection(settings, &self.collection)?;
        let (input, _) = open(&self.file)?;
        let imported = collection
            .import(&mut BufReader::new(input))
            .map_err(|error| Failure::from(error).in_file(display_name(&self.file)))?;
        let text = format!("{} documents", imported.documents);
        let value = json!({ "documents": imported.documents });
        cli::answer(self.place.talk.json, &value, &text)
    }
}
