//! `espalier documents export` and `import`.

use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use clap::Args;
use espalier_documents::Collection;
use serde_json::{Value as Json, json};

use super::arguments::StoreOption;
use crate::settings::Settings;
use espalier_terminal::document::{STANDARD, display_name, open};
use espalier_terminal::output::{self, Form};
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::{Failure, Result};

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

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Export {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        if self.output != STANDARD {
            let store = self
                .store_option
                .store
                .clone()
                .or_else(|| settings.store.clone());
            let (file, existing) = (Path::new(&self.output), Existing::of(self.force));
            output_file::check(file, existing, store.as_deref())?;
        }
        let collection = self.store_option.collection(settings, &self.collection)?;
        if self.output == STANDARD {
            let mut out = ErrorKeepingWriter::new(BufWriter::new(output::stdout(Form::Json)));
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
        output::print_result(
            self.store_option.output_options.json,
            &json!({ "documents": count }),
            &text,
        )
    }
}

impl Export {
    /// Writes the file, which appears under its name only when it is complete.
    fn write_file(&self, collection: &Collection<Json>) -> Result<u64> {
        let failed = |error: io::Error| Failure::data(error.to_string()).in_file(&self.output);
        let mut file = OutputFile::create(Path::new(&self.output))?;
        let mut out = BufWriter::new(file.writer());
        let count = collection.export(&mut out)?;
        out.flush().map_err(failed)?;
        drop(out);
        file.finish()?;
        Ok(count)
    }
}

/// A writer that keeps its error, which may be a closed pipe.
struct ErrorKeepingWriter<W> {
    inner: W,
    failure: Option<io::Error>,
}

impl<W> ErrorKeepingWriter<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            failure: None,
        }
    }
}

impl<W: Write> Write for ErrorKeepingWriter<W> {
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
    pub store_option: StoreOption,
}

impl Import {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let (input, _) = open(&self.file)?;
        let imported = collection
            .import(&mut BufReader::new(input))
            .map_err(|error| Failure::from(error).in_file(display_name(&self.file)))?;
        let text = format!("{} documents", imported.documents);
        let value = json!({ "documents": imported.documents });
        output::print_result(self.store_option.output_options.json, &value, &text)
    }
}
