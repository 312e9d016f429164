//! Output of the commands, as text or JSON.

use std::io::{self, Write};
use std::ops::ControlFlow;

use espalier_documents::{Collection, Selection};
use serde_json::{Value as Json, json};

use crate::settings::OutputOptions;
use espalier_terminal::Result;
use espalier_terminal::output::{self, Form};

/// Prints documents with their keys, one per line.
pub fn documents<'a>(
    is_json: bool,
    found: impl IntoIterator<Item = (u64, &'a Json)>,
) -> Result<()> {
    // A document is JSON, also after a key in text output.
    let mut out = io::BufWriter::new(output::stdout(Form::Json));
    for (key, document) in found {
        print_document(&mut out, is_json, key, document)?;
    }
    Ok(out.flush()?)
}

/// Prints the documents of a selection, each as it is read.
pub fn selected(is_json: bool, collection: &Collection<Json>, selection: Selection) -> Result<()> {
    let mut out = io::BufWriter::new(output::stdout(Form::Json));
    let mut written = Ok(());
    collection.for_each(selection, |key, document| {
        written = print_document(&mut out, is_json, key, &document);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    written?;
    Ok(out.flush()?)
}

fn print_document(
    out: &mut impl Write,
    is_json: bool,
    key: u64,
    document: &Json,
) -> io::Result<()> {
    if is_json {
        writeln!(out, "{}", json!({"key": key, "document": document}))
    } else {
        writeln!(out, "{key:>10}  {document}")
    }
}

/// Prints keys of documents, one per line.
pub fn keys(output_options: OutputOptions, keys: impl IntoIterator<Item = u64>) -> Result<()> {
    let shown = |key: u64| match output_options.json {
        true => json!({ "key": key }).to_string(),
        false => key.to_string(),
    };
    lines(output_options.form(), keys.into_iter().map(shown))
}

/// Prints lines in a form.
pub fn lines(form: Form, lines: impl IntoIterator<Item = String>) -> Result<()> {
    let mut out = io::BufWriter::new(output::stdout(form));
    for line in lines {
        match form {
            Form::Text => writeln!(out, "{}", output::escaped(&line))?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(out.flush()?)
}
