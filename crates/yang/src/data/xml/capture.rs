//! The content of an `anydata` or `anyxml` element, captured as self-contained XML.

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::AttrError;
use quick_xml::name::{Namespace, NamespaceResolver, PrefixDeclaration};

use super::write::{write_attribute_raw, write_text};

/// The content of one element, from its start tag to its end tag.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// The child elements, with the text between them; the top-level ones declare their namespaces.
    pub(super) xml: Vec<u8>,
    /// The unescaped text; complete if `has_elements` is false.
    pub(super) text: String,
    /// Whether there are child elements.
    pub(super) has_elements: bool,
    /// Whether there is text next to or instead of elements.
    pub(super) has_text: bool,
    depth: usize,
}

impl Capture {
    /// A start tag. Top-level elements declare every namespace in scope, as values may use its prefix.
    pub(super) fn start(
        &mut self,
        start: &BytesStart<'_>,
        scope: &NamespaceResolver,
    ) -> Result<(), AttrError> {
        self.has_elements = true;
        self.depth += 1;
        self.xml.push(b'<');
        self.xml.extend_from_slice(start.name().as_ref().as_bytes());
        if self.depth == 1 {
            for (prefix, Namespace(namespace)) in scope.bindings() {
                let name = match prefix {
                    PrefixDeclaration::Default => "xmlns".to_owned(),
                    PrefixDeclaration::Named(prefix) => format!("xmlns:{prefix}"),
                };
                write_attribute_raw(&mut self.xml, &name, namespace);
            }
        }
        for attribute in start.attributes() {
            let attribute = attribute?;
            if self.depth > 1 || attribute.key.as_namespace_binding().is_none() {
                write_attribute_raw(&mut self.xml, attribute.key.as_ref(), &attribute.value);
            }
        }
        self.xml.push(b'>');
        Ok(())
    }

    /// Unescaped text.
    pub(super) fn text(&mut self, text: &str) {
        write_text(&mut self.xml, text);
        self.has_text |= self.depth == 0 && !text.trim_ascii().is_empty();
        if !self.has_elements {
            self.text.push_str(text);
        }
    }

    /// An end tag; returns which element it ends.
    pub(super) fn end(&mut self, name: &str) -> EndTag {
        if self.depth == 0 {
            return EndTag::Own;
        }
        self.depth -= 1;
        self.xml.extend_from_slice(b"</");
        self.xml.extend_from_slice(name.as_bytes());
        self.xml.push(b'>');
        EndTag::Inner
    }
}

/// The element that an end tag ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndTag {
    Inner,
    Own,
}
