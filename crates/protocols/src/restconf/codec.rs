//! Parses and prints data in the format of a request.

use std::io::{Read, Write};

use espalier_store::{Error, View};
use espalier_yang::data::{
    Annotations, Envelope, ParseError, ParseOptions, PrintError, PrintOptions, Root, json, xml,
};
use espalier_yang::schema::Node;
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

/// Why a response could not be printed.
#[derive(Debug)]
pub(super) enum PrintFailure {
    /// The store failed.
    Store(Error),
    /// The writer or the printer failed.
    Print(PrintError),
}

/// Whether the requested resource exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existence {
    Exists,
    Missing,
}

/// Prints the nodes that `path` and `selection` select, as the representation of a resource.
pub(super) fn print<W: Write>(
    view: &View,
    path: &InstancePath,
    selection: &espalier_store::Selection,
    format: Format,
    out: W,
) -> Result<(Existence, W), PrintFailure> {
    let options = PrintOptions {
        envelope: path.is_root().then_some(Envelope::RESTCONF_DATA),
        ..PrintOptions::default()
    };
    let mut printer = Printer::new(view.schema(), format, out, options);
    let read = view.read(path, selection, &mut printer);
    let nodes = printer.nodes;
    // An error of the printer comes first: the store only reports that the sink stopped it.
    let out = match printer.finish() {
        Ok(out) => out,
        Err(error) => return Err(PrintFailure::Print(error)),
    };
    match read.map_err(PrintFailure::Store)? {
        true if nodes <= 1 && is_empty_container(view, path).map_err(PrintFailure::Store)? => {
            Ok((Existence::Missing, out))
        }
        true => Ok((Existence::Exists, out)),
        false if path.is_root() => Ok((Existence::Exists, out)),
        false => Ok((Existence::Missing, out)),
    }
}

/// Whether a path names an empty container without presence. It cannot be read as a resource, though nodes
/// can be created in it.
pub(super) fn is_empty_container(view: &View, path: &InstancePath) -> Result<bool, Error> {
    let target = path.target().map(|node| view.schema().node(node));
    Ok(target.is_some_and(Node::is_np_container) && !view.has_content(path)?)
}

/// A printer for either format.
struct Printer<'s, W: Write> {
    printer: FormatPrinter<'s, W>,
    /// The number of printed nodes.
    nodes: u64,
}

enum FormatPrinter<'s, W: Write> {
    Json(json::Printer<'s, W>),
    Xml(xml::Printer<'s, W>),
}

impl<'s, W: Write> Printer<'s, W> {
    fn new(schema: &'s Schema, format: Format, out: W, options: PrintOptions) -> Self {
        let printer = match format {
            Format::Json => FormatPrinter::Json(json::Printer::new(schema, out, options)),
            Format::Xml => FormatPrinter::Xml(xml::Printer::new(schema, out, options)),
        };
        Self { printer, nodes: 0 }
    }

    fn finish(self) -> Result<W, PrintError> {
        match self.printer {
            FormatPrinter::Json(printer) => printer.finish(),
            FormatPrinter::Xml(printer) => printer.finish(),
        }
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match &mut self.printer {
            FormatPrinter::Json(printer) => printer,
            FormatPrinter::Xml(printer) => printer,
        }
    }

    fn node(&mut self) -> &mut dyn Sink {
        self.nodes += 1;
        self.sink()
    }
}

type Event = Result<(), espalier_yang::data::Stop>;

impl<W: Write> Sink for Printer<'_, W> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Event {
        self.node().open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Event {
        self.node().leaf(node, value, mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Event {
        self.node().any(node, json, mark)
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
