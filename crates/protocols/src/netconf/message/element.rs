//! Elements of messages, whose content is read when it is needed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use espalier_yang::data::subtree_filter::NamespaceBinding;
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::escape;
use quick_xml::events::attributes::Attribute as RawAttribute;
use quick_xml::events::{BytesStart, Event};

use super::BASE_NAMESPACE;

/// The maximum number of attributes of an element.
const ATTRIBUTES_MAX: usize = 256;

/// Text that is not well-formed XML, or XML that messages cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is not well-formed: {0}")]
pub struct NotXml(pub String);

impl From<quick_xml::Error> for NotXml {
    fn from(error: quick_xml::Error) -> Self {
        Self(error.to_string())
    }
}

/// The namespaces that are declared at a place, by prefix; the default one has an empty prefix.
type Scope = BTreeMap<String, String>;

/// An attribute that is no declaration of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its namespace, if it has a prefix.
    pub namespace: Option<String>,
    /// Its local name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// An element.
#[derive(Clone, Debug)]
pub struct Element<'m> {
    /// Its namespace; empty for none.
    pub namespace: String,
    /// Its local name.
    pub name: String,
    /// Its prefix; empty for none.
    pub prefix: String,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// The text of all attributes, with declarations of namespaces.
    pub raw_attributes: &'m str,
    scope: Scope,
    /// The prefixes that its own start tag declares.
    declared: Vec<String>,
    content: &'m str,
}

impl<'m> Element<'m> {
    /// The only element of a document.
    ///
    /// # Errors
    /// The document is not well-formed outside of the element, or has another one. What is in the element is checked when
    /// it is read.
    pub fn parse(document: &'m str) -> Result<Self, NotXml> {
        let mut elements = elements(document, &Scope::new())?;
        match elements.pop() {
            Some(element) if elements.is_empty() => Ok(element),
            Some(_) => Err(NotXml("there is more than one element".to_owned())),
            None => Err(NotXml("there is no element".to_owned())),
        }
    }

    /// The elements that are open at the end of a document whose rest is missing, down to the first one that fulfils a
    /// condition, with the complete elements before it; and where its content begins. `None` if no element does.
    ///
    /// # Errors
    /// What is there is not well-formed.
    pub fn parse_open(
        document: &'m str,
        is_last: impl Fn(&Self) -> bool,
    ) -> Result<Option<OpenElements<'m>>, NotXml> {
        let mut reader = Reader::from_str(document);
        let mut open: Vec<Self> = Vec::new();
        let mut complete = Vec::new();
        loop {
            // The text may end within a tag.
            let Ok(event) = reader.read_event() else {
                return Ok(None);
            };
            match event {
                Event::Start(start) => {
                    let none = Scope::new();
                    let outer = open.last().map_or(&none, |element| &element.scope);
                    let begin = place(reader.buffer_position());
                    let element = element(document, begin, &start, outer)?;
                    if is_last(&element) {
                        return Ok(Some(OpenElements {
                            open,
                            complete,
                            last: element,
                            begin,
                        }));
                    }
                    if open.len() < OPEN_MAX || element.name == "source" {
                        open.push(element);
                        continue;
                    }
                    let Ok(span) = reader.read_to_end(start.name()) else {
                        return Ok(None);
                    };
                    let content = &document[place(span.start)..place(span.end)];
                    complete.push(Self { content, ..element });
                }
                Event::Text(text) if text.xml10_content().trim().is_empty() => {}
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof => return Ok(None),
                _ => return Err(NotXml("unexpected content".to_owned())),
            }
        }
    }

    /// Its child elements.
    ///
    /// # Errors
    /// The content is not well-formed, or has text between elements.
    pub fn children(&self) -> Result<Vec<Self>, NotXml> {
        elements(self.content, &self.scope)
    }

    /// Its content, as it was written.
    pub fn content(&self) -> &'m str {
        self.content
    }

    /// The element as a document of its own: with all declarations of namespaces that are in scope.
    pub fn standalone(&self) -> String {
        let start = self.standalone_start();
        format!("{start}{}</{}>", self.content, self.qualified_name())
    }

    /// The start tag of [`Self::standalone`].
    pub fn standalone_start(&self) -> String {
        let mut start = format!("<{}", self.qualified_name());
        if !self.raw_attributes.trim().is_empty() {
            start.extend([" ", self.raw_attributes.trim()]);
        }
        let outer = self.scope.iter();
        let outer = outer.filter(|(prefix, _)| !self.declared.contains(prefix));
        for (prefix, namespace) in outer {
            let namespace = escape(namespace);
            // Writing to a string does not fail.
            let _ = match prefix.as_str() {
                "" => write!(start, " xmlns=\"{namespace}\""),
                prefix => write!(start, " xmlns:{prefix}=\"{namespace}\""),
            };
        }
        start.push('>');
        start
    }

    fn qualified_name(&self) -> String {
        match self.prefix.as_str() {
            "" => self.name.clone(),
            prefix => format!("{prefix}:{}", self.name),
        }
    }

    /// Its text, without white space at the ends.
    ///
    /// # Errors
    /// The content is not well-formed, or has elements.
    pub fn text(&self) -> Result<String, NotXml> {
        let mut reader = Reader::from_str(self.content);
        let mut text = String::new();
        loop {
            match reader.read_event()? {
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part.xml10_content()),
                Event::GeneralRef(reference) => text.push_str(&referenced(&reference)?),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => return Ok(text.trim().to_owned()),
                _ => return Err(NotXml(format!("“{}” must have only text", self.name))),
            }
        }
    }

    /// An attribute without a namespace, or in that of the messages.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|one| {
            let namespace = one.namespace.as_deref();
            one.name == name && namespace.is_none_or(|namespace| namespace == BASE_NAMESPACE)
        });
        found.map(|one| one.value.as_str())
    }

    /// The namespace of a prefix in its scope; of the empty one, the default.
    pub fn namespace_of(&self, prefix: &str) -> Option<&str> {
        self.scope.get(prefix).map(String::as_str)
    }

    /// The namespaces that are declared in its scope, with their prefixes; no prefix for the default one.
    pub fn namespaces(&self) -> Vec<NamespaceBinding> {
        let scope = self.scope.iter();
        scope
            .map(|(prefix, namespace)| {
                let prefix = (!prefix.is_empty()).then(|| prefix.as_str().into());
                NamespaceBinding {
                    prefix,
                    namespace: namespace.as_str().into(),
                }
            })
            .collect()
    }

    /// Whether it has a name in a namespace.
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    /// A document of its content in an element of another name, with all declarations of namespaces that are in scope.
    /// Where there is no default namespace, `default` is it.
    pub fn renamed(&self, namespace: &str, name: &str, default: &str) -> String {
        let start = self.renamed_start(namespace, name, default);
        format!("{start}{}</renamed:{name}>", self.content)
    }

    /// The start tag of [`Self::renamed`].
    pub fn renamed_start(&self, namespace: &str, name: &str, default: &str) -> String {
        let mut start = format!("<renamed:{name} xmlns:renamed=\"{}\"", escape(namespace));
        let has_default = self
            .scope
            .get("")
            .is_some_and(|default| !default.is_empty());
        if !has_default && !default.is_empty() {
            let _ = write!(start, " xmlns=\"{}\"", escape(default));
        }
        for (prefix, namespace) in &self.scope {
            let namespace = escape(namespace);
            let _ = match prefix.as_str() {
                "renamed" => Ok(()),
                "" if !has_default => Ok(()),
                "" => write!(start, " xmlns=\"{namespace}\""),
                prefix => write!(start, " xmlns:{prefix}=\"{namespace}\""),
            };
        }
        start.push('>');
        start
    }
}

/// The elements that are around an operation and its parameters: `rpc`, and the operation.
const OPEN_MAX: usize = 2;

/// The begin of a document.
pub struct OpenElements<'m> {
    /// The open elements, outermost first.
    pub open: Vec<Element<'m>>,
    /// The complete elements before the last one.
    pub complete: Vec<Element<'m>>,
    /// The last one, without its content.
    pub last: Element<'m>,
    /// Where its content begins.
    pub begin: usize,
}

/// The elements of some content.
fn elements<'m>(content: &'m str, outer: &Scope) -> Result<Vec<Element<'m>>, NotXml> {
    let mut reader = Reader::from_str(content);
    reader.config_mut().check_comments = true;
    let mut elements = Vec::new();
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                let begin = place(reader.buffer_position());
                let mut element = element(content, begin, &start, outer)?;
                let span = reader.read_to_end(start.name())?;
                element.content = &content[place(span.start)..place(span.end)];
                elements.push(element);
            }
            Event::Empty(start) => {
                let begin = place(reader.buffer_position());
                elements.push(element(content, begin, &start, outer)?);
            }
            Event::Text(text) if text.xml10_content().trim().is_empty() => {}
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
            Event::DocType(_) => {
                let message = "a document type declaration is not accepted";
                return Err(NotXml(message.to_owned()));
            }
            Event::Eof => return Ok(elements),
            _ => return Err(NotXml("there is text between elements".to_owned())),
        }
    }
}

fn place(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// An element without its content; its start tag ends at `end`.
fn element<'m>(
    content: &'m str,
    end: usize,
    start: &BytesStart<'_>,
    outer: &Scope,
) -> Result<Element<'m>, NotXml> {
    let mut scope = outer.clone();
    let (mut plain, mut declared_here) = (Vec::new(), Vec::new());
    for (index, attribute) in start.attributes().enumerate() {
        if index == ATTRIBUTES_MAX {
            let message = format!("more than {ATTRIBUTES_MAX} attributes (ATTRIBUTES_MAX)");
            return Err(NotXml(message));
        }
        let attribute = attribute.map_err(|error| NotXml(error.to_string()))?;
        let value = value(&attribute)?;
        match attribute.key.as_ref().split_once(':') {
            None if attribute.key.as_ref() == "xmlns" => {
                scope.insert(String::new(), value);
                declared_here.push(String::new());
            }
            Some(("xmlns", prefix)) => {
                scope.insert(prefix.to_owned(), value);
                declared_here.push(prefix.to_owned());
            }
            Some((prefix, name)) => plain.push((prefix.to_owned(), name.to_owned(), value)),
            None => plain.push((String::new(), attribute.key.as_ref().to_owned(), value)),
        }
    }
    let attributes = plain.into_iter().map(|(prefix, name, value)| {
        let namespace = match prefix.as_str() {
            "" => None,
            prefix => Some(declared(&scope, prefix)?),
        };
        Ok(Attribute {
            namespace,
            name,
            value,
        })
    });
    let attributes = attributes.collect::<Result<_, NotXml>>()?;
    let qualified = start.name();
    let (prefix, name) = qualified
        .as_ref()
        .split_once(':')
        .unwrap_or(("", qualified.as_ref()));
    let namespace = match prefix {
        "" => scope.get("").cloned().unwrap_or_default(),
        prefix => declared(&scope, prefix)?,
    };
    Ok(Element {
        namespace,
        name: name.to_owned(),
        prefix: prefix.to_owned(),
        attributes,
        raw_attributes: raw_attributes(content, end, start),
        scope,
        declared: declared_here,
        content: "",
    })
}

/// The text of the attributes in a start tag that ends at `end`.
fn raw_attributes<'m>(content: &'m str, end: usize, start: &BytesStart<'_>) -> &'m str {
    let length = start.attributes_raw().len();
    let tag = content[..end].trim_end_matches('>').trim_end_matches('/');
    let begin = tag.len().saturating_sub(length);
    tag.get(begin..).unwrap_or_default()
}

fn declared(scope: &Scope, prefix: &str) -> Result<String, NotXml> {
    match (prefix, scope.get(prefix)) {
        ("xml", _) => Ok("http://www.w3.org/XML/1998/namespace".to_owned()),
        (_, Some(namespace)) => Ok(namespace.clone()),
        (_, None) => Err(NotXml(format!("the prefix “{prefix}” is not declared"))),
    }
}

fn value(attribute: &RawAttribute<'_>) -> Result<String, NotXml> {
    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
    let value = value.map_err(|error| NotXml(error.to_string()))?;
    Ok(value.into_owned())
}

/// The text of `&name;`.
fn referenced(reference: &quick_xml::events::BytesRef<'_>) -> Result<String, NotXml> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Ok(character.to_string());
    }
    let name: &str = reference;
    let text = quick_xml::escape::resolve_predefined_entity(name);
    let text = text.ok_or_else(|| NotXml(format!("the entity “{name}” is not defined")))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_namespaces_attributes_and_contents() {
        let document = r#"<?xml version="1.0"?><!-- c --><nc:rpc a='1' nc:b="&lt;" xmlns:nc="urn:b"
            xmlns="urn:d"><get x="y"/> <!-- c --><nc:e><![CDATA[<]]>&amp;&#33; </nc:e></nc:rpc>
            "#;
        let rpc = Element::parse(document).expect("an element");
        assert!(rpc.is("urn:b", "rpc"));
        assert!(
            rpc.raw_attributes
                .contains("a='1' nc:b=\"&lt;\" xmlns:nc=\"urn:b\"")
        );
        let values: Vec<_> = rpc
            .attributes
            .iter()
            .map(|one| (one.namespace.as_deref(), &*one.name, &*one.value))
            .collect();
        assert_eq!(values, [(None, "a", "1"), (Some("urn:b"), "b", "<")]);
        let children = rpc.children().expect("children");
        assert!(children[0].is("urn:d", "get") && children[1].is("urn:b", "e"));
        assert_eq!(children[0].raw_attributes.trim(), "x=\"y\"");
        assert_eq!(children[1].text().expect("text"), "<&!");
        let alone = children[0].standalone();
        let again = Element::parse(&alone).expect("an element");
        assert!(again.is("urn:d", "get") && again.namespace_of("nc") == Some("urn:b"));
        assert_eq!(again.attribute("x"), Some("y"));
        let renamed = rpc.renamed("urn:new", "input", "urn:none");
        let again = Element::parse(&renamed).expect("an element");
        assert!(again.is("urn:new", "input"));
        assert!(again.children().expect("children")[0].is("urn:d", "get"));
    }

    #[test]
    fn documents_that_are_not_well_formed_are_rejected() {
        for document in [
            "",
            "<a>",
            "<a/><b/>",
            "<a></b>",
            "<p:a/>",
            "<a p:b=''/>",
            "<a b='1' b='2'/>",
            "text",
            "<!DOCTYPE a><a/>",
            "<a b=c/>",
        ] {
            assert!(Element::parse(document).is_err(), "{document}");
        }
        let element = Element::parse("<a>x<b/></a>").expect("an element");
        assert!(element.children().is_err() && element.text().is_err());
    }
}
