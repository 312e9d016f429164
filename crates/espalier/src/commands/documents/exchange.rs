//! `espalier documents export` and `import`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};

use clap::Args;
use espalier_documents::Collection;
use serde_json::{Value as Json, json};

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
            let mut out = Noting::new(BufWriter::new(io::stdout().lock()));
            let exported = collection.export(&mut out);
            return match out.failure {
                Some(failure) => Err(failure.into()),
                None => {
                    exported?;
                    Ok(out.inner.flush()?)
                }
            };
        }
        let count = self.write_file(&collection)?;
        let text = format!("{count} documents");
        cli::answer(self.place.talk.json, &json!({ "documents": count }), &text)
    }
}

impl Export {
    /// The file appears under its name only when it is complete.
    fn write_file(&self, collection: &Collection<Json>) -> Result<u64> {
        let failed = |error: io::Error| Failure::data(error.to_string()).in_file(&self.output);
        let is_special = fs::metadata(&self.output).is_ok_and(|metadata| !metadata.is_file());
        let partial = match is_special {
            true => self.output.clone(),
            false => format!("{}.partial", self.output),
        };
        let mut out = BufWriter::new(File::create(&partial).map_err(failed)?);
        let written = match collection.export(&mut out) {
            Ok(count) => out.flush().map(|()| count).map_err(failed),
            Err(error) => Err(error.into()),
        };
        if is_special {
            return written;
        }
        if written.is_err() {
            // What went wrong first is what the user should see.
            let _ = fs::remove_file(&partial);
            return written;
        }
        fs::rename(&partial, &self.output).map_err(failed)?;
        written
    }
}

/// A writer that keeps the error that ended it: whoever reads may have had enough.
struct Noting<W> {
    inner: W,
    failure: Option<io::Error>,
}

impl<W> Noting<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            failure: None,
        }
    }
}

impl<W: Write> Write for Noting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure = Some(error);
            }
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
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
