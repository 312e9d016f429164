//! Reading and printing data in whichever format a request has.

use std::io::{Read, Write};

use espalier_store::{Error, View};
use espalier_yang::data::{
    Annotations, Envelope, ParseError, ParseOptions, PrintError, PrintOptions, Root, json, xml,
};
use espalier_yang::{InstancePath, Mark, NodeId, Schema, Sink, Value};

use super::media::Format;

/// Parses a document into a sink.
pub(super) fn parse(
    schema: &Schema,
    format: Format,
    root: Root,
    input: impl Read,
    sink: &mut dyn Sink,
    options: &ParseOptions,
) -> Result<(), ParseError> {
    match format {
        Format::Json => json::parse(schema, root, input, sink, options),
        Format::Xml => xml::parse(schema, root, input, sink, options),
    }
}

/// Why an answer could not be printed.
#[derive(Debug)]
pub(super) enum AnswerError {
    /// The store.
    Store(Error),
    /// The writer, or the printer.
    Print(PrintError),
}

/// Whether what was asked for exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Something,
    Nothing,
}

/// Prints what `path` and `selection` select, as the representation of a resource.
pub(super) fn print<W: Write>(
    view: &View,
    path: &InstancePath,
    selection: &espalier_store::Selection,
    format: Format,
    out: W,
) -> Result<(Found, W), AnswerError> {
    let options = PrintOptions {
        envelope: path.is_root().then_some(Envelope::RESTCONF_DATA),
        ..PrintOptions::default()
    };
    let mut printer = Printer::new(view.schema(), format, out, options);
    let read = view.read(path, selection, &mut printer);
    // What stopped the printer is the reason; the store only knows that it was stopped.
    let out = match printer.finish() {
        Ok(out) => out,
        Err(error) => return Err(AnswerError::Print(error)),
    };
    match read.map_err(AnswerError::Store)? {
        true => Ok((Found::Something, out)),
        false if path.is_root() => Ok((Found::Something, out)),
        false => Ok((Found::Nothing, out)),
    }
}

/// A printer of either format.
enum Printer<'s, W: Write> {
    Json(json::Printer<'s, W>),
    Xml(xml::Printer<'s, W>),
}

impl<'s, W: Write> Printer<'s, W> {
    fn new(schema: &'s Schema, format: Format, out: W, options: PrintOptions) -> Self {
        match format {
            Format::Json => Self::Json(json::Printer::new(schema, out, options)),
            Format::Xml => Self::Xml(xml::Printer::new(schema, out, options)),
        }
    }

    fn finish(self) -> Result<W, PrintError> {
        match self {
            Self::Json(printer) => printer.finish(),
            Self::Xml(printer) => printer.finish(),
        }
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Json(printer) => printer,
            Self::Xml(printer) => printer,
        }
    }
}

type Event = Result<(), espalier_yang::data::Stop>;

impl<W: Write> Sink for Printer<'_, W> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Event {
        self.sink().open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Event {
        self.sink().leaf(node, value, mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Event {
        self.sink().any(node, json, mark)
    }

    fn close(&mut self, mark: Mark) -> Event {
        self.sink().close(mark)
    }

    fn annotate(&mut self, annotations: Annotations) -> Event {
        self.sink().annotate(annotations)
    }

    fn bare(&mut self, node: NodeId, mark: Mark) -> Event {
        self.sink().bare(node, mark)
    }
}
