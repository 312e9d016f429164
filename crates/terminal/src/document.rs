//! Documents as files have them: which format, and the parser and printer for it.

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

/// How a document is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON (RFC 7951)
    #[default]
    Json,
    /// XML (RFC 7950)
    Xml,
}

impl Format {
    /// The format asked for, else the one that the file's name ends in, else JSON.
    pub fn of(file: &str, asked: Option<Self>) -> Self {
        asked.unwrap_or_else(|| {
            let extension = Path::new(file).extension().and_then(|text| text.to_str());
            match extension {
                Some(extension) if extension.eq_ignore_ascii_case("xml") => Self::Xml,
                _ => Self::Json,
            }
        })
    }

    /// How it is printed on a terminal.
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

/// Reads a document and sends what it holds to `sink`.
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

/// Prints what `events` sends. Nothing is written where they say that there is nothing.
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
            let told = events(&mut printer);
            end(told, || printer.finish().map(drop))
        }
        Format::Xml => {
            let mut printer = xml::Printer::new(schema, out, options);
            let told = events(&mut printer);
            end(told, || printer.finish().map(drop))
        }
    }
}

/// Whether there was anything to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Something, and it was printed.
    Something,
    /// Nothing, and nothing was printed.
    Nothing,
}

impl Found {
    /// From what a store says when it is read.
    pub fn from_store(found: bool) -> Self {
        match found {
            true => Self::Something,
            false => Self::Nothing,
        }
    }
}

/// The printer knows better than the source why printing ended early.
fn end(
    told: Result<Found>,
    finish: impl FnOnce() -> std::result::Result<(), PrintError>,
) -> Result<Found> {
    if let Ok(Found::Nothing) = told {
        return Ok(Found::Nothing);
    }
    finish().map_err(|error| Failure::from(&error))?;
    told
}

/// How commands print: a node a line; the whole datastore in XML within one element, since XML
/// has exactly one at the top.
pub fn print_options(format: Format, path: &InstancePath) -> PrintOptions {
    let needs_envelope = format == Format::Xml && path.is_root();
    PrintOptions {
        layout: Layout::Pretty,
        envelope: needs_envelope.then_some(Envelope::NETCONF_DATA),
    }
}

/// Why a document was refused.
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

/// Opens a file for reading (`-` is standard input), with its length where that is known.
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
    fn the_format_is_taken_from_the_name_unless_it_is_said() {
        assert_eq!(Format::of("a/b.XML", None), Format::Xml);
        assert_eq!(Format::of("a/b.json", None), Format::Json);
        assert_eq!(Format::of("-", None), Format::Json);
        assert_eq!(Format::of("b.xml", Some(Format::Json)), Format::Json);
    }
}
