//! Printing XML.

use std::io::Write;
use std::mem;

use super::any;
use super::prefixes::Prefixes;
use super::write::{write_attribute, write_text};
use crate::data::metadata;
use crate::data::options::{Layout, PrintError, PrintOptions};
use crate::data::output_buffer::{flush_if_full, flush_last};
use crate::data::sink::{Annotation, Annotations, Mark, Sink, Stop};
use crate::schema::{ModuleId, NodeId, Schema};
use crate::value::Value;

/// Prints events as XML elements, in bounded memory: one element per top-level node, or a single one, the envelope of
/// [`PrintOptions`].
pub struct Printer<'s, W> {
    schema: &'s Schema,
    options: PrintOptions,
    out: W,
    buffer: Vec<u8>,
    /// The open elements, with the default namespace inside each.
    open: Vec<(NodeId, ModuleId)>,
    /// Whether the innermost start tag still lacks its `>`.
    tag: Tag,
    pending: Annotations,
    failure: Option<PrintError>,
}

/// The state of the innermost start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Begun,
    Ended,
}

impl<'s, W: Write> Printer<'s, W> {
    /// Creates a printer to `out`, which needs no buffer.
    pub fn new(schema: &'s Schema, out: W, options: PrintOptions) -> Self {
        let mut printer = Self {
            schema,
            options,
            out,
            buffer: Vec::with_capacity(1 << 10),
            open: Vec::new(),
            tag: Tag::Ended,
            pending: Annotations::new(),
            failure: None,
        };
        if let Some(envelope) = options.envelope {
            printer.buffer.push(b'<');
            printer.buffer.extend_from_slice(envelope.name.as_bytes());
            if !envelope.namespace.is_empty() {
                write_attribute(&mut printer.buffer, "xmlns", envelope.namespace);
            }
            printer.tag = Tag::Begun;
        }
        printer
    }

    /// Continues with top-level nodes of another schema.
    pub fn continue_with(&mut self, schema: &'s Schema) {
        self.schema = schema;
    }

    /// Ends the document. Returns the flushed writer, or the error, including one during an earlier event.
    pub fn finish(mut self) -> Result<W, PrintError> {
        while self.failure.is_none() && !self.open.is_empty() {
            self.end_element();
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if let Some(envelope) = self.options.envelope.take() {
            self.end_tag(envelope.name);
        }
        if self.options.layout == Layout::Pretty && !self.buffer.is_empty() {
            self.buffer.push(b'\n');
        }
        flush_last(self.out, &self.buffer)
    }

    /// Writes the start tag of a node, without its `>`.
    fn start(&mut self, id: NodeId, prefixes: &mut Prefixes<'s>) {
        if mem::replace(&mut self.tag, Tag::Begun) == Tag::Begun {
            self.buffer.push(b'>');
        }
        self.line();
        let schema = self.schema;
        let node = schema.node(id);
        self.buffer.push(b'<');
        self.buffer.extend_from_slice(node.name.as_bytes());
        if self
            .open
            .last()
            .is_none_or(|(_, module)| *module != node.module)
        {
            let namespace = &schema.module(node.module).namespace;
            write_attribute(&mut self.buffer, "xmlns", namespace);
        }
        for annotation in mem::take(&mut self.pending) {
            let (module, name, value) = metadata::encoded_parts(&annotation);
            match metadata::namespace_of_module(schema, module) {
                Some(namespace) => {
                    let prefix = prefixes.of_annotations(module, namespace);
                    let name = format!("{prefix}:{name}");
                    match &annotation {
                        // An identity in the module of the annotation.
                        Annotation::Origin(origin) => {
                            let value = format!("{prefix}:{}", origin.name());
                            write_attribute(&mut self.buffer, &name, &value);
                        }
                        _ => write_attribute(&mut self.buffer, &name, value),
                    }
                }
                None => write_attribute(&mut self.buffer, name, value),
            }
        }
    }

    /// Writes the rest of the start tag, the content and the end tag.
    fn content(&mut self, id: NodeId, prefixes: &Prefixes<'_>, content: &[u8]) {
        prefixes.declare(&mut self.buffer);
        self.tag = Tag::Ended;
        if content.is_empty() {
            self.buffer.extend_from_slice(b"/>");
            return;
        }
        self.buffer.push(b'>');
        self.buffer.extend_from_slice(content);
        self.close_tag(&self.schema.node(id).name);
    }

    fn close_tag(&mut self, name: &str) {
        self.buffer.extend_from_slice(b"</");
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.push(b'>');
    }

    /// Writes the end tag of an element that contains elements.
    fn end_tag(&mut self, name: &str) {
        if mem::replace(&mut self.tag, Tag::Ended) == Tag::Begun {
            self.buffer.extend_from_slice(b"/>");
            return;
        }
        self.line();
        self.close_tag(name);
    }

    fn end_element(&mut self) {
        if let Some((id, _)) = self.open.pop() {
            self.end_tag(&self.schema.node(id).name);
        }
    }

    fn line(&mut self) {
        if self.options.layout == Layout::Compact {
            return;
        }
        if !self.buffer.is_empty() {
            self.buffer.push(b'\n');
        }
        let level = self.open.len() + usize::from(self.options.envelope.is_some());
        let length = self.buffer.len() + 2 * level;
        self.buffer.resize(length, b' ');
    }

    fn write_out(&mut self) -> Result<(), Stop> {
        flush_if_full(&mut self.out, &mut self.buffer, &mut self.failure)
    }
}

impl<W: Write> Sink for Printer<'_, W> {
    fn open(&mut self, id: NodeId, _: Mark) -> Result<(), Stop> {
        let mut prefixes = Prefixes::default();
        self.start(id, &mut prefixes);
        prefixes.declare(&mut self.buffer);
        self.open.push((id, self.schema.node(id).module));
        Ok(())
    }

    fn leaf(&mut self, id: NodeId, value: Value, _: Mark) -> Result<(), Stop> {
        let mut prefixes = Prefixes::default();
        self.start(id, &mut prefixes);
        match &value {
            Value::String(text) if prefixes.is_empty() && !text.is_empty() => {
                self.tag = Tag::Ended;
                self.buffer.push(b'>');
                write_text(&mut self.buffer, text);
                self.close_tag(&self.schema.node(id).name);
            }
            _ => {
                let text = prefixes.text_of(self.schema, &value);
                let mut content = Vec::with_capacity(text.len());
                write_text(&mut content, &text);
                self.content(id, &prefixes, &content);
            }
        }
        self.write_out()
    }

    fn any(&mut self, id: NodeId, json: &str, _: Mark) -> Result<(), Stop> {
        let mut prefixes = Prefixes::default();
        self.start(id, &mut prefixes);
        let mut content = Vec::new();
        any::write_json(self.schema, id, &mut content, json);
        self.content(id, &prefixes, &content);
        self.write_out()
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        self.end_element();
        self.write_out()
    }

    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        self.pending.extend(annotations);
        Ok(())
    }

    fn bare(&mut self, id: NodeId, _: Mark) -> Result<(), Stop> {
        let mut prefixes = Prefixes::default();
        self.start(id, &mut prefixes);
        self.content(id, &prefixes, b"");
        self.write_out()
    }
}
