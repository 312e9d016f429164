//! What people and programs see.

use std::io::{self, Write};

use serde_json::{Value as Json, json};

use crate::error::Result;

/// Prints documents with their keys: a line each.
pub fn documents<'a>(
    is_json: bool,
    found: impl IntoIterator<Item = (u64, &'a Json)>,
) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (key, document) in found {
        if is_json {
            writeln!(out, "{}", json!({"key": key, "document": document}))?;
        } else {
            writeln!(out, "{key:>10}  {document}")?;
        }
    }
    Ok(out.flush()?)
}

/// Prints lines.
pub fn lines(lines: impl IntoIterator<Item = String>) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}
