//! Documents in files: their format, and the parser and printer of each format.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use clap::ValueEnum;
use espalier_yang::data::{
    Envelope, Layout, ParseError, ParseOptions, PrintError, PrintOptions, Root, json, xml,
};
use espalier_yang::{InstancePath, Schema, Sink};

use crate::failure::{Failure, Result};
use crate::output::Form;

/// The name of standard input and output.
pub const STANDARD: &str = "-";

/// The format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON (RFC 7951)
    #[default]
    Json,
    /// XML (RFC 7950)
    Xml,
}

impl Format {
    /// The requested format, otherwise the one of the file extension, otherwise JSON.
    pub fn of(file: &str, requested: Option<Self>) -> Self {
        requested.unwrap_or_else(|| {
            let extension = Path::new(file).extension().and_then(|text| text.to_str());
            match extension {
                Some(extension) if extension.eq_ignore_ascii_case("xml") => Self::Xml,
                _ => Self::Json,
            }
        })
    }

    /// The format of a document in memory: XML if it begins as XML, else that of the file extension.
    pub fn of_text(file: &str, text: &[u8]) -> Self {
        match text.trim_ascii_start().first() {
            Some(b'<') => Self::Xml,
            _ => Self::of(file, None),
        }
    }

    /// The form in which the format is printed on a terminal.
    pub fn form(self) -> Form {
        match self {
            Self::Json => Form::Json,
            Self::Xml => Form::Xml,
        }
    }

    /// The media type of YANG data (RFC 8040 §3.2).
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/yang-data+json",
            Self::Xml => "application/yang-data+xml",
        }
    }
}

/// Parses a document and sends its nodes to `sink`.
pub fn parse(
    format: Format,
    schema: &Schema,
    root: Root,
    input: &mut dyn Read,
    sink: &mut dyn Sink,
    options: &ParseOptions,
) -> std::result::Result<(), ParseError> {
    match format {
        Format::Json => json::parse(schema, root, input, sink, options),
        Format::Xml => xml::parse(schema, root, input, sink, options),
    }
}

/// Prints the nodes that `events` sends. Writes nothing if `events` returns [`Found::Nothing`].
pub fn print(
    format: Format,
    schema: &Schema,
    options: PrintOptions,
    out: &mut dyn Write,
    events: impl FnOnce(&mut dyn Sink) -> Result<Found>,
) -> Result<Found> {
    match format {
        Format::Json => {
            let mut printer = json::Printer::new(schema, out, options);
            let found = events(&mut printer);
            end(found, || printer.finish().map(drop))
        }
        Format::Xml => {
            let mut printer = xml::Printer::new(schema, out, options);
            let found = events(&mut printer);
            end(found, || printer.finish().map(drop))
        }
    }
}

/// Whether there was data to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// There was data, and it was printed.
    Something,
    /// There was no data, and nothing was printed.
    Nothing,
}

impl Found {
    /// Converts the result of a read from a store.
    pub fn from_store(found: bool) -> Self {
        match found {
            true => Self::Something,
            false => Self::Nothing,
        }
    }
}

/// Finishes printing. The printer's error takes precedence: it has the cause of an early end.
fn end(
    found: Result<Found>,
    finish: impl FnOnce() -> std::result::Result<(), PrintError>,
) -> Result<Found> {
    if let Ok(Found::Nothing) = found {
        return Ok(Found::Nothing);
    }
    finish().map_err(|error| Failure::from(&error))?;
    found
}

/// The print options of commands: one node per line; the whole datastore in XML is wrapped in one element, since XML
/// needs exactly one root element.
pub fn print_options(format: Format, path: &InstancePath) -> PrintOptions {
    let needs_envelope = format == Format::Xml && path.is_root();
    PrintOptions {
        layout: Layout::Pretty,
        envelope: needs_envelope.then_some(Envelope::NETCONF_DATA),
    }
}

/// The failure for a document that was rejected.
pub fn parse_failure(error: ParseError, file: &str) -> Failure {
    let failure = match error {
        ParseError::Invalid(errors) => {
            Failure::invalid("the document is not valid, and nothing was stored", &errors)
        }
        other => Failure::data(other.to_string()),
    };
    failure.in_file(display_name(file))
}

/// The name of a file in messages.
pub fn display_name(file: &str) -> &str {
    match file {
        STANDARD => "standard input",
        file => file,
    }
}

/// Opens a file for reading (`-` is standard input). Also returns its length, if there is one.
pub fn open(file: &str) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if file == STANDARD {
        return Ok((Box::new(io::stdin()), None));
    }
    let failed = |error: io::Error| {
        Failure::usage(format!("the file cannot be read: {error}")).in_file(file)
    };
    let opened = File::open(file).map_err(failed)?;
    let metadata = opened.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Failure::usage("this is a folder; name a file").in_file(file));
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(opened), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_taken_from_the_file_name_unless_it_is_given() {
        assert_eq!(Format::of("a/b.XML", None), Format::Xml);
        assert_eq!(Format::of("a/b.json", None), Format::Json);
        assert_eq!(Format::of("-", None), Format::Json);
        assert_eq!(Format::of("b.xml", Some(Format::Json)), Format::Json);
    }
}
