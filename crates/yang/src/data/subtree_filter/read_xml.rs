//! Filters that are elements.

use quick_xml::events::{BytesStart, Event as Token};
use quick_xml::name::{Namespace, NamespaceResolver, PrefixDeclaration, ResolveResult};
use quick_xml::reader::NsReader;

use super::filter::{
    ContentMatch, FilterContent, FilterNode, NamespaceBinding, Size, SubtreeFilter, ValueNames,
};
use crate::error::{DataError, ErrorTag};

/// The namespace of the base operations (RFC 6241), whose attributes have no meaning in a filter.
const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

impl SubtreeFilter {
    /// Parses the content of a `filter` element. It must declare its namespaces; an element in no namespace is in any.
    ///
    /// # Errors
    /// `malformed-message` for text that is no XML; `too-big` beyond
    /// [`SUBTREE_FILTER_DEPTH_MAX`](super::SUBTREE_FILTER_DEPTH_MAX) or
    /// [`SUBTREE_FILTER_NODES_MAX`](super::SUBTREE_FILTER_NODES_MAX).
    pub fn parse_xml(text: &str) -> Result<Self, DataError> {
        let mut reader = ElementReader {
            xml: NsReader::from_str(text),
            size: Size::default(),
        };
        let nodes = reader.children(0)?.nodes;
        Ok(Self { nodes })
    }
}

impl SubtreeFilter {
    /// Parses a filter that is the content of an element, which is a document.
    ///
    /// # Errors
    /// As [`Self::parse_xml`].
    pub fn parse_element(text: &str) -> Result<Self, DataError> {
        let mut outer = Self::parse_xml(text)?.nodes;
        let nodes = match outer.pop().map(|element| element.content) {
            Some(FilterContent::Containment(nodes)) => nodes,
            _ => Vec::new(),
        };
        Ok(Self { nodes })
    }
}

struct ElementReader<'a> {
    xml: NsReader<&'a [u8]>,
    size: Size,
}

/// The content of an element.
#[derive(Default)]
struct ElementContent {
    nodes: Vec<FilterNode>,
    text: String,
}

impl ElementReader<'_> {
    /// Parses sibling elements up to the end of their parent.
    fn children(&mut self, depth: usize) -> Result<ElementContent, DataError> {
        let mut content = ElementContent::default();
        loop {
            match self.xml.read_event().map_err(malformed)? {
                Token::Start(start) => {
                    let mut node = self.element(&start, depth)?;
                    let inside = self.children(depth + 1)?;
                    // After its end tag, the element is in scope until the next token is read.
                    node.content = inside.into_filter(self.xml.resolver());
                    content.nodes.push(node);
                }
                Token::Empty(start) => content.nodes.push(self.element(&start, depth)?),
                Token::Text(part) => content.text.push_str(&part.xml10_content()),
                Token::CData(part) => content.text.push_str(&part.xml10_content()),
                Token::GeneralRef(reference) => content.text.push(resolved(&reference)?),
                Token::End(_) => return Ok(content),
                Token::Eof if depth == 0 => return Ok(content),
                Token::Eof => return Err(malformed("it ends within an element")),
                Token::DocType(_) => return Err(malformed("it has a document type")),
                Token::Comment(_) | Token::Decl(_) | Token::PI(_) => {}
            }
        }
    }

    /// An element, without its content.
    fn element(&mut self, start: &BytesStart<'_>, depth: usize) -> Result<FilterNode, DataError> {
        self.size.add(depth + 1)?;
        let (resolved, local) = self.xml.resolver().resolve_element(start.name());
        let namespace = match resolved {
            ResolveResult::Bound(Namespace(namespace)) if !namespace.is_empty() => {
                Some(namespace.into())
            }
            ResolveResult::Bound(_) | ResolveResult::Unbound => None,
            ResolveResult::Unknown(prefix) => {
                return Err(malformed(format!("the prefix {prefix} is not declared")));
            }
        };
        Ok(FilterNode {
            namespace,
            name: local.as_ref().into(),
            content: FilterContent::Selection,
            has_attributes: self.has_attributes(start)?,
        })
    }

    /// Whether an element has attributes to be matched: all but declarations and those of the base operations.
    fn has_attributes(&self, start: &BytesStart<'_>) -> Result<bool, DataError> {
        for attribute in start.attributes() {
            let key = attribute.map_err(malformed)?.key;
            let (namespace, _) = self.xml.resolver().resolve_attribute(key);
            let is_base = namespace == ResolveResult::Bound(Namespace(BASE));
            if key.as_namespace_binding().is_none() && !is_base {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl ElementContent {
    fn into_filter(self, scope: &NamespaceResolver) -> FilterContent {
        match (self.nodes.is_empty(), self.text.trim()) {
            (true, "") => FilterContent::Selection,
            (true, text) => FilterContent::ContentMatch(ContentMatch {
                text: text.into(),
                names: ValueNames::Prefixes(prefixes(scope)),
            }),
            (false, _) => FilterContent::Containment(self.nodes),
        }
    }
}

/// The prefixes in scope, the innermost declaration of each first.
fn prefixes(scope: &NamespaceResolver) -> Box<[NamespaceBinding]> {
    let bindings = scope.bindings().map(|(prefix, Namespace(namespace))| {
        let prefix = match prefix {
            PrefixDeclaration::Default => None,
            PrefixDeclaration::Named(prefix) => Some(prefix.into()),
        };
        let namespace = namespace.into();
        NamespaceBinding { prefix, namespace }
    });
    bindings.collect()
}

/// The character of a reference.
fn resolved(reference: &quick_xml::events::BytesRef<'_>) -> Result<char, DataError> {
    if let Some(character) = reference.resolve_char_ref().map_err(malformed)? {
        return Ok(character);
    }
    let name: &str = reference;
    let character = quick_xml::escape::resolve_predefined_entity(name);
    character
        .and_then(|text| text.chars().next())
        .ok_or_else(|| malformed(format!("the entity {name} is not known")))
}

fn malformed(reason: impl std::fmt::Display) -> DataError {
    let message = format!("the filter is no XML: {reason}");
    DataError::new(ErrorTag::MalformedMessage, message)
}
