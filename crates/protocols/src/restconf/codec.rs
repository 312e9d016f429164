//! Parses and prints data in the format of a request.

use std::io::{Read, Write};

use espalier_store::{Error, PageRequest, Selection, View};
use espalier_yang::data::{
    DataTree, Envelope, Layout, ParseError, ParseOptions, PrintError, PrintOptions, Root,
    TreeBuilder, Wrapping, json, xml,
};
use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, NodeId, Schema, Sink};

use super::error::Failure;
use super::media::{Format, MediaType};

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

/// Parses a document into a tree.
///
/// # Errors
/// Those of the document; `too-big` for one of too many nodes.
pub(super) fn parse_tree(
    schema: &Schema,
    format: Format,
    root: Root,
    document: &[u8],
    options: &ParseOptions,
) -> Result<DataTree, Failure> {
    let mut builder = TreeBuilder::new();
    match parse(schema, format, root, document, &mut builder, options) {
        // A builder stops its source at its limit, and has the error of that.
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish()?),
        Err(error) => Err(error.into()),
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

/// What is printed of a resource.
pub(super) struct Representation<'a> {
    pub(super) path: &'a InstancePath,
    pub(super) selection: &'a Selection,
    /// The page of a whole list or leaf-list; none is all of it.
    pub(super) page: Option<&'a PageRequest>,
    pub(super) media: MediaType,
    /// Whether a whole datastore has its envelope.
    pub(super) wrapping: Wrapping,
}

impl Representation<'_> {
    /// Sends the nodes; false if there is no such resource.
    pub(super) fn read(&self, view: &View, sink: &mut dyn Sink) -> Result<bool, Error> {
        match self.page {
            None => view.read_resource(self.path, self.selection, sink),
            Some(page) => {
                let info = view.read_page(self.path, page, self.selection, sink)?;
                Ok(info.is_some())
            }
        }
    }
}

/// Prints the representation of a resource. For a whole datastore, `state` is the view of further top-level nodes, of other
/// models.
pub(super) fn print<W: Write>(
    (view, state): (&View, Option<&View>),
    of: &Representation<'_>,
    out: W,
) -> Result<(Existence, W), PrintFailure> {
    let Representation {
        path,
        selection,
        media,
        wrapping,
        ..
    } = *of;
    let options = print_options(path, media, wrapping);
    let mut printer = Printer::new(view.schema(), media.format(), out, options);
    let mut read = of.read(view, printer.sink());
    if let (Ok(true), Some(_), Some(list)) = (&read, of.page, path.target()) {
        printer.end_list(list);
    }
    if let (Ok(_), Some(state)) = (&read, state) {
        printer.continue_with(state.schema());
        read = state.read_resource(path, selection, printer.sink());
    }
    // An error of the printer comes first: the store only reports that the sink stopped it.
    let out = match printer.finish() {
        Ok(out) => out,
        Err(error) => return Err(PrintFailure::Print(error)),
    };
    match read.map_err(PrintFailure::Store)? {
        true => Ok((Existence::Exists, out)),
        false => Ok((Existence::Missing, out)),
    }
}

/// Prints the output of an operation.
pub(super) fn print_tree(
    schema: &Schema,
    format: Format,
    tree: &DataTree,
) -> Result<Vec<u8>, Failure> {
    let mut printer = Printer::new(schema, format, Vec::new(), PrintOptions::default());
    // An error of the printer comes first.
    let emitted = tree.emit(printer.sink());
    let printed = printer.finish();
    let text = printed.map_err(|error| Failure::internal(&error))?;
    match emitted {
        Ok(()) => Ok(text),
        Err(_) => Err(Failure::internal(&"a document was not printed to its end")),
    }
}

/// A whole datastore is in the envelope of RFC 8040 §3.4; a bare one is printed as the command line prints it, so that
/// `espalier export --server` only copies it.
fn print_options(path: &InstancePath, media: MediaType, wrapping: Wrapping) -> PrintOptions {
    if !path.is_root() {
        return PrintOptions {
            envelope: (media == MediaType::XmlList).then_some(Envelope::XML_LIST),
            ..PrintOptions::default()
        };
    }
    match (wrapping, media.format()) {
        (Wrapping::ResourceOrNodes, _) => PrintOptions {
            envelope: Some(Envelope::RESTCONF_DATA),
            ..PrintOptions::default()
        },
        (Wrapping::Optional, format) => PrintOptions {
            layout: Layout::Pretty,
            envelope: (format == Format::Xml).then_some(Envelope::NETCONF_DATA),
        },
    }
}

/// Whether a path names an empty container without presence. It cannot be read as a resource, though nodes
/// can be created in it.
pub(super) fn is_empty_container(view: &View, path: &InstancePath) -> Result<bool, Error> {
    let target = path.target().map(|node| view.schema().node(node));
    Ok(target.is_some_and(Node::is_np_container) && !view.has_content(path)?)
}

/// A printer for either format.
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

    fn continue_with(&mut self, schema: &'s Schema) {
        match self {
            Self::Json(printer) => printer.continue_with(schema),
            Self::Xml(printer) => printer.continue_with(schema),
        }
    }

    fn finish(self) -> Result<W, PrintError> {
        match self {
            Self::Json(printer) => printer.finish(),
            Self::Xml(printer) => printer.finish(),
        }
    }

    /// Completes a list that may have no entries.
    fn end_list(&mut self, list: NodeId) {
        match self {
            Self::Json(printer) => printer.end_list(list),
            Self::Xml(_) => {}
        }
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Json(printer) => printer,
            Self::Xml(printer) => printer,
        }
    }
}
