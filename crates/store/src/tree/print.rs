//! Prints a datastore as a document.

use std::io::{self, Write};

use espalier_yang::InstancePath;
use espalier_yang::data::{Layout, PrintError, PrintOptions, json};

use super::locate::TreeState;
use super::read::read;
use super::selection::Selection;
use crate::error::{Error, Result};

/// Prints all stored data of a datastore as JSON (RFC 7951), one node per line. Equal data print as equal
/// text.
pub(crate) fn print_stored(state: TreeState<'_>, out: &mut dyn Write) -> Result<()> {
    let options = PrintOptions {
        layout: Layout::Pretty,
        ..PrintOptions::default()
    };
    let mut printer = json::Printer::new(state.schema(), out, options);
    let all = Selection::default();
    let result = read(state, None, &InstancePath::root(), &all, None, &mut printer);
    // The printer's error has the cause why printing ended early.
    printer.finish().map(drop).map_err(|error| match error {
        PrintError::Write(error) => Error::Write(error),
        other => Error::Write(io::Error::other(other.to_string())),
    })?;
    result.map(drop)
}
