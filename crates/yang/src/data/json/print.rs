//! Printing JSON.

use std::io::Write;
use std::mem;

use super::escape::{write_string, write_value};
use crate::data::metadata;
use crate::data::options::{Layout, PrintError, PrintOptions};
use crate::data::output_buffer::{flush_if_full, flush_last};
use crate::data::sink::{Annotation, Annotations, Mark, Sink, Stop};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::value::Value;

/// Prints events as one JSON object (RFC 7951), in bounded memory.
///
/// The entries of one list must be contiguous, as they are from the store, from a JSON document or from a
/// normalised tree. Top-level names carry their module's name, so the events of one node give the representation of
/// a resource (RFC 8040): a list entry is an array of one.
pub struct Printer<'s, W> {
    schema: &'s Schema,
    options: PrintOptions,
    out: W,
    buffer: Vec<u8>,
    frames: Vec<Frame>,
    /// The first `depth` frames are open.
    depth: usize,
    /// The indentation level.
    level: usize,
    pending: Annotations,
    failure: Option<PrintError>,
}

/// An open object.
#[derive(Default)]
struct Frame {
    has_members: bool,
    /// The list or leaf-list whose array is open.
    array: Option<NodeId>,
    /// The number of values of the array, for a leaf-list.
    values: usize,
    /// The values that have annotations.
    annotated: Vec<(usize, Annotations)>,
    /// The lists and leaf-lists whose arrays are complete.
    complete: Vec<NodeId>,
}

impl Frame {
    fn reset(&mut self) {
        self.has_members = false;
        self.array = None;
        self.values = 0;
        self.annotated.clear();
        self.complete.clear();
    }
}

impl<'s, W: Write> Printer<'s, W> {
    /// Creates a printer to `out`, which needs no buffer.
    pub fn new(schema: &'s Schema, out: W, options: PrintOptions) -> Self {
        let mut printer = Self {
            schema,
            options,
            out,
            buffer: Vec::with_capacity(1 << 10),
            frames: vec![Frame::default()],
            depth: 1,
            level: 0,
            pending: Annotations::new(),
            failure: None,
        };
        printer.begin(b'{');
        if let Some(envelope) = options.envelope {
            printer.line();
            printer.buffer.push(b'"');
            printer.buffer.extend_from_slice(envelope.module.as_bytes());
            printer.buffer.push(b':');
            printer.buffer.extend_from_slice(envelope.name.as_bytes());
            printer.buffer.push(b'"');
            printer.colon();
            printer.begin(b'{');
        }
        printer
    }

    /// Continues with top-level nodes of another schema.
    pub fn continue_with(&mut self, schema: &'s Schema) {
        self.end_array();
        self.frames[self.depth - 1].complete.clear();
        self.schema = schema;
    }

    /// Completes a top-level list or leaf-list: without an entry, it is an empty array.
    pub fn end_list(&mut self, list: NodeId) {
        self.end_array();
        if !self.frames[self.depth - 1].has_members {
            self.name(list, b"");
            self.buffer.extend_from_slice(b"[]");
        }
    }

    /// Ends the document. Returns the flushed writer, or the error, including one during an earlier event.
    pub fn finish(mut self) -> Result<W, PrintError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        while self.depth > 0 {
            self.end_array();
            let had_members = self.frames[self.depth - 1].has_members;
            self.depth -= 1;
            self.end(b'}', had_members);
        }
        if self.options.envelope.is_some() {
            self.end(b'}', true);
        }
        if self.options.layout == Layout::Pretty {
            self.buffer.push(b'\n');
        }
        flush_last(self.out, &self.buffer)
    }

    /// Writes what precedes the value of a node: a comma, the name, the bracket of an array.
    fn start(&mut self, id: NodeId) -> Result<(), Stop> {
        let node = self.schema.node(id);
        let frame = &mut self.frames[self.depth - 1];
        if frame.array == Some(id) {
            self.buffer.push(b',');
            self.line();
            return Ok(());
        }
        self.end_array();
        self.name(id, b"");
        if node.is_list() || node.is_leaf_list() {
            let frame = &mut self.frames[self.depth - 1];
            if frame.complete.contains(&id) {
                self.failure = Some(PrintError::NotContiguous(id));
                return Err(Stop);
            }
            frame.array = Some(id);
            self.begin(b'[');
            self.line();
        }
        Ok(())
    }

    /// Writes a member's name and colon, after the comma if one is needed.
    fn name(&mut self, id: NodeId, prefix: &[u8]) {
        if mem::replace(&mut self.frames[self.depth - 1].has_members, true) {
            self.buffer.push(b',');
        }
        self.line();
        let schema = self.schema;
        let node = schema.node(id);
        let is_local = self.depth > 1
            && node
                .parent
                .is_some_and(|parent| schema.node(parent).module == node.module);
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(prefix);
        if !is_local {
            self.buffer
                .extend_from_slice(schema.module(node.module).name.as_bytes());
            self.buffer.push(b':');
        }
        self.buffer.extend_from_slice(node.name.as_bytes());
        self.buffer.push(b'"');
        self.colon();
    }

    /// Ends the open array, if any.
    fn end_array(&mut self) {
        let frame = &mut self.frames[self.depth - 1];
        let Some(id) = frame.array.take() else { return };
        frame.complete.push(id);
        frame.values = 0;
        let annotated = mem::take(&mut frame.annotated);
        self.end(b']', true);
        let Some((last, _)) = annotated.last() else {
            return;
        };
        self.name(id, b"@");
        self.begin(b'[');
        let mut entries = annotated.iter().peekable();
        for index in 0..=*last {
            if index > 0 {
                self.buffer.push(b',');
            }
            self.line();
            match entries.next_if(|(at, _)| *at == index) {
                Some((_, annotations)) => self.metadata(annotations),
                None => self.buffer.extend_from_slice(b"null"),
            }
        }
        self.end(b']', true);
    }

    /// Writes what follows the value of a leaf: its annotations, if any.
    fn end_value(&mut self, id: NodeId) -> Result<(), Stop> {
        let annotations = mem::take(&mut self.pending);
        if self.frames[self.depth - 1].array == Some(id) {
            let frame = &mut self.frames[self.depth - 1];
            if !annotations.is_empty() {
                frame.annotated.push((frame.values, annotations));
            }
            frame.values += 1;
        } else if !annotations.is_empty() {
            self.name(id, b"@");
            self.metadata(&annotations);
        }
        self.write_out()
    }

    /// A metadata object (RFC 7952 §5.2).
    fn metadata(&mut self, annotations: &[Annotation]) {
        self.buffer.push(b'{');
        for (index, annotation) in annotations.iter().enumerate() {
            if index > 0 {
                self.buffer.push(b',');
            }
            let (module, name, value) = metadata::encoded_parts(annotation);
            let qualified = match module {
                "" => name.to_owned(),
                _ => format!("{module}:{name}"),
            };
            write_string(&mut self.buffer, &qualified);
            self.colon();
            match annotation {
                Annotation::Default => self.buffer.extend_from_slice(b"true"),
                other if metadata::is_number(other) => {
                    self.buffer.extend_from_slice(value.as_bytes());
                }
                _ => write_string(&mut self.buffer, value),
            }
        }
        self.buffer.push(b'}');
    }

    fn begin(&mut self, bracket: u8) {
        self.buffer.push(bracket);
        self.level += 1;
    }

    fn end(&mut self, bracket: u8, had_content: bool) {
        self.level -= 1;
        if had_content {
            self.line();
        }
        self.buffer.push(bracket);
    }

    fn colon(&mut self) {
        self.buffer.push(b':');
        if self.options.layout == Layout::Pretty {
            self.buffer.push(b' ');
        }
    }

    fn line(&mut self) {
        if self.options.layout == Layout::Pretty {
            self.buffer.push(b'\n');
            let length = self.buffer.len() + 2 * self.level;
            self.buffer.resize(length, b' ');
        }
    }

    fn write_out(&mut self) -> Result<(), Stop> {
        flush_if_full(&mut self.out, &mut self.buffer, &mut self.failure)
    }
}

impl<W: Write> Sink for Printer<'_, W> {
    fn open(&mut self, id: NodeId, _: Mark) -> Result<(), Stop> {
        self.start(id)?;
        self.begin(b'{');
        if self.depth == self.frames.len() {
            self.frames.push(Frame::default());
        }
        self.frames[self.depth].reset();
        self.depth += 1;
        let annotations = mem::take(&mut self.pending);
        if !annotations.is_empty() {
            self.frames[self.depth - 1].has_members = true;
            self.line();
            self.buffer.extend_from_slice(b"\"@\"");
            self.colon();
            self.metadata(&annotations);
        }
        Ok(())
    }

    fn leaf(&mut self, id: NodeId, value: Value, _: Mark) -> Result<(), Stop> {
        self.start(id)?;
        write_value(&mut self.buffer, &value);
        self.end_value(id)
    }

    fn any(&mut self, id: NodeId, json: &str, _: Mark) -> Result<(), Stop> {
        self.start(id)?;
        let is_data = matches!(self.schema.node(id).kind, NodeKind::AnyData);
        if let (true, Some(members)) = (is_data, json.strip_prefix('{'))
            && !self.pending.is_empty()
        {
            // RFC 7952 §5.2.2: as the first member of its object.
            let annotations = mem::take(&mut self.pending);
            self.buffer.extend_from_slice(b"{\"@\":");
            self.metadata(&annotations);
            if members != "}" {
                self.buffer.push(b',');
            }
            self.buffer.extend_from_slice(members.as_bytes());
            return self.end_value(id);
        }
        self.buffer.extend_from_slice(json.as_bytes());
        self.end_value(id)
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        self.end_array();
        self.depth -= 1;
        let had_members = self.frames[self.depth].has_members;
        self.end(b'}', had_members);
        self.write_out()
    }

    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        self.pending.extend(annotations);
        Ok(())
    }

    fn bare(&mut self, id: NodeId, _: Mark) -> Result<(), Stop> {
        self.end_array();
        let annotations = mem::take(&mut self.pending);
        self.name(id, b"@");
        self.metadata(&annotations);
        self.write_out()
    }
}
