//! Reading XML.

use std::borrow::Cow;
use std::io::Read;

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{Namespace, NamespaceResolver, QName, ResolveResult};

use super::any;
use super::capture::{Capture, EndTag};
use super::input::{self, DEPTH_MAX, TOKEN_LENGTH_MAX, Xml};
use crate::data::assemble::{Assembler, ChildName, Halt, Occurrence, malformed, too_big};
use crate::data::json::ANY_LENGTH_MAX;
use crate::data::metadata;
use crate::data::options::{MetadataMode, ParseError, ParseOptions, Root};
use crate::data::sink::{Annotation, Annotations, Mark, Sink, deletes};
use crate::error::{DataError, ErrorTag};
use crate::schema::{NodeId, NodeKind, Schema, XmlPrefixes, other_modules};

/// The maximum number of attributes of an element.
pub const ATTRIBUTES_MAX: usize = 256;

/// Reads an XML document of any size and sends its content, type-checked and in document order, to `sink`. See
/// [`ParseOptions`] for what is accepted; several top-level elements are.
///
/// All errors are reported, not only the first; after the first error the sink gets no more events. Memory is
/// bounded except for 16 to 40 bytes per entry of the open lists ([`crate::data::ENTRIES_MAX`]). Document type
/// declarations are rejected, so only the five predefined entities exist. `input` is read in large blocks; it needs
/// no buffer.
pub fn parse(
    schema: &Schema,
    root: Root,
    input: impl Read,
    sink: &mut dyn Sink,
    options: &ParseOptions,
) -> Result<(), ParseError> {
    let mut reader = Reader::new(input, Assembler::new(schema, root, sink, options));
    if root == Root::Datastore {
        reader.envelope = Envelopes::Possible;
    }
    let end = reader.document();
    reader.assembler.finish(end)
}

/// Reads top-level data nodes, without an envelope.
pub(super) fn parse_nodes(
    schema: &Schema,
    input: &[u8],
    sink: &mut dyn Sink,
) -> Result<(), ParseError> {
    let options = ParseOptions::default();
    let mut reader = Reader::new(
        input,
        Assembler::new(schema, Root::Datastore, sink, &options),
    );
    reader.envelope = Envelopes::Never;
    let end = reader.document();
    reader.assembler.finish(end)
}

struct Reader<'a, R: Read> {
    xml: Xml<R>,
    assembler: Assembler<'a>,
    open_element: OpenElement,
    /// The text of the open leaf.
    text: String,
    depth: usize,
    /// The number of top-level nodes.
    topmost: usize,
    envelope: Envelopes,
    /// The number of envelopes.
    envelopes: usize,
    /// The number of top-level elements outside of envelopes.
    outside: usize,
}

/// The kind of the innermost open element.
enum OpenElement {
    /// An element that contains nodes, or the document.
    Nodes,
    /// A leaf or leaf-list entry.
    Leaf(NodeId, Mark, Annotations),
    /// An `anydata` or `anyxml`.
    Any(NodeId, Mark, Box<Capture>),
    /// Skipped elements, nested this deep.
    Skipped(usize),
}

/// Whether an envelope is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Envelopes {
    Never,
    Possible,
}

impl<'a, R: Read> Reader<'a, R> {
    fn new(input: R, assembler: Assembler<'a>) -> Self {
        Self {
            xml: input::open(input),
            assembler,
            open_element: OpenElement::Nodes,
            text: String::new(),
            depth: 0,
            topmost: 0,
            envelope: Envelopes::Never,
            envelopes: 0,
            outside: 0,
        }
    }

    fn document(&mut self) -> Result<(), Halt> {
        let mut buffer = Vec::new();
        loop {
            let (mark, event) = input::next(&mut self.xml, &mut buffer)?;
            match event {
                Event::Start(start) => self.start(&start, mark)?,
                Event::End(end) => self.end(end.name().as_ref(), mark)?,
                Event::Text(text) => self.text(&text.xml10_content(), mark)?,
                Event::CData(text) => self.text(&text.xml10_content(), mark)?,
                Event::GeneralRef(reference) => match input::character(&reference) {
                    Some(character) => self.text(character.encode_utf8(&mut [0; 4]), mark)?,
                    None => {
                        let message = format!("unknown entity '&{};'", &*reference);
                        return Err(malformed(mark, message));
                    }
                },
                Event::Eof => return self.finish(mark),
                _ => {}
            }
        }
    }

    fn finish(&mut self, mark: Mark) -> Result<(), Halt> {
        if self.depth > 0 {
            return Err(malformed(mark, "the document ends too early"));
        }
        if self.envelope != Envelopes::Never {
            self.assembler
                .check_envelope(self.envelopes, self.outside, mark);
        }
        let topmost = self.topmost;
        if self.assembler.is_single() && topmost != 1 {
            let message = format!("the document contains {topmost} nodes, not one");
            let tag = match topmost {
                0 => ErrorTag::MissingElement,
                _ => ErrorTag::BadElement,
            };
            self.assembler
                .report(DataError::new(tag, message), None, mark);
        }
        Ok(())
    }

    fn start(&mut self, start: &BytesStart<'_>, mark: Mark) -> Result<(), Halt> {
        if self.depth == DEPTH_MAX {
            let message = format!("nested deeper than the limit of {DEPTH_MAX} (DEPTH_MAX)");
            return Err(malformed(mark, message));
        }
        self.depth += 1;
        check_attributes(start, mark)?;
        match &mut self.open_element {
            OpenElement::Nodes => self.node(start, mark),
            OpenElement::Skipped(levels) => {
                *levels += 1;
                Ok(())
            }
            OpenElement::Any(_, _, capture) => {
                let done = capture.start(start, self.xml.resolver());
                done.map_err(|error| malformed(mark, error.to_string()))
            }
            OpenElement::Leaf(node, _, _) => {
                let node = *node;
                let message = "a leaf contains a value, not elements";
                let error = DataError::new(ErrorTag::BadElement, message);
                self.assembler.report(error, Some(node), mark);
                self.open_element = OpenElement::Skipped(2);
                Ok(())
            }
        }
    }

    /// Reads an element that must be a data node.
    fn node(&mut self, start: &BytesStart<'_>, mark: Mark) -> Result<(), Halt> {
        let scope = self.xml.resolver();
        let (namespace, local) = scope.resolve_element(start.name());
        let namespace = match &namespace {
            ResolveResult::Bound(Namespace(namespace)) => namespace,
            ResolveResult::Unbound => "",
            ResolveResult::Unknown(prefix) => {
                return Err(malformed(
                    mark,
                    format!("the prefix '{prefix}' is not declared"),
                ));
            }
        };
        let local = local.as_ref();
        if self.envelope != Envelopes::Never
            && self.depth == 1
            && self.assembler.options.is_envelope_xml(namespace, local)
        {
            self.envelopes += 1;
            self.reject_attributes(start, mark);
            return Ok(());
        }
        if self.assembler.is_at_root() {
            self.topmost += 1;
        }
        self.outside += usize::from(self.depth == 1);
        let Some(id) = self.assembler.find(ChildName::Xml(namespace, local), mark) else {
            self.open_element = OpenElement::Skipped(1);
            return Ok(());
        };
        let node = self.assembler.schema.node(id);
        let annotations = self.annotations(start, id, mark);
        // A node that is deleted can be created anew in the same document.
        let is_repeated = node.is_list() || node.is_leaf_list() || deletes(&annotations);
        let occurrence = match is_repeated {
            true => Occurrence::Repeated,
            false => Occurrence::Once,
        };
        self.assembler.record_child(id, occurrence, mark);
        match &node.kind {
            NodeKind::Leaf(_) | NodeKind::LeafList(_) => {
                self.text.clear();
                self.open_element = OpenElement::Leaf(id, mark, annotations);
                Ok(())
            }
            NodeKind::AnyData | NodeKind::AnyXml => {
                self.open_element = OpenElement::Any(id, mark, Box::default());
                self.assembler.annotate(annotations)
            }
            _ => {
                self.assembler.annotate(annotations)?;
                self.assembler.open(id, mark)
            }
        }
    }

    fn end(&mut self, name: &str, mark: Mark) -> Result<(), Halt> {
        self.depth -= 1;
        match std::mem::replace(&mut self.open_element, OpenElement::Nodes) {
            OpenElement::Nodes if self.assembler.is_at_root() => Ok(()),
            OpenElement::Nodes => self.assembler.close(mark),
            OpenElement::Leaf(node, mark, annotations) => self.leaf(node, annotations, mark),
            OpenElement::Any(node, mark, mut capture) => match capture.end(name) {
                EndTag::Inner => {
                    self.open_element = OpenElement::Any(node, mark, capture);
                    Ok(())
                }
                EndTag::Own if capture.has_text && self.is_anydata(node) => {
                    let message = "anydata contains elements, not text";
                    let error = DataError::new(ErrorTag::BadElement, message);
                    self.assembler.report(error, Some(node), mark);
                    Ok(())
                }
                EndTag::Own => {
                    let json = any::to_json(self.assembler.schema, node, &capture);
                    self.assembler.any(node, &json, mark)
                }
            },
            OpenElement::Skipped(levels) => {
                if levels > 1 {
                    self.open_element = OpenElement::Skipped(levels - 1);
                }
                Ok(())
            }
        }
    }

    fn is_anydata(&self, node: NodeId) -> bool {
        matches!(self.assembler.schema.node(node).kind, NodeKind::AnyData)
    }

    fn text(&mut self, text: &str, mark: Mark) -> Result<(), Halt> {
        let length = match &mut self.open_element {
            OpenElement::Skipped(_) => return Ok(()),
            OpenElement::Leaf(..) => {
                self.text.push_str(text);
                self.text.len()
            }
            OpenElement::Any(_, _, capture) => {
                capture.text(text);
                capture.xml.len()
            }
            OpenElement::Nodes if is_blank(text) => return Ok(()),
            OpenElement::Nodes if self.depth == 0 => {
                return Err(malformed(mark, "text outside of any element"));
            }
            OpenElement::Nodes => {
                let message = "text between elements";
                let error = DataError::new(ErrorTag::BadElement, message);
                self.assembler.report(error, None, mark);
                return Ok(());
            }
        };
        if length > TOKEN_LENGTH_MAX.min(ANY_LENGTH_MAX) {
            let message = format!("longer than {TOKEN_LENGTH_MAX} bytes (TOKEN_LENGTH_MAX)");
            return Err(too_big(mark, message));
        }
        Ok(())
    }

    /// Ends a leaf or leaf-list entry.
    fn leaf(&mut self, id: NodeId, annotations: Annotations, mark: Mark) -> Result<(), Halt> {
        let schema = self.assembler.schema;
        let node = schema.node(id);
        let Some(leaf) = node.as_value() else {
            return Ok(());
        };
        let is_deleted = deletes(&annotations);
        self.assembler.annotate(annotations)?;
        if is_deleted && self.text.is_empty() && !node.is_leaf_list() && !leaf.is_key {
            return self.assembler.bare(id, mark);
        }
        let scope = self.xml.resolver();
        let other = self.assembler.options.other_modules.as_deref();
        let prefixes = XmlPrefixes(|prefix: Option<&str>| {
            let namespace = namespace_of(scope, prefix)?;
            Some(other_namespace(schema, other, namespace).map_or(namespace.into(), Cow::Owned))
        });
        let value = leaf.value_type.parse(schema, &self.text, &prefixes);
        self.assembler.leaf(id, value, mark)
    }

    /// Reports attributes of an element that is not a data node and so cannot have any.
    fn reject_attributes(&mut self, start: &BytesStart<'_>, mark: Mark) {
        if self.assembler.options.metadata == MetadataMode::Ignored {
            return;
        }
        for attribute in start.attributes().flatten() {
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (namespace, _) = self.xml.resolver().resolve_attribute(attribute.key);
            if !matches!(
                namespace,
                ResolveResult::Bound(Namespace(XML_NAMESPACE | XSI_NAMESPACE))
            ) {
                let error = unknown_attribute(attribute.key.as_ref());
                self.assembler.report(error, None, mark);
            }
        }
    }

    /// The annotations of an element, if they are kept.
    fn annotations(&mut self, start: &BytesStart<'_>, node: NodeId, mark: Mark) -> Annotations {
        let mut annotations = Annotations::new();
        let mode = self.assembler.options.metadata;
        if mode == MetadataMode::Ignored || start.attributes_raw().is_empty() {
            return annotations;
        }
        for attribute in start.attributes().flatten() {
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let scope = self.xml.resolver();
            let (namespace, name) = scope.resolve_attribute(attribute.key);
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            let annotation = match (&namespace, value) {
                (_, Err(error)) => Err(DataError::new(ErrorTag::BadAttribute, error.to_string())),
                (ResolveResult::Bound(Namespace(XML_NAMESPACE | XSI_NAMESPACE)), _) => continue,
                (ResolveResult::Bound(Namespace(namespace)), Ok(value)) => {
                    self.annotation(node, namespace, name.as_ref(), &value)
                }
                // To ignore it would merge what the client wants to delete (RFC 6241 §7.2).
                (_, Ok(_)) if name.as_ref() == "operation" => Err(unqualified_operation()),
                _ => Err(unknown_attribute(attribute.key.as_ref())),
            };
            match annotation {
                Ok(annotation) => annotations.push(annotation),
                Err(error) => self.assembler.report(error, Some(node), mark),
            }
        }
        if mode == MetadataMode::Plain {
            for error in annotations
                .drain(..)
                .filter_map(|one| metadata::plain_metadata_error(&one))
            {
                self.assembler.report(error, Some(node), mark);
            }
        }
        annotations
    }

    fn annotation(
        &self,
        node: NodeId,
        namespace: &str,
        name: &str,
        value: &str,
    ) -> Result<Annotation, DataError> {
        let schema = self.assembler.schema;
        let module = match metadata::module_of_namespace(namespace) {
            Some(module) => module,
            None => match schema.module_by_namespace(namespace) {
                Some(module) => &schema.module(module).name,
                None => return Err(unknown_attribute(name)),
            },
        };
        let scope = self.xml.resolver();
        let prefixes = XmlPrefixes(|prefix: Option<&str>| namespace_of(scope, prefix));
        metadata::check_defined(schema, module, name)?;
        let annotation = metadata::annotation(module, name, value)?;
        metadata::canonical(schema, node, annotation, &prefixes)
    }
}

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
const XSI_NAMESPACE: &str = "http://www.w3.org/2001/XMLSchema-instance";

fn unqualified_operation() -> DataError {
    let message = "the attribute 'operation' needs the namespace urn:ietf:params:xml:ns:netconf:base:1.0, with a prefix, \
                   as in nc:operation";
    DataError::new(ErrorTag::UnknownAttribute, message).on_attribute("operation")
}

fn unknown_attribute(name: &str) -> DataError {
    let message = format!("unknown attribute '{name}'");
    DataError::new(ErrorTag::UnknownAttribute, message).on_attribute(name)
}

/// Rejects attributes that are malformed or too many.
fn check_attributes(start: &BytesStart<'_>, mark: Mark) -> Result<(), Halt> {
    if start.attributes_raw().is_empty() {
        return Ok(());
    }
    for (index, attribute) in start.attributes().enumerate() {
        if index == ATTRIBUTES_MAX {
            let message = format!("more than {ATTRIBUTES_MAX} attributes (ATTRIBUTES_MAX)");
            return Err(malformed(mark, message));
        }
        attribute.map_err(|error| malformed(mark, error.to_string()))?;
    }
    Ok(())
}

/// The namespace of a prefix (or of no prefix).
fn namespace_of<'s>(scope: &'s NamespaceResolver, prefix: Option<&str>) -> Option<&'s str> {
    let name = prefix.map_or("x".to_owned(), |prefix| format!("{prefix}:x"));
    match scope.resolve_element(QName(&name)).0 {
        ResolveResult::Bound(Namespace(namespace)) => Some(namespace),
        _ => None,
    }
}

/// The namespace that stands for a module that only another schema has.
fn other_namespace(schema: &Schema, other: Option<&Schema>, namespace: &str) -> Option<String> {
    let other = other.filter(|_| schema.module_by_namespace(namespace).is_none())?;
    let module = other.module_by_namespace(namespace)?;
    Some(other_modules::namespace_of(&other.module(module).name))
}

fn is_blank(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}
